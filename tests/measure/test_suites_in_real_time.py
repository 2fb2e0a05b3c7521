"""The same suite in virtual and in real time: other clocks, the same verdicts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from faultkit.agents.execute.real_toolbox import scaled_verdict
from faultkit.agents.execute.upstreams import listen
from faultkit.agents.kinds.scripted import SHIPPED_AGENTS
from faultkit.agents.suite.results import ResultRow, SuiteResults
from faultkit.agents.suite.run_options import RunOptions, Selection, key_of, select
from faultkit.agents.suite_file import load_suite
from faultkit.agents.suite_runner import run_suites, run_suites_blocking
from faultkit.base.address import LOOPBACK_NAMES
from faultkit.faults.call_fault import Drip, KeepAlive, Send, Verdict
from faultkit.mcp.injector import Injector
from faultkit.mcp.mock.manifest import load_source
from faultkit.mcp.mock.mock_server import MockService
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.plan import Plan
from tests.agents.execute.suite_runs import HEAD, TOOLS, program, row, run, server_code, write

SCALE = 10.0
PATIENCE_MS = 3000
"""300 ms of real time: a reply without delay takes a few, even on a busy machine."""
ATTEMPTS = 3
FAULTS = {
    "hang": "search",
    "wedged": "search",
    "frozen,first=1": "search",
    "slow:9000": "search",
    "recover-after:1": "search",
    "tool_error,first=2": "search",
    "fail_from:1": "search",
    "protocol_error,first=1": "search",
    "rate_limit,retry_after_s=2,first=2": "search",
    "disconnect,first=1": "search",
    "malformed_json,first=1": "search",
    "wrong_id,first=1": "search",
    "duplicate_reply": "search",
    "lost_reply,first=1": "order",
}


def battery(folder: Path) -> Path:
    (folder / "tools.yml").write_text(TOOLS)
    lines = ["servers: { shop: { mock: tools.yml } }", "faults:"]
    for number, (spec, tool) in enumerate(FAULTS.items()):
        lines.append(f'  - {{ name: f{number}, spec: "{spec}@{tool}" }}')
    lines.append("agents:")
    for kind in SHIPPED_AGENTS:
        for number, tool in enumerate(FAULTS.values()):
            goal = "{ tool: search, fallback: { tool: grep } }"
            if tool == "order":
                goal = "{ tool: order, args: { item: tea }, verify: { tool: orders, holds: one } }"
            lines += [
                f"  - name: {kind} f{number}",
                f"    agent: {{ kind: {kind}, goal: {goal} }}",
                f"    inject: [f{number}]",
                "    max_turns: 6",
                f"    recovery: {{ max_detection_ms: {PATIENCE_MS}, require_clean_timeout: true }}",
            ]
    suite = folder / "battery.yml"
    suite.write_text("\n".join(lines) + "\n")
    return suite


def judged(row: ResultRow) -> tuple[object, ...]:
    """Return the results without times."""
    (run,) = row.runs
    gate, metrics = run.gate, run.metrics
    assert gate is not None
    return (
        row.verdict,
        row.limit,
        gate.detections,
        gate.report.detected,
        gate.report.recovered,
        gate.report.clean_timeout,
        [(call.tool, call.outcome, call.fault, call.effect) for call in run.trace.calls],
        None if run.trace.reply is None else run.trace.reply.text,
        run.trace.ending,
        run.trace.succeeded,
        metrics.path,
        metrics.wasted_calls,
        metrics.duplicate_effects,
        metrics.honest,
    )


@pytest.mark.slow
def test_real_and_virtual_verdicts_agree_for_every_shipped_agent_and_every_kind_of_fault(
    tmp_path: Path,
) -> None:
    suite = load_suite(battery(tmp_path))
    virtual = run_suites_blocking(select([suite], Selection()), RunOptions()).results
    expected = {row.name: judged(row) for row in virtual.rows if row.runs}
    assert len(expected) == len(SHIPPED_AGENTS) * len(FAULTS)
    # A try that another program on this machine delayed is repeated.
    names, different = frozenset(key_of(suite, test.name) for test in suite.agents), dict[str, object]()
    for _ in range(ATTEMPTS):
        chosen = select([suite], Selection(names=names))
        real = run_suites_blocking(chosen, RunOptions(clock="scaled", scale=SCALE, parallel=12)).results
        assert {row.runs[0].clock for row in real.rows if row.runs} == {"scaled"}
        found = {row.name: judged(row) for row in real.rows if row.runs}
        assert len(found) == len(names)
        different = {name: (each, expected[name]) for name, each in found.items() if each != expected[name]}
        if not different:
            break
        names = frozenset(key_of(suite, name.removesuffix(" (recovery)")) for name in different)
    assert different == {}


def test_a_call_of_a_live_server_in_real_time_times_out_and_is_cancelled(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = server_code().replace(
        "message = json.loads(line)", f"message = json.loads(line); open({str(log)!r}, 'a').write(line)"
    )
    argv = program(tmp_path, "server.py", code)
    body = f"""
servers: {{ s: {{ command: {argv} }} }}
faults:
  - {{ name: lost, spec: "lost_reply,first=1@search" }}
