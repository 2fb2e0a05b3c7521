"""Suites in every form that the documentation of mcptest shows can be loaded, and what is not run says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.agents.parse.suite_values import LANES
from faultkit.agents.suite.definition import SecretHeader, TokenLimit, UrlServer
from faultkit.agents.suite_file import read_suite
from tests.agents.parse.suite_files import problems_of, suite_of, write

HEAD = "# yaml-language-server: $schema=https://mcptest.sh/schema/v1.json\n"
LOCAL = 'servers:\n  local: {command: ["./my-server"]}\n'
DOCUMENTED = {
    "a first test": f"""{LOCAL}
tools:
  - name: there is a tool
    server: local
    tool: list_tools
    expect:
      - target: result.tools
        matcher: {{schema: {{type: array, minItems: 1}}}}
        message: a server without a tool is of no use
compliance:
  - name: the handshake
    server: local
    check: initialize
    expect: [{{target: result.protocolVersion, matcher: {{regex: "^2\\\\d{{3}}-"}}}}]
""",
    "budgets": f"""{LOCAL}
tools:
  - name: quick and small
    server: local
    tool: lookup
    args: {{id: seven}}
    expect:
      assertions:
        - {{target: "result.content[0].text", matcher: {{contains: seven}}}}
      max_duration_ms: 500
      max_response_tokens: 1024
  - name: watched
    server: local
    tool: list
    expect:
      assertions: [{{target: result, matcher: {{type: object}}}}]
      max_response_tokens: {{budget: 4096, tokenizer: cl100k_base, mode: warn}}
""",
    "a snapshot": f"""{LOCAL}
tools: [{{name: as before, server: local, tool: lookup, expect: [{{target: result, snapshot: true}}]}}]
""",
    "compliance": f"{LOCAL}compliance:\n  - {{name: alive, server: local, check: ping}}\n",
    "staging": """
servers:
  local: {command: ["./my-server"]}
  staging:
    url: https://mcp.staging.example/v1
    auth: {bearer_token_env: STAGING_TOKEN}
    headers: {X-Tenant: {env: STAGING_TENANT}, X-Trace-Id: "${run_id}"}
    wait_for_ready: https://mcp.staging.example/healthz
    http: {timeout: 30s, connect_timeout: 5s}
variables:
  run_id: {from_env: A_RUN_ID, default: local-dev}
tools:
  - name: found
    server: staging
    tool: lookup
    expect: [{target: "result.content[0].text", matcher: {contains: seven}}]
""",
    "a preview": """
