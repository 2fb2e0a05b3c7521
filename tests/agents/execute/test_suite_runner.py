"""Runs of suites: rows, errors, stops, several runs of one test, and many tests in virtual time."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from faultkit.agents.kinds.scripted import SHIPPED_AGENTS
from faultkit.agents.report.row_facts import explanation, run_conditions, share_figures
from faultkit.agents.report.suite_json import render_json
from faultkit.agents.suite.results import ResultRow, SuiteResults
from faultkit.agents.suite.run_options import RunOptions, Selection, select
from faultkit.agents.suite_file import load_suite
from faultkit.agents.suite_runner import run_suites, run_suites_blocking
from tests.agents.execute.suite_runs import HEAD, TOOLS, program, row, run, server_code, verdicts, write
from tests.agents.report.declared_times import without_times


def suite_of(*names: str, agent: str = "retrying", fault: str = "back") -> str:
    lines = [
        f"  - {{ name: {name}, agent: {agent}, inject: [{fault}], recovery: {{ max_detection_ms: 3000 }} }}"
        for name in names
    ]
    return HEAD + "agents:\n" + "\n".join(lines) + "\n"


def test_rows_are_in_the_order_of_the_file_however_many_run_side_by_side(tmp_path: Path) -> None:
    suite = write(tmp_path, suite_of("a", "b", "c", "d", "e"))
    told: list[ResultRow] = []
    for parallel in (1, 5):
        results = asyncio.run(
            run_suites(select([load_suite(suite)], Selection()), RunOptions(parallel=parallel), told.append)
        )
        names = [row.name for row in results.rows]
        assert names == [name for each in "abcde" for name in (each, f"{each} (recovery)")]
        assert results.ok
    assert len(told) == 20


def test_a_reply_that_waits_to_be_overtaken_takes_the_same_time_on_every_clock(tmp_path: Path) -> None:
    body = (
        HEAD.replace("kind: hang", "kind: out_of_order")
        + """
agents:
  - { name: a, agent: { script: [search] }, inject: [hung], recovery: { max_detection_ms: 9000 } }
"""
    )
    suite = write(tmp_path, body)
    virtual = row(run(suite), "a (recovery)").runs[0]
    scaled = row(run(suite, clock="scaled", scale=50.0), "a (recovery)").runs[0]
    assert virtual.metrics.reply_ms == 5000
    assert scaled.metrics.reply_ms is not None
    assert scaled.metrics.reply_ms >= 5000


@pytest.mark.parametrize(("agent", "calls"), [("looping", 10), ("retrying", 3)])
def test_a_reply_that_is_held_back_is_held_back_for_each_attempt_on_every_clock(
    tmp_path: Path, agent: str, calls: int
) -> None:
    body = (
        HEAD.replace("kind: hang", "kind: out_of_order")
        + f"""
agents:
  - {{ name: a, agent: {agent}, inject: [hung], recovery: {{ max_detection_ms: 2000 }} }}
"""
    )
    suite = write(tmp_path, body)
    found = [row(each, "a (recovery)") for each in (run(suite), run(suite, clock="scaled", scale=10.0))]
    figures = [
        (each.verdict, done.metrics.detections, len(done.trace.calls), done.metrics.path)
        for each in found
        for done in each.runs
    ]
    assert figures[0] == figures[1]
    assert figures[0][1:3] == (calls, calls)


def test_bail_stops_at_the_first_that_does_not_pass_and_is_no_interruption(tmp_path: Path) -> None:
    body = suite_of("a", "b", "c")
    body = body.replace("name: b, agent: retrying", "name: b, agent: looping").replace("[back]", "[hung]")
    results = run(write(tmp_path, body), parallel=1, bail=True)
    assert [row.name for row in results.rows] == ["a", "a (recovery)", "b", "b (recovery)"]
    assert (results.ok, results.interrupted) == (False, False)


def test_a_skipped_test_has_a_row_with_its_reason_and_needs_no_server(tmp_path: Path) -> None:
    body = """
