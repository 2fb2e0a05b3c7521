"""Writes the tables of keys into the pages on file formats: `python docs/generate_keys.py`.

A table stands between two comments, of which the first names it. A test compares the pages with what this
gives.
"""

from __future__ import annotations

import re
from pathlib import Path

from faultkit.agents.parse.suite_contents import SUITE
from faultkit.agents.parse.suite_tests import AGENT_TEST
from faultkit.base.documents.key_tables import KeyTable, markdown_of
from faultkit.mcp.mock import manifest
from faultkit.mcp.mock.manifest_responses import RESPONSE
from faultkit.scenario.http_call import CALL
from faultkit.scenario.scenario_keys import CONTEXT, EXPECT, SCENARIO, SLO
from faultkit.scenario.strategy import STRATEGIES

DOCS = Path(__file__).parent
PAGES: dict[str, dict[str, tuple[KeyTable, str]]] = {
    "scenarios.md": {
        "scenario": (SCENARIO, "key"),
        "call": (CALL, "key of `call`"),
        "context": (CONTEXT, "key of `context`"),
        "repeat": (STRATEGIES["repeat"], "key of mode `repeat`"),
        "load": (STRATEGIES["load"], "key of mode `load`"),
        "slo": (SLO, "key of an objective"),
        "expect": (EXPECT, "key of `expect`"),
    },
    "suites.md": {"suite": (SUITE, "key"), "agent-test": (AGENT_TEST, "key of a test of an agent")},
    "mock.md": {
        "mock_server": (manifest.SERVER, "key of `mock_server`"),
        "tool": (manifest.TOOL, "key of a tool"),
        "response": (RESPONSE, "key of a response"),
        "resource": (manifest.RESOURCE, "key of a resource"),
        "prompt": (manifest.PROMPT, "key of a prompt"),
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
