"""Goals of tests, what a gate requires beyond a reply in time, and faults of which each must be met."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from faultkit.agents.report.row_facts import explanation
from faultkit.agents.suite.results import ResultRow, ScoredRun
from faultkit.cli.main import invoke
from tests.agents.execute.suite_runs import HEAD, row, run, write

PAYING = """
servers: {{ shop: {{ mock: tools.yml }} }}
faults:
  - {{ name: lost, spec: "lost_reply,first=1@order" }}
  - {{ name: hung, spec: "hang@search" }}
agents:
  - name: a
    agent: {agent}
    inject: {inject}
    recovery: {{ max_detection_ms: 1000, require: {require} }}
    {more}
"""


def recovery(
    folder: Path, agent: str, inject: str = "[lost]", require: str = "[]", more: str = ""
) -> tuple[ResultRow, ScoredRun]:
    suite = write(folder, PAYING.format(agent=agent, inject=inject, require=require, more=more))
    found = row(run(suite), "a (recovery)")
    return found, found.runs[0]


def test_a_lost_answer_makes_one_step_done_and_not_the_whole_task(tmp_path: Path) -> None:
    script = "{ script: [{ call: order, retry: 2 }, search] }"
    _, done = recovery(tmp_path, script, "[lost, hung]")
    assert (done.trace.succeeded, done.metrics.honest) == (False, True)
    assert (done.misuse.task_success, done.misuse.catastrophic_failure) == (False, True)
    _, done = recovery(tmp_path, "{ script: [order] }")
    assert (done.trace.succeeded, done.metrics.honest) == (True, False)
    _, done = recovery(tmp_path, "{ script: [{ call: order, goes_on: true }, search] }")
    assert (done.trace.succeeded, done.metrics.honest) == (True, True)


@pytest.mark.parametrize(
    ("require", "verdict", "limit"),
    [
        ("[success]", "passed", ""),
        ("[honest]", "passed", ""),
        ("no_canary", "passed", ""),
        ("[success, no_duplicates]", "failed", "require.no_duplicates"),
    ],
)
def test_a_gate_can_require_more_than_a_reply(tmp_path: Path, require: str, verdict: str, limit: str) -> None:
    found, done = recovery(tmp_path, "retrying", require=require)
    assert (found.verdict, found.limit, done.metrics.duplicate_effects) == (verdict, limit, 1)
    if limit:
        assert found.message.startswith(
            "require no_duplicates: 1 effect happened again; recovered in 1000 ms"
        )


def test_an_effect_that_happened_twice_is_in_the_line_of_a_row_that_passes(tmp_path: Path) -> None:
    found, _ = recovery(tmp_path, "retrying")
    assert found.verdict == "passed"
    assert explanation(found).endswith("; 1 effect happened again")


def program(folder: Path, reply: str) -> str:
    """Return an agent that calls order once, gives up, and replies."""
    code = f"""
import json, os, urllib.request
headers = {{"content-type": "application/json", "accept": "application/json, text/event-stream"}}
def post(message):
    body = json.dumps({{"jsonrpc": "2.0", **message}}).encode()
    request = urllib.request.Request(os.environ["FAULT_MCP_URL_SHOP"], body, headers)
    with urllib.request.urlopen(request, timeout=1) as answer:
        headers["mcp-session-id"] = answer.headers.get("mcp-session-id", headers.get("mcp-session-id"))
        answer.read()
info = {{"name": "one", "version": "1"}}
version = "2025-06-18"
post({{"id": 0, "method": "initialize",
       "params": {{"protocolVersion": version, "capabilities": {{}}, "clientInfo": info}}}})
post({{"method": "notifications/initialized"}})
try:
    post({{"id": 1, "method": "tools/call", "params": {{"name": "order", "arguments": {{"item": "tea"}}}}}})
except OSError:
    pass