servers: { gone: { command: [no-such-program-anywhere] } }
tools: [{ name: t, tool: search, server: gone, skip: not yet }]
"""
    results = run(write(tmp_path, body))
    assert [(row.skipped, row.fails) for row in results.rows] == [("not yet", False)]
    assert results.ok


def test_a_server_that_cannot_be_had_is_an_error_of_each_of_its_tests(tmp_path: Path) -> None:
    body = """
servers: { gone: { command: [no-such-program-anywhere] } }
faults: ["hang@search"]
tools: [{ name: t, tool: search }]
agents: [{ name: a, agent: naive, inject: [hang] }]
"""
    results = run(write(tmp_path, body))
    assert verdicts(results) == {"t": "error", "a": "error"}
    assert "no-such-program-anywhere" in results.rows[0].message
    assert not results.ok


def test_a_server_that_dies_in_a_test_is_there_again_for_the_next_one(tmp_path: Path) -> None:
    dies = "os._exit(3) if message['params']['arguments'] else None"
    argv = program(tmp_path, "dying.py", server_code(calling=dies))
    body = f"""
servers: {{ s: {{ command: {argv} }} }}
tools:
  - {{ name: kills it, tool: search, args: {{ x: 1 }} }}
  - {{ name: works, tool: search, expect: [{{ target: "result.content[0].type", exact: text }}] }}
"""
    results = run(write(tmp_path, body), parallel=1)
    assert verdicts(results) == {"kills it": "error", "works": "passed"}
    assert "exit code 3" in row(results, "kills it").message


def test_the_timeout_holds_for_a_server_that_lists_nothing(tmp_path: Path) -> None:
    argv = program(tmp_path, "mute.py", server_code(listing="time.sleep(3600)"))
    body = f"servers: {{ s: {{ command: {argv} }} }}\ntools: [{{ name: t, tool: search }}]\n"
    results = run(write(tmp_path, body), timeout_s=1.0)
    assert verdicts(results) == {"t": "error"}
    assert results.rows[0].message.endswith("within 1 s (--timeout)")


def test_the_timeout_holds_for_a_call_that_hangs_without_any_fault_of_ours(tmp_path: Path) -> None:
    argv = program(tmp_path, "hanging.py", server_code(calling="time.sleep(3600)"))
    body = f"""
servers: {{ s: {{ command: {argv} }} }}
agents:
  - {{ name: a, agent: {{ kind: naive, goal: search }} }}
tools: [{{ name: t, tool: search }}]
"""
    results = run(write(tmp_path, body), timeout_s=1.0)
    assert verdicts(results) == {"t": "error", "a": "error"}
    assert results.rows[0].message == "it did not end within 1 s (--timeout)"


def test_the_timeout_holds_for_a_program_that_hangs(tmp_path: Path) -> None:
    argv = program(tmp_path, "agent.py", "import time\ntime.sleep(3600)\n")
    gate = "recovery: { max_detection_ms: 3000 }"
    body = HEAD + f"agents: [{{ name: a, agent: {{ command: {argv} }}, inject: [hung], {gate} }}]\n"
    results = run(write(tmp_path, body), timeout_s=1.0)
    assert verdicts(results) == {"a": "error", "a (recovery)": "error"}
    assert {row.message for row in results.rows} == {"the agent did not end within 1 s (--timeout)"}


def test_a_server_runs_where_its_cwd_says(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    argv = program(tmp_path, "server.py", server_code())
    body = f"""
servers: {{ s: {{ command: {argv}, cwd: there }} }}
tools:
  - name: t
    tool: search
    expect: [{{ target: "result.content[0].text", regex: "/there$" }}]
"""
    for options in (dict[str, Any](), {"clock": "scaled", "scale": 10.0}):
        results = run(write(tmp_path, body), **options)
        assert verdicts(results) == {"t": "passed"}, results.rows[0].message


def test_a_target_that_a_live_server_has_not_is_the_suites_problem(tmp_path: Path) -> None:
    argv = program(tmp_path, "server.py", server_code())
    body = f"""