servers: {preview: {url: https://preview.example/mcp, auth: {bearer_token_env: T}, wait_for_ready: 60s}}
""",
    "a local URL": """
servers: {local: {url: "http://localhost:8080/mcp"}}
tools:
  - name: no error
    server: local
    tool: tools/list
    args: {}
    expect: [{target: error, matcher: {exact: null}, message: there should be none}]
""",
    "several servers": """
servers:
  one: {url: https://one.example/mcp}
  two: {url: "https://one.example/mcp-b?scenario=crosstrust"}
tools: [{name: lists, server: two, tool: db_list}, {name: greets, server: one, tool: greet, args: {name: x}}]
security: {scan: true}
""",
    "a list of servers": """
servers:
  - {name: issues, url: https://issues.example/v1, auth: {bearer_token_env: T}}
  - {name: files, command: [npx, -y, some-server, /tmp]}
default_server: issues
tools: [{name: lists, tool: list}]
""",
    "models": """
servers: {weather: {command: ["./weather.sh"]}}
budget: {per_test_usd_cents: 50, per_suite_usd_cents: 500}
agents:
  - name: asks for the weather
    models: [claude-sonnet-4-5, gpt-5, gemini-2.5-pro]
    servers: [weather]
    prompt: What is the weather in Sacramento?
    max_turns: 3
    expect:
      - {target: "tool_calls[0].name", matcher: {exact: get_weather}}
      - {target: "tool_calls[0].args.city", matcher: {icontains: sacramento}}
""",
    "all lanes": """
servers:
  mock: {command: [mcptest, mock, --tools-from, "${CONFIG_DIR}/echo.yaml"]}
tools:
  - {name: echoes, server: mock, tool: echo, expect: [{target: result, matcher: {type: object}}]}
compliance: [{name: capabilities, server: mock, check: initialize}]
security: {scan: true}
conformance: {}
model_compat: {baseline: baseline.json, candidate: candidate.json}
coverage: {tools: 100}
performance: {p95_latency_ms: 60000}
""",
    "a world": """
scenarios:
  - name: fills the shelf
    cassette: "${NOWHERE}/restock.json"
    seed: {inventory: {widgets: 3}}
    transitions: [{tool: add, effect: {inventory.widgets: {inc: 1}}}]
    forbidden: [{tool: drop, reason: never}]
    expect_state: {inventory.widgets: 5}
    expect: [{target: invalid_actions, matcher: {exact: 0}}]
""",
    "the fault-injection page": """
servers: {faulty: {mock: tools.yml}}
faults: [{name: hung-search, target: {tool: search}, kind: hang}]
agents:
  - name: recovers
    model: claude-sonnet-4-5
    servers: [faulty]
    inject: [hung-search]
    prompt: Search for the latest incident report.
    recovery: {max_detection_ms: 3000, max_recovery_ms: 5000, require_clean_timeout: true}
""",
}


@pytest.mark.parametrize("text", DOCUMENTED.values(), ids=DOCUMENTED)
def test_a_suite_of_the_documentation_is_loaded(tmp_path: Path, text: str) -> None:
    assert problems_of(tmp_path, HEAD + text) == []


def test_what_is_not_run_is_kept_with_its_reason_and_its_line(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, DOCUMENTED["all lanes"])
    lanes = [(lane.name, lane.place.line) for lane in suite.unrun_lanes]
    assert lanes == [
        ("compliance", 6),
        ("security", 7),
        ("conformance", 8),
        ("model_compat", 9),
        ("coverage", 10),
        ("performance", 11),
    ]
    assert {lane.reason for lane in suite.unrun_lanes} <= {f"not run: {hint}" for hint in LANES.values()}


def test_the_parts_of_a_server_with_a_url(tmp_path: Path) -> None:
    _, staging = suite_of(tmp_path, DOCUMENTED["staging"]).servers
    assert staging.serving == UrlServer(
        "https://mcp.staging.example/v1",
        {"X-Trace-Id": "local-dev"},
        (
            SecretHeader("X-Tenant", "STAGING_TENANT", "headers.X-Tenant"),
            SecretHeader("Authorization", "STAGING_TOKEN", "auth.bearer_token_env", "Bearer "),
        ),
        request_s=30.0,
        connect_s=5.0,
        ready_url="https://mcp.staging.example/healthz",
    )
    (preview,) = suite_of(tmp_path, DOCUMENTED["a preview"]).servers
    assert isinstance(preview.serving, UrlServer)
    assert (preview.serving.ready_s, preview.serving.ready_url) == (60.0, "")


def test_a_variable_of_the_environment_and_its_default(tmp_path: Path) -> None:
    suite, _ = read_suite(write(tmp_path, DOCUMENTED["staging"]), env={"A_RUN_ID": "run 8"})
    assert suite is not None
    assert isinstance(suite.servers[1].serving, UrlServer)
    assert suite.servers[1].serving.headers == {"X-Trace-Id": "run 8"}
    assert problems_of(tmp_path, "variables: {a: {from_env: NOWHERE}}\n") == [
        "suite.yml: line 1: variables.a: expected the variable NOWHERE to be set, or a default"
    ]


def test_the_limits_of_a_test_of_a_tool(tmp_path: Path) -> None:
    quick, watched = suite_of(tmp_path, DOCUMENTED["budgets"]).tools
    assert (quick.max_duration_ms, quick.max_response_tokens) == (500, TokenLimit(1024))
    assert watched.max_response_tokens == TokenLimit(4096, is_remark=True)
    assert [each.target for each in quick.expect] == ["result.content[0].text"]


def test_the_money_of_a_suite_is_the_limit_of_its_tests(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, DOCUMENTED["models"])
    assert (suite.most_usd, {test.budget.money for test in suite.agents}) == (5.0, {0.5})
    own = DOCUMENTED["models"].replace("max_turns: 3", "max_cost_usd: 0.1")
    assert {test.budget.money for test in suite_of(tmp_path, own).agents} == {0.1}
