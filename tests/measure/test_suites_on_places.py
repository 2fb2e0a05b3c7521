"""Suites on several workers: equal reports, lost workers, signals, and what is left. Real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from faultkit.agents.shards.plan_suites import plan_suites
from faultkit.agents.shards.shard_run import run_sharded_blocking
from faultkit.agents.suite.results import ResultRow, SuiteResults
from faultkit.agents.suite.run_options import RunOptions
from faultkit.base.process_identity import descendants_of, is_same_process
from faultkit.cli.main import invoke
from faultkit.load.local_workers import LocalPlace, LocalWorker
from faultkit.load.split import Part
from tests.agents.execute.suite_runs import HEAD, program, write
from tests.agents.report.declared_times import without_times
from tests.agents.shards.replayed_place import chosen_of

PATIENCE_S = 60.0
EXAMPLES = Path(__file__).parents[2] / "examples"
QUICK = "  - {{ name: {}, agent: retrying, inject: [back] }}\n"
HANGS = """
import os, pathlib, time
pathlib.Path(__file__).with_name("pid.part").write_text(str(os.getpid()))
os.rename(pathlib.Path(__file__).with_name("pid.part"), pathlib.Path(__file__).with_name("pid"))
time.sleep(600)
"""


def wait_until(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def suite_with_a_program(folder: Path) -> Path:
    """Write a suite of four tests, of which the last is a program that never ends."""
    hangs = f"  - {{ name: d, agent: {{ command: {program(folder, 'hangs.py', HANGS)} }}, inject: [back] }}\n"
    return write(folder, HEAD + "agents:\n" + "".join(map(QUICK.format, "abc")) + hangs)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


class Killed:
    """Two processes of this machine, of which the second is killed at a moment."""

    size, margin_s = 2, 0.1

    def __init__(self, moment: str, last: str, folder: Path) -> None:
        self._moment, self._last, self._folder = moment, last, folder
        self._workers: Sequence[LocalWorker] = ()

    def start(self, segments: Sequence[Part[Any]]) -> Sequence[LocalWorker]:
        self._workers = LocalPlace(2).start(segments)
        if self._moment == "before":
            self._kill()
        return self._workers

    def on_row(self, row: ResultRow) -> None:
        if self._moment == "middle" and row.name == "b":
            wait_until((self._folder / "pid").exists, "the program runs")
            self._kill()
        if self._moment == "end" and row.name == self._last:
            self._kill()

    def _kill(self) -> None:
        os.kill(self._workers[1].pid, signal.SIGKILL)


def run_and_kill(folder: Path, file: Path, moment: str, last: str = "") -> SuiteResults:
    chosen = chosen_of(file)
    place = Killed(moment, last, folder)
    options = RunOptions(parallel=1, timeout_s=600.0)
    plan = plan_suites(chosen, options, {})
    return run_sharded_blocking(chosen, options, plan, nullcontext(place), place.on_row).results


def test_a_worker_killed_in_the_middle_is_named_and_its_test_is_not_run(tmp_path: Path) -> None:
    results = run_and_kill(tmp_path, suite_with_a_program(tmp_path), "middle")
    (lost,) = results.lost
    assert (lost.worker, lost.why) == ("suite worker 2 of 2", "it was ended by SIGKILL")
    assert (lost.planned, lost.ended) == (2, 1)
    found = [(row.name, row.verdict, row.unrun) for row in results.rows]
    assert found == [
        ("a", "passed", False),
        ("b", "passed", False),
        ("c", "passed", False),
        ("d", "inconclusive", True),
    ]
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: is_gone(pid), "the program of the killed worker has ended")


@pytest.mark.thorough
def test_a_worker_killed_before_the_start_ran_none_of_its_tests(tmp_path: Path) -> None:
    results = run_and_kill(tmp_path, suite_with_a_program(tmp_path), "before")
    (lost,) = results.lost
    assert (lost.worker, lost.ended) == ("suite worker 2 of 2", 0)
    assert [row.name for row in results.rows if row.unrun] == ["b", "d"]
    assert not (tmp_path / "pid").exists()


@pytest.mark.thorough
def test_a_worker_killed_after_its_last_test_leaves_nothing_out(tmp_path: Path) -> None:
    file = write(tmp_path, HEAD + "agents:\n" + "".join(map(QUICK.format, "abcd")))
    results = run_and_kill(tmp_path, file, "end", "d")
    assert (results.ok, [row.name for row in results.rows]) == (True, ["a", "b", "c", "d"])
    assert all(each.ended == each.planned for each in results.lost)


def reports(folder: Path, *args: str) -> tuple[int, dict[str, Any]]:
    """Run the example in a process of its own; return its exit code and its JSON report."""
    file = folder / "report.json"
    code = invoke(["test", str(EXAMPLES / "shipped-agents.yml"), "--reporter", f"json={file}", *args])
    return code, json.loads(file.read_text())


def test_processes_give_the_report_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one = reports(tmp_path, "--seed", "7", "--repeat", "2")
    many = reports(tmp_path, "--seed", "7", "--repeat", "2", "--on", "local:2")
    assert (many[0], without_times(many[1])) == (one[0], without_times(one[1]))
    assert one[0] == 0


def fault_test(folder: Path) -> subprocess.Popen[str]:
    suite_with_a_program(folder)
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "faultkit",
            "test",
            "suite.yml",
            "--on",
            "local:2",
            "--json",
            "--timeout",
            "10m",
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.thorough)]
)
def test_a_signal_ends_the_run_with_a_report_and_leaves_no_process(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with fault_test(tmp_path) as coordinator:
        wait_until((tmp_path / "pid").exists, "the program runs")
        family = descendants_of(coordinator.pid)
        os.killpg(coordinator.pid, number)  # As a terminal does.
        out, err = coordinator.communicate(timeout=PATIENCE_S)
    assert (coordinator.returncode, "Traceback" in err) == (code, False)
    document = json.loads(out)
    assert document["metadata"]["interrupted"] is True
    assert "degraded" not in document["metadata"]
    cut = [test["name"] for test in document["tests"] if test["status"] == "error"]
    assert cut == ["d"]
    wait_until(lambda: not any(is_same_process(*each) for each in family.items()), "all have ended")


@pytest.mark.thorough
def test_a_dead_coordinator_takes_its_workers_and_their_programs_along(tmp_path: Path) -> None:
    with fault_test(tmp_path) as coordinator:
        wait_until((tmp_path / "pid").exists, "the program runs")
        family = descendants_of(coordinator.pid)
        coordinator.kill()
    wait_until(lambda: not any(is_same_process(*each) for each in family.items()), "all have ended")


def test_the_exit_code_tells_a_failure_from_tests_that_were_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    suite_with_a_program(tmp_path)
    monkeypatch.chdir(tmp_path)

    def killed(place: LocalPlace, segments: Sequence[Part[Any]]) -> Sequence[LocalWorker]:
        workers = [LocalWorker(segment) for segment in segments]
        os.kill(workers[1].pid, signal.SIGKILL)
        return workers

    monkeypatch.setattr(LocalPlace, "start", killed)
    assert invoke(["test", "suite.yml", "--on", "local:2"]) == 6
    said = capsys.readouterr().out.splitlines()
    assert any(
        line.startswith("degraded: suite worker 2 of 2 was lost before the start (it was ended ")
        for line in said
    )
    assert said[-1].startswith("4 tests: 2 passed, 2 inconclusive in ")
    assert json.loads(Path(".fault_cache/last-failed.json").read_text()) == ["suite.yml::b", "suite.yml::d"]
    misses = "name: a, expect: [{ contains: nothing-like-it }],"
    (tmp_path / "suite.yml").write_text((tmp_path / "suite.yml").read_text().replace("name: a,", misses))
    assert invoke(["test", "suite.yml", "--on", "local:2"]) == 1