servers: {{ s: {{ command: {argv} }} }}
faults: ["hang@serach"]
agents: [{{ name: a, agent: naive, inject: [hang] }}]
"""
    results = run(write(tmp_path, body))
    (suite,) = results.suites
    assert suite.rows == ()
    assert "serach" in suite.problem
    assert not results.ok


def test_what_is_stopped_midway_has_the_rows_that_there_are(tmp_path: Path) -> None:
    chosen = select([load_suite(write(tmp_path, suite_of("a", "b", "c")))], Selection())
    stopping = asyncio.Event()

    async def main() -> tuple[bool, list[str]]:
        def heard(row: ResultRow) -> None:
            if row.name == "a (recovery)":
                stopping.set()

        results = await run_suites(chosen, RunOptions(parallel=1), heard, stopping)
        return results.interrupted, [row.name for row in results.rows]

    assert asyncio.run(main()) == (True, ["a", "a (recovery)"])


def test_a_mistake_inside_an_agent_is_an_error_of_its_test_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: object) -> None:
        raise ZeroDivisionError("one by none")

    monkeypatch.setattr("faultkit.agents.execute.run_agent.agent_of", broken)
    body = suite_of("a") + "tools: [{ name: t, tool: search }]\n"
    results = run(write(tmp_path, body))
    assert verdicts(results) == {"t": "passed", "a": "error"}
    assert row(results, "a").message == "ZeroDivisionError: one by none"


def test_no_threads_are_left(tmp_path: Path) -> None:
    before = threading.active_count()
    run(write(tmp_path, suite_of("a")), clock="scaled", scale=100.0)
    assert threading.active_count() == before


def test_a_server_that_cannot_be_had_is_no_matter_of_the_tests_of_others(tmp_path: Path) -> None:
    body = """
servers: { gone: { command: [no-such-program-anywhere] }, shop: { mock: tools.yml } }
tools:
  - { name: here, tool: search, server: shop }
  - { name: gone, tool: search, server: gone }
"""
    results = run(write(tmp_path, body))
    assert verdicts(results) == {"here": "passed", "gone": "error"}
    assert "no-such-program-anywhere" in row(results, "gone").message


def test_a_suite_of_programs_is_summed_up_in_their_time(tmp_path: Path) -> None:
    argv = program(tmp_path, "agent.py", "print('Done.')\n")
    results = run(write(tmp_path, HEAD + f"agents: [{{ name: a, agent: {{ command: {argv} }} }}]\n"))
    assert run_conditions(results) == "real time, seed 0"


def test_a_suite_of_programs_is_summed_up_in_their_time_though_none_has_ended(tmp_path: Path) -> None:
    argv = program(tmp_path, "agent.py", "print('Done.')\n")
    body = HEAD + f"agents: [{{ name: a, agent: {{ command: {argv} }} }}]\n"
    chosen = select([load_suite(write(tmp_path, body))], Selection())

    async def main() -> SuiteResults:
        stopping = asyncio.Event()
        stopping.set()
        return await run_suites(chosen, RunOptions(parallel=1), stopping=stopping)

    results = asyncio.run(main())
    assert (results.interrupted, results.rows) == (True, ())
    assert run_conditions(results) == "real time, seed 0"


FLAKY = """
agents:
  - name: a
    agent: { script: [{ call: search, retry: { attempts: 2 } }], say_on_failure: " " }
    inject: [rare]
    recovery: { max_detection_ms: 3000 }
    %s
