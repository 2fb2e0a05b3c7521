"""Writes the tables of keys into the pages on file formats: `python docs/generate_keys.py`.

A table stands between two comments, of which the first names it. A test compares the pages with what this
gives.
"""

from __future__ import annotations

import re
from pathlib import Path

from faultkit.agents.parse.suite_agents import AGENT, RETRY, SCRIPT_STEP
from faultkit.agents.parse.suite_contents import SUITE
from faultkit.agents.parse.suite_faults import FAULT
from faultkit.agents.parse.suite_servers import SERVER
from faultkit.agents.parse.suite_tests import AGENT_TEST, TOOL_TEST
from faultkit.base.documents.key_tables import KeyTable, markdown_of
from faultkit.chaos.effects.exhaustion_effect import EXHAUSTION_METADATA
from faultkit.chaos.effects.partition_effect import PARTITION_METADATA
from faultkit.chaos.effects.rule_effect import RULE_METADATA
from faultkit.chaos.experiment.experiment_file import GAME_DAY
from faultkit.chaos.experiment.experiment_keys import EXPERIMENT, KINDS, STEP
from faultkit.chaos.steps.expect_keys import COMPARISON, EXPECT_TYPES
from faultkit.load.kubernetes.pod_settings import POD_KEYS
from faultkit.mcp.mock import manifest_keys
from faultkit.mcp.mock.manifest_responses import ERROR, RESPONSE
from faultkit.plan.plan_keys import MATCH, PLAN, RULE, TRIGGER
from faultkit.plan.schedule import PERIOD
from faultkit.scenario.http_call import CALL
from faultkit.scenario.scenario_keys import CONTEXT, EXPECT, SCENARIO, SLO
from faultkit.scenario.search_strategy import VARIED
from faultkit.scenario.strategy import STRATEGIES

DOCS = Path(__file__).parent
PAGES: dict[str, dict[str, tuple[KeyTable, str]]] = {
    "cluster.md": {
        "pods": (POD_KEYS, "key"),
    },
    "plans.md": {
        "plan": (PLAN, "key"),
        "rule": (RULE, "key of a rule"),
        "match": (MATCH, "key of `match`"),
        "trigger": (TRIGGER, "key of `trigger`"),
        "period": (PERIOD, "key of a period"),
    },
    "scenarios.md": {
        "scenario": (SCENARIO, "key"),
        "call": (CALL, "key of `call`"),
        "context": (CONTEXT, "key of `context`"),
        "repeat": (STRATEGIES["repeat"], "key of mode `repeat`"),
        "load": (STRATEGIES["load"], "key of mode `load`"),
        "search": (STRATEGIES["search"], "key of mode `search`"),
        "varied": (VARIED, "key of each of two settings under `vary`"),
        "slo": (SLO, "key of an objective"),
        "expect": (EXPECT, "key of `expect`"),
    },
    "suites.md": {
        "suite": (SUITE, "key"),
        "server": (SERVER, "key of a server"),
        "fault": (FAULT, "key of a fault"),
        "tool-test": (TOOL_TEST, "key of a test of a tool"),
        "agent-test": (AGENT_TEST, "key of a test of an agent"),
        "agent": (AGENT, "key of `agent`"),
        "step": (SCRIPT_STEP, "key of a step of a script"),
        "retry": (RETRY, "key of `retry`"),
    },
    "mock.md": {
        "mock_server": (manifest_keys.SERVER, "key of `mock_server`"),
        "tool": (manifest_keys.TOOL, "key of a tool"),
        "response": (RESPONSE, "key of a response"),
        "call_message": (manifest_keys.CALL_MESSAGE, "key of an entry of `sends`"),
        "error": (ERROR, "key of an error"),
        "resource": (manifest_keys.RESOURCE, "key of a resource"),
        "template": (manifest_keys.TEMPLATE, "key of a resource template"),
        "prompt": (manifest_keys.PROMPT, "key of a prompt"),
        "argument": (manifest_keys.ARGUMENT, "key of a prompt's argument"),
        "message": (manifest_keys.MESSAGE, "key of a prompt's message"),
    },
    "experiments.md": {
        "experiment": (EXPERIMENT, "key"),
        "step": (STEP, "key of a step"),
        **{
            name: (KINDS[name].keys, f"key of `{name}`")
            for name in ("http", "tcp", "python", "mcp", "promql")
        },
        "process": (KINDS["process"].keys, "key of `process` and `start`"),
        "scenario-step": (KINDS["scenario"].keys, "key of `slo` and `scenario`"),
        "fault": (KINDS["fault"].keys, "key of `fault`"),
        "resource-exhaustion": (EXHAUSTION_METADATA, "key of `metadata` of `resource_exhaustion`"),
        "network-partition": (PARTITION_METADATA, "key of `metadata` of `network_partition`"),
        "rule": (RULE_METADATA, "key of `metadata` of any other fault"),
        "plan-change": (KINDS["proxy"].keys, "key of `proxy` and `gateway`"),
        "breakpoint": (KINDS["breakpoint"].keys, "key of `breakpoint`"),
        "signal": (KINDS["signal"].keys, "key of `signal`"),
        "comparison": (COMPARISON, "key of `expect`"),
        **{name: (table, f"key of `expect` of type `{name}`") for name, table in EXPECT_TYPES.items()},
        "game-day": (GAME_DAY, "key of a game day"),
    },
}
"""The tables of each page by the names in their comments, with the titles of their first columns."""
_BETWEEN = re.compile(r"<!-- keys: ([\w-]+) -->\n.*?<!-- end of keys -->\n", re.DOTALL)


def page_with_keys(name: str) -> str:
    """Return a page with its tables of keys as they are now."""

    def table(found: re.Match[str]) -> str:
        keys, title = PAGES[name][found[1]]
        return f"<!-- keys: {found[1]} -->\n{markdown_of(keys, title)}<!-- end of keys -->\n"

    return _BETWEEN.sub(table, (DOCS / name).read_text("utf-8"))


if __name__ == "__main__":
    for name in PAGES:
        (DOCS / name).write_text(page_with_keys(name), "utf-8")
