from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from faultkit.agents.report.row_facts import run_conditions
from faultkit.agents.selection import Selection, select
from faultkit.agents.suite.results import Row
from faultkit.agents.suite.run_options import Options
from faultkit.agents.suite_file import load_suite
from faultkit.agents.suite_runner import run_suites
from tests.agents.execute.written import HEAD, program, row, run, server_code, verdicts, write


def suite_of(*names: str, agent: str = "retrying", fault: str = "back") -> str:
    lines = [
        f"  - {{ name: {name}, agent: {agent}, inject: [{fault}], recovery: {{ max_detection_ms: 3000 }} }}"
        for name in names
    ]
    return HEAD + "agents:\n" + "\n".join(lines) + "\n"


def test_rows_are_in_the_order_of_the_file_however_many_run_side_by_side(tmp_path: Path) -> None:
    suite = write(tmp_path, suite_of("a", "b", "c", "d", "e"))
    told: list[Row] = []
    for parallel in (1, 5):
        results = asyncio.run(
            run_suites(select([load_suite(suite)], Selection()), Options(parallel=parallel), told.append)
        )
        names = [row.name for row in results.rows]
        assert names == [name for each in "abcde" for name in (each, f"{each} (recovery)")]
        assert results.ok
    assert len(told) == 20


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
        def heard(row: Row) -> None:
            if row.name == "a (recovery)":
                stopping.set()

        results = await run_suites(chosen, Options(parallel=1), heard, stopping)
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