"""


def flaky(folder: Path, more: str = "") -> Path:
    return write(folder, HEAD + FLAKY % more)


def test_each_run_has_a_seed_of_its_own_and_runs_without_a_fault_say_nothing(tmp_path: Path) -> None:
    results = run(flaky(tmp_path), repeat=40)
    gate = row(results, "a (recovery)")
    share = gate.passed_share
    assert share is not None
    assert len({run.seed for run in gate.runs}) == 40
    hit = [run for run in gate.runs if run.metrics.fault_hit]
    passed = [run for run in hit if run.gate is not None and run.gate.verdict == "passed"]
    # Half of the calls hang, so some runs meet no fault, some recover, and some fail twice.
    assert 0 < len(passed) < len(hit) < 40
    assert (share.hits, share.total) == (len(passed), len(hit))
    assert gate.message.startswith(
        f"{len(passed)} of {len(hit)} runs passed ({40 - len(hit)} more met no fault); did not recover"
    )
    assert gate.verdict == "failed"
    again = row(run(flaky(tmp_path), repeat=40), "a (recovery)")
    assert again.message == gate.message
    assert row(run(flaky(tmp_path), repeat=40, seed="other"), "a (recovery)").message != gate.message


@pytest.mark.parametrize(
    ("rate", "verdict", "limit"),
    [(20, "passed", ""), (90, "failed", "min_pass_rate"), (60, "inconclusive", "min_pass_rate")],
)
def test_a_pass_rate_is_met_missed_or_open(tmp_path: Path, rate: int, verdict: str, limit: str) -> None:
    gate = row(run(flaky(tmp_path, f"min_pass_rate: {rate}"), repeat=40), "a (recovery)")
    share = gate.passed_share
    assert share is not None
    low, high = 100 * share.interval.low, 100 * share.interval.high
    # The interval decides: it lies above, below or across the rate.
    assert {"passed": low >= rate, "failed": high < rate, "inconclusive": low < rate <= high}[verdict]
    assert (gate.verdict, gate.limit) == (verdict, limit)
    assert f"wanted are {rate} %" in gate.message
    assert gate.fails is (verdict != "passed")


def test_ten_of_ten_are_too_few_for_ninety_percent_and_forty_are_enough(tmp_path: Path) -> None:
    body = """
agents:
  - name: a
    agent: retrying
    inject: [back]
    recovery: { max_detection_ms: 3000 }
    min_pass_rate: 90
    runs: %d
