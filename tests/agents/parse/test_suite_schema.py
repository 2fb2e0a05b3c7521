"""The published schema and the parser agree on the examples, on valid suites and on mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from faultkit.agents.matchers.matcher_table import MATCHERS
from faultkit.agents.parse.suite_contents import SUITE, suite_schema
from faultkit.agents.parse.suite_faults import FAULT as FAULT_KEYS
from faultkit.agents.parse.suite_servers import SERVER
from faultkit.agents.parse.suite_tests import AGENT_TEST
from faultkit.agents.suite_file import read_suite
from faultkit.base.documents.key_tables import KeyTable
from faultkit.base.documents.yaml_text import read_document
from faultkit.faults import CALL_FAULTS
from tests.agents.parse.suite_files import SERVERS, problems_of
from tests.agents.parse.test_suite_file import EXAMPLES
from tests.agents.parse.test_suite_mistakes import MISTAKES

SCHEMA = suite_schema()
DEFS = SCHEMA["$defs"]
VALIDATOR = Draft202012Validator(SCHEMA)
SUITES = [file for file in sorted(EXAMPLES.glob("*.yml")) if "mock_server" not in file.read_text()]
FAULT = f"{SERVERS}faults: [{{name: gone, spec: hang@search}}]\n"


def fault(settings: str, target: str = "{tool: search}") -> str:
    return f"{SERVERS}faults: [{{name: a, target: {target}, {settings}}}]\n"


def agent(settings: str) -> str:
    return f"{FAULT}agents: [{{name: a, {settings}}}]\n"


def tool(settings: str) -> str:
    return f"{SERVERS}tools: [{{name: a, {settings}}}]\n"


def expecting(entry: str) -> str:
    return tool(f"tool: search, expect: [{entry}]")


GOOD = {
    "nothing but a seed": "seed: 1\n",
    "a seed of words": "seed: lucky\n",
    "keys without values": "servers:\nfaults:\nagents:\nvariables:\nimports:\n",
    "programs": 'servers: {a: {command: "x y"}, b: {command: [x], args: [1], env: {A: true}, cwd: x}}\n',
    "a URL": 'servers: {b: {url: "https://x/", headers: {a: 1}}}\n',
    "servers in a list": "servers: [{name: a, mock: []}]\n",
    "one server": "server: {tools_from: tools.yml}\n",
    "providers": 'providers: {a: {type: openai, base_url: "http://x/", api_key_env: K, organization: o}}\n',
    "a fault with all": fault(
        "kind: slow, delay_ms: 1, trigger: {probability: 0.5, first: 2}, schedule: 'start:1s'"
    ),
    "slow by a distribution": fault("kind: slow, distribution: uniform, max_ms: 3", "{server: shop}"),
    "slow below with": fault("kind: slow, with: {delay_ms: 3}"),
    "a kind with hyphens": fault("kind: recover-after, failures: 0"),
    "a kind by another name": fault("kind: error"),
    "a fault of lists": fault("kind: schema_drift, tools: s*", "{method: tools/list}"),
    "specs": f"{SERVERS}faults: ['hang@search', {{name: a, spec: 'slow:5%0.5'}}]\n",
    "a shipped agent": agent("agent: backing-off"),
    "a shipped agent by kind": agent("agent: {kind: naive, goal: search}"),
    "a goal": agent(
        "agent: {kind: verifying, goal: {tool: search, fallback: order, verify: {tool: order, holds: x}}}"
    ),
    "a script": agent(
        "agent: {script: [search, {call: order, args: {a: [1]}, retry: 0, verify: search, goes_on: true}], "
        "say: x, say_on_failure: y}"
    ),
    "a program as an agent": agent("agent: {command: [x, 1], env: {A: b}, cwd: x}"),
    "models": agent("models: [claude-x, {provider: openai, id: y}], prompt: x, max_tokens: 3"),
    "a gate": agent(
        "agent: naive, inject: gone, recovery: {max_detection_ms: 0}, orchestration: {error_recovery: 100}, "
        "allow_unhit: true, tags: x, skip: true, runs: 2"
    ),
    "budgets": agent(
        "agent: naive, max_turns: 1, max_tool_calls: 0, token_budget: 9, time_budget: 2s, max_cost_usd: 0.1"
    ),
    "numbers from variables": (
        f"{FAULT}variables: {{n: 3}}\nagents:\n  - name: a\n    agent: naive\n    inject: gone\n"
        "    runs: ${n}\n    recovery:\n      max_detection_ms: ${n}\n"
        "      require_clean_timeout: ${x:-true}\n"
    ),
    "a tool test": tool(
        "server: shop, tool: search, args: {}, max_duration_ms: 1.5, "
        "expect: {target: result.content, length: {ge: 1}}"
    ),
    "a limit among expectations": expecting("{max_duration_ms: 3}"),
    "nothing wanted": expecting("{exact: }"),
    "numbers": expecting("{target: duration_ms, numeric: {between: [0, 9], close: {to: 1, within: 9}}}"),
    "matchers in matchers": expecting(
        "{matcher: {not: {anyOf: [{type: 'null'}, {is-json: {type: object}}]}}}"
    ),
    "a snapshot": expecting("{snapshot: true}"),
}
BAD = {
    "an empty matcher": expecting("{}"),
    "a type that JSON has not": expecting("{type: text}"),
    "no limits": expecting("{numeric: {}}"),
    "a text that is no number": expecting("{numeric: '3'}"),
    "two in a not": expecting("{not: {contains: x, regex: y}}"),
    "a snapshot in a not": expecting("{not: {snapshot: true}}"),
    "an agent's target for a tool": expecting("{target: final_response, exact: 1}"),
    "arguments twice": tool("tool: b, args: {}, arguments: {}"),
    "no tool": tool("server: shop"),
    "no runs": agent("agent: naive, runs: 0"),
    "too many percent": agent("agent: naive, orchestration: {error_recovery: 101}"),
    "tokens of a shipped agent": agent("agent: naive, max_tokens: 3"),
    "an empty script": agent("agent: {script: []}"),
    "a script with env": agent("agent: {script: [search], env: {}}"),
    "a provider of another kind": 'providers: {a: {type: other, base_url: "http://x/"}}\n',
    "a provider without a place": "providers: {a: {type: openai}}\n",
    "a server with a name twice": "servers: {a: {name: b, command: x}}\n",
    "a server in a list without a name": "servers: [{command: x}]\n",
}
ONLY_THE_PARSER_KNOWS = {
    "a manifest that is not there",
    "an inline manifest that is wrong",
    "a default server that is not there",
    "a fault name twice",
    "a setting twice",
    "a model of no provider",
    "a model twice",
    "a goal that is not there",
    "an unknown fault",
    "an unknown server",
    "a model that no test has",
    "a program whose model is broken and no mock",
    "a mock of the model of a script",
    "unhit without a fault",
    "skip and only",
    "a test name twice",
    "a target that cannot be read",
    "a bad expression deep inside",
    "a metric that there is not",
    "a variable that is not set",
    "a list within a text",
    "an import that is not there",
}
NO_DOCUMENT = {"an empty file", "two documents", "a tab", "a key twice", "a variable in flow style"}


def wrong_by_schema(text: str) -> list[str]:
    document: Any = read_document(text, "suite")
    return [f"{error.json_path}: {error.message[:200]}" for error in VALIDATOR.iter_errors(document)]


def test_the_schema_is_a_schema_of_its_draft_and_plain_json() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


@pytest.mark.parametrize("file", SUITES, ids=lambda file: file.name)
def test_every_example_is_good_to_both(file: Path) -> None:
    assert read_suite(file, env={})[1] == []
    assert wrong_by_schema(file.read_text()) == []


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_what_is_good_is_good_to_both(tmp_path: Path, text: str) -> None:
    assert problems_of(tmp_path, text) == []
    assert wrong_by_schema(text) == []


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_what_is_bad_is_bad_to_both(tmp_path: Path, text: str) -> None:
    assert problems_of(tmp_path, text) != []
    assert wrong_by_schema(text) != []


@pytest.mark.parametrize("name", [name for name in MISTAKES if name not in NO_DOCUMENT])
def test_the_schema_knows_the_mistakes_that_need_no_other_part(name: str) -> None:
    assert (wrong_by_schema(MISTAKES[name][0]) == []) is (name in ONLY_THE_PARSER_KNOWS)


def test_the_schema_has_every_matcher_and_the_settings_of_every_fault() -> None:
    assert set(DEFS["matcher"]["properties"]) == set(MATCHERS) - {"snapshot"}
    for kind, fault in CALL_FAULTS.items():
        own = set(FAULT_KEYS.names) - {"spec"}
        assert set(DEFS[f"fault-{kind}"]["properties"]) == own | set(fault.settings())


@pytest.mark.parametrize("table", [SUITE, AGENT_TEST, SERVER])
def test_no_key_is_both_served_and_refused(table: KeyTable) -> None:
    assert table.unsupported
    assert not set(table.names) & set(table.unsupported)