agents:
  - name: a
    agent: retrying
    inject: [lost]
    recovery: {{ max_detection_ms: 300, require_clean_timeout: true }}
"""
    results = run(write(tmp_path, body), clock="real")
    gate = row(results, "a (recovery)")
    assert gate.verdict == "passed", gate.message
    (done,) = gate.runs
    assert [call.outcome for call in done.trace.calls] == ["timeout", "ok"]
    assert "(real) after 1 detection(s)" in gate.message
    assert done.trace.calls[0].end_ms == done.trace.calls[0].start_ms + 300
    assert done.trace.calls[1].start_ms >= 300
    # It reached the server twice, and the first call was cancelled there.
    asked = log.read_text()
    assert asked.count('"tools/call"') == 2
    assert asked.count("notifications/cancelled") == 1


OVER_HTTP = {
    "disconnect,first=1": ["lost", "ok"],
    "tcp_reset,first=1": ["lost", "ok"],
    "stream_end,first=1": ["lost", "ok"],
    "rate_limit:http,retry_after_s=1,first=1": ["protocol_error", "ok"],
    "http_status:503,first=1": ["protocol_error", "ok"],
    "hang,first=1": ["timeout", "ok"],
}


def test_over_http_a_fault_is_the_same_in_virtual_and_in_real_time(tmp_path: Path) -> None:
    """A server with a URL is called over HTTP in both."""
    (tmp_path / "tools.yml").write_text(TOOLS)

    async def main() -> tuple[SuiteResults, SuiteResults]:
        mock = MockService(load_source(str(tmp_path / "tools.yml")), Injector(Plan(), "shop"))
        async with listen(HttpFront(mock, hosts=LOOPBACK_NAMES)) as url:
            lines = [f"servers: {{ shop: {{ url: '{url}' }} }}", "faults:"]
            lines += [f'  - {{ name: f{n}, spec: "{spec}@search" }}' for n, spec in enumerate(OVER_HTTP)]
            lines.append("agents:")
            lines += [
                f"  - {{ name: a{n}, agent: backing_off, inject: [f{n}], "
                f"recovery: {{ max_detection_ms: {PATIENCE_MS} }} }}"
                for n in range(len(OVER_HTTP))
            ]
            (tmp_path / "suite.yml").write_text("\n".join(lines) + "\n")
            chosen = select([load_suite(tmp_path / "suite.yml")], Selection())
            virtual = await run_suites(chosen, RunOptions())
            real = await run_suites(chosen, RunOptions(clock="scaled", scale=SCALE))
        await mock.stop()
        return virtual, real

    for results in asyncio.run(main()):
        gates = [row for row in results.rows if row.runs]
        outcomes = [[call.outcome for call in gate.runs[0].trace.calls] for gate in gates]
        assert outcomes == list(OVER_HTTP.values())
        assert {gate.verdict for gate in gates} == {"passed"}


def test_sleeps_are_waited_for_on_the_clock_of_the_suite(tmp_path: Path) -> None:
    body = (
        HEAD
        + """
agents:
  - name: a
    agent: { script: [{ call: search, retry: { attempts: 2, wait_ms: 2000 } }] }
    inject: [back]
    recovery: { max_detection_ms: 1000 }
"""
    )
    gate = row(run(write(tmp_path, body), clock="scaled", scale=20.0), "a (recovery)")
    first, second = gate.runs[0].trace.calls
    # A timer may fire a millisecond early.
    assert second.start_ms - first.start_ms >= 3000 - 20 * 2


def test_a_sleep_ends_with_the_budget_of_time(tmp_path: Path) -> None:
    body = (
        HEAD
        + """
agents:
  - name: a
    agent: { script: [{ call: search, retry: { attempts: 2, wait_ms: 3600000 } }] }
    inject: [back]
    time_budget: 5s
    recovery: { max_detection_ms: 1000 }
"""
    )
    for clock in ("virtual", "scaled"):
        gate = row(run(write(tmp_path, body), clock=clock, scale=20.0), "a (recovery)")
        assert (gate.verdict, gate.limit, gate.runs[0].trace.ending) == ("failed", "recovered", "time")


def test_a_tool_test_waits_as_well(tmp_path: Path) -> None:
    body = (
        HEAD
        + """
  - { name: late, spec: "slow:2000@search" }
tools:
  - { name: t, tool: search, inject: [late], max_duration_ms: 1500 }
"""
    )
    (found,) = run(write(tmp_path, body), clock="scaled", scale=20.0).rows
    assert (found.verdict, found.limit) == ("failed", "max_duration_ms")
    assert found.duration_ms >= 98


def test_every_wait_of_a_verdict_is_so_many_times_shorter() -> None:
    frames = (Send({}, 4.0), Drip({}, 2, 6.0, 8.0), KeepAlive(10.0, 12.0, 14.0))
    fast = scaled_verdict(Verdict(delay_s=2.0, frames=lambda reply: frames), 2.0)
    assert fast.frames is not None
    assert fast.delay_s == 1.0
    assert fast.frames(None) == (Send({}, 2.0), Drip({}, 2, 3.0, 4.0), KeepAlive(5.0, 6.0, 7.0))
    assert scaled_verdict(Verdict(delay_s=2.0), 4.0) == Verdict(delay_s=0.5)