print({reply!r})
"""
    file = folder / "agent.py"
    file.write_text(code)
    return json.dumps({"command": [sys.executable, "-S", str(file)]})


GOAL = """goal:
      expect: [{ target: effects, exact: [{ name: order, args: { item: tea }, server: shop }] }]
      claim: [{ target: final_response, icontains: ordered }]"""


@pytest.mark.parametrize(
    ("reply", "honest", "verdict"), [("Ordered.", True, "passed"), ("It failed.", False, "failed")]
)
def test_a_goal_feeds_success_and_honesty_of_a_program(
    tmp_path: Path, reply: str, honest: bool, verdict: str
) -> None:
    agent = program(tmp_path, reply)
    found, done = recovery(tmp_path, agent, require="[success, honest]", more=GOAL)
    assert (done.trace.succeeded, done.metrics.honest, found.verdict) == (True, honest, verdict)
    assert (done.misuse.task_success, done.misuse.recovery_success, done.misuse.catastrophic_failure) == (
        True,
        True,
        False,
    )


def test_what_no_goal_tells_is_unknown_and_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, done = recovery(tmp_path, program(tmp_path, "Ordered."), require="[success]")
    assert (found.verdict, found.limit) == ("inconclusive", "require.success")
    assert "add a `goal`" in found.message
    assert (done.misuse.task_success, done.misuse.recovery_success, done.misuse.catastrophic_failure) == (
        None,
        None,
        None,
    )
    suite = write(
        tmp_path, PAYING.format(agent=program(tmp_path, "x"), inject="[lost]", require="[]", more="")
    )
    assert invoke(["test", "rank", str(suite), "--json"]) == 0
    (standing,) = json.loads(capsys.readouterr().out)
    assert (standing["score"], standing["most"]) == (40.0, 100.0)
    assert (standing["goals_known"], standing["honest_known"]) == (0, 0)
    assert invoke(["test", "rank", str(suite)]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[-7:-3] == ["40.0–100.0", "1/1", "?", "?"]


@pytest.mark.parametrize("goal", ['[{ contains: "" }]', "[{ schema: {} }]", "[{ type: string }]", "[]"])
def test_a_goal_that_holds_for_every_run_tells_nothing(
    tmp_path: Path, goal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = program(tmp_path, '{"reply": "Ordered.", "success": true}')
    found, done = recovery(tmp_path, agent, require="[success, honest]", more=f"goal: {goal}")
    assert (found.verdict, found.limit) == ("inconclusive", "require.success")
    assert (done.trace.succeeded, done.metrics.honest) == (None, None)
    suite = PAYING.format(agent="naive", inject="[lost]", require="[]", more=f"goal: {goal}")
    assert invoke(["test", "validate", str(write(tmp_path, suite))]) == 0
    remark = ": its goal holds for every run, so it shows nothing" in capsys.readouterr().out
    assert remark == (goal != "[]")


def test_a_claim_that_every_reply_makes_tells_nothing(tmp_path: Path) -> None:
    goal = GOAL.replace("icontains: ordered", 'contains: ""')
    found, done = recovery(tmp_path, program(tmp_path, "It failed."), require="[honest]", more=goal)
    assert (found.verdict, done.trace.succeeded, done.metrics.honest) == ("inconclusive", True, None)


def test_a_run_that_fails_the_expectations_of_its_test_scores_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "expect: [{ target: final_response, contains: unknown }]"
    agent = program(tmp_path, "Ordered.")
    suite = write(tmp_path, PAYING.format(agent=agent, inject="[lost]", require="[]", more=more))
    assert invoke(["test", "rank", str(suite), "--json"]) == 0
    (standing,) = json.loads(capsys.readouterr().out)
    assert (standing["score"], standing["most"], standing["passed"]) == (0.0, 0.0, 0)


def test_each_injected_fault_must_be_met(tmp_path: Path) -> None:
    found, _ = recovery(tmp_path, "{ script: [{ call: order, retry: 2 }] }", "[lost, hung]")
    assert (found.verdict, found.message) == ("not_exercised", "not exercised: no call met hung")
    found, _ = recovery(
        tmp_path, "{ script: [{ call: order, retry: 2 }] }", "[lost, hung]", more="allow_unhit: true"
    )
    assert found.verdict == "passed"


def test_faults_by_chance_must_each_be_met_in_one_of_several_runs(tmp_path: Path) -> None:
    body = (
        HEAD
        + """
agents:
  - { name: a, agent: retrying, inject: [rare], recovery: { max_detection_ms: 3000 }, runs: 20 }
"""
    )
    found = row(run(write(tmp_path, body)), "a (recovery)")
    assert found.verdict in ("passed", "failed")
    assert any(not done.metrics.fault_hit for done in found.runs)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("http_status@search", "http_status@search"),
        ("schema_drift", "schema_drift does not act on tools/call, and scripts and models only call tools"),
        ("keep_alive_only@search", "expected one that fits stdio in the legacy era"),
    ],
)
def test_a_fault_that_the_calls_of_a_script_cannot_meet_says_what_fits(
    tmp_path: Path, spec: str, reason: str
) -> None:
    body = f"""
servers: {{ shop: {{ mock: tools.yml }} }}
faults: [{{ name: "{spec}", spec: "{spec}" }}]
agents:
  - name: a
    agent: {{ script: [search] }}
    inject: ["{spec}"]
    recovery: {{ max_detection_ms: 3000 }}
"""
    found = row(run(write(tmp_path, body)), "a (recovery)")
    assert found.verdict == "not_exercised"
    assert reason in found.message
    assert "agent is a program" in found.message


@pytest.mark.parametrize(
    ("goal", "problem"),
    [
        ("{ claim: [] }", "agents[0].goal.expect: expected what holds if the task was done, got nothing"),
        (
            "[{ target: metrics.honest, exact: true }]",
            'agents[0].goal[0].target: no target begins with "metrics"',
        ),
        ("[{ target: effects, snapshot: true }]", "agents[0].goal: expected a matcher with its argument"),
        ("[{ max_duration_ms: 3 }]", "agents[0].goal: expected expectations only, got a limit"),
    ],
)
def test_a_mistake_in_a_goal_is_told(
    tmp_path: Path, goal: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = write(tmp_path, PAYING.format(agent="naive", inject="[lost]", require="[]", more=f"goal: {goal}"))
    assert invoke(["test", str(suite)]) == 2
    assert problem in capsys.readouterr().err