"""
    for runs, verdict in ((10, "inconclusive"), (40, "passed")):
        assert verdicts(run(write(tmp_path, HEAD + body % runs)))["a (recovery)"] == verdict


def test_pass_hat_k_falls_with_k(tmp_path: Path) -> None:
    share = row(run(flaky(tmp_path), repeat=40), "a (recovery)").passed_share
    assert share is not None
    in_a_row = list(share_figures(share)["pass_hat_k"].values())
    assert in_a_row[0] == share.value
    assert in_a_row == sorted(in_a_row, reverse=True)
    assert in_a_row[0] > in_a_row[1]


def test_if_no_run_met_the_fault_nothing_was_shown(tmp_path: Path) -> None:
    body = HEAD + FLAKY.replace("call: search", "call: grep") % ""
    found = verdicts(run(write(tmp_path, body), repeat=3))
    assert found == {"a": "not_exercised", "a (recovery)": "not_exercised"}


# Many tests


CASES = 200
FAULTS = ("hang%0.5@search", "slow:240000@search", "recover-after:2@search", "rate_limit%0.7@search")
HOURS_MS = 3_600_000


def generated(folder: Path) -> Path:
    (folder / "tools.yml").write_text(TOOLS)
    kinds = [kind for kind in SHIPPED_AGENTS if kind != "looping"]
    lines = ["servers: { shop: { mock: tools.yml } }", "faults:"]
    lines += [f'  - {{ name: f{number}, spec: "{spec}" }}' for number, spec in enumerate(FAULTS)]
    lines.append("agents:")
    lines += [
        f"  - {{ name: case {n}, agent: {kinds[n % len(kinds)]}, inject: [f{n % len(FAULTS)}], "
        "allow_unhit: true, recovery: { max_detection_ms: 180000 } }"
        for n in range(CASES)
    ]
    suite = folder / "generated.yml"
    suite.write_text("\n".join(lines) + "\n")
    return suite


def done(suite: Path, seed: int) -> SuiteResults:
    return run_suites_blocking(
        select([load_suite(suite)], Selection()), RunOptions(seed=seed, parallel=8)
    ).results


def test_hangs_of_minutes_take_no_time_and_one_seed_gives_one_report(tmp_path: Path) -> None:
    suite = generated(tmp_path)
    first, second, other = done(suite, 7), done(suite, 7), done(suite, 8)
    waited_ms = sum(run.trace.calls[-1].end_ms or 0.0 for row in first.rows for run in row.runs)
    assert len(first.rows) == 2 * CASES
    assert waited_ms > 5 * HOURS_MS
    assert first.duration_ms is not None
    # The virtual hours must pass at least a thousand times faster, which a busy machine manages too.
    assert first.duration_ms < waited_ms / 1000
    reports = [json.loads(render_json(results)) for results in (first, second, other)]
    left = [json.dumps(without_times(report), sort_keys=False).encode() for report in reports]
    assert left[0] == left[1]
    assert left[0] != left[2]
    assert reports[0]["declared_time_fields"] == [
        ".generated_at",
        ".summary.duration_ms",
        ".tests[].duration_ms",
    ]


VACUOUS = {
    "nothing": "",
    "an empty list": ", expect: []",
    "a text that every reply has": ', expect: [{ contains: "" }]',
    "a goal, which does not gate": ", goal: [{ target: tool_names, exact: [] }]",
}


@pytest.mark.parametrize("keys", VACUOUS.values(), ids=VACUOUS)
def test_a_test_of_an_agent_that_asserts_nothing_does_not_pass(tmp_path: Path, keys: str) -> None:
    results = run(write(tmp_path, f"{HEAD}agents: [{{ name: a, agent: {{ script: [search] }}{keys} }}]\n"))
    found = row(results, "a")
    assert (found.verdict, results.ok) == ("not_exercised", False)
    assert found.message.startswith("not exercised: the test asserts nothing")


@pytest.mark.parametrize("keys", ["expect: [{ contains: found }]", "inject: [back]"])
def test_one_that_expects_or_injects_something_does(tmp_path: Path, keys: str) -> None:
    body = f"{HEAD}agents: [{{ name: a, agent: {{ script: [search] }}, {keys} }}]\n"
    assert verdicts(run(write(tmp_path, body))) == {"a": "passed"}


def test_what_faultkit_does_not_run_is_skipped_and_never_passed(tmp_path: Path) -> None:
    tools = "tools: [{ name: t, tool: search }, { name: u, tool: search }]"
    body = f"{HEAD}{tools}\nsecurity: {{ scan: true }}\n"
    suite = write(tmp_path, body)
    results = run(suite)
    lane = row(results, "lane security")
    assert (lane.skipped, lane.fails) == ("not run: nothing here scans the texts of tools", False)
    assert (results.count("passed"), results.skipped) == (2, 1)
    assert [one.name for one in run(suite, Selection(filters=("t",))).rows] == ["t"]


def test_a_test_that_passes_when_it_is_repeated_says_so(tmp_path: Path) -> None:
    once = "import pathlib; f = pathlib.Path('tries'); f.open('a').write('x'); n = len(f.read_text())"
    calling = f"{once}; n < 3 and os._exit(3)"
    argv = program(tmp_path, "shaky.py", server_code(calling=calling))
    body = f"servers: {{ s: {{ command: {argv}, cwd: . }} }}\ntools: [{{ name: t, tool: search }}]\n"
    suite = write(tmp_path, body)
    found = row(run(suite, retries=1), "t")
    assert (found.verdict, dict(found.details)) == ("error", {"attempt": 2})
    found = row(run(suite, retries=5), "t")
    assert (found.verdict, found.details) == ("passed", ())
    (tmp_path / "tries").unlink()
    found = row(run(suite, retries=5), "t")
    assert (found.verdict, explanation(found)) == ("passed", "attempt 3 (--retry)")
