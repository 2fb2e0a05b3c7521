"""Workers that are lost, and results that come damaged, twice or not at all."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from faultkit.agents.coverage import met_faults
from faultkit.agents.report.baseline import compare, read_baseline
from faultkit.agents.report.reporters import REPORTERS
from faultkit.agents.report.suite_json import results_document
from faultkit.agents.shards.shard_run import run_cases
from faultkit.base.errors import InputError, RunError
from faultkit.load.part_lines import WorkerLost
from faultkit.load.places import Machine, SegmentWorker
from faultkit.load.split import Part
from tests.agents.execute.suite_runs import HEAD, write
from tests.agents.shards.replayed_place import (
    Change,
    Replayed,
    ReplayedPlace,
    chosen_of,
    on_one_machine,
    planned,
    sharded,
)

TESTS = "".join(f"  - {{ name: {name}, agent: retrying, inject: [back] }}\n" for name in "abcdef")
SUITE = HEAD + "agents:\n" + TESTS


def recounted(line: str, **changes: object) -> str:
    """Return a line with other values and the checksum that fits."""
    from faultkit.load.part_lines import _checksum

    written = json.dumps({**json.loads(line.partition(" ")[2]), **changes})
    return f"{_checksum(written)} {written}"


@pytest.mark.parametrize(
    ("change", "ended", "why"),
    [
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], 2, "its report 2 came twice"),
        (lambda lines: [lines[0], *lines[2:]], 1, "its report 2 did not come"),
        (lambda lines: [lines[0], lines[1].replace("b", "c", 1), *lines[2:]], 1, "its report 2 came damaged"),
        (lambda lines: [lines[0][:40], *lines[1:]], 0, "its report 1 came damaged"),
        (lambda lines: [*lines[:3], recounted(lines[3], cases=2)], 3, "it reports 2 cases, and 3 came"),
        (
            lambda lines: [*lines[:2], recounted(lines[3], number=2, cases=2)],
            2,
            "it ended without the results of 1",
        ),
        (
            lambda lines: [lines[0], recounted(lines[1], outcomes=json.loads(lines[0][9:])["outcomes"])],
            1,
            "it sent a result of case 2, which it has not or had sent",
        ),
        (
            lambda lines: [lines[0], recounted(lines[1], outcomes=[[0, "{}"]])],
            1,
            "it sent a result of case 1, which it has not or had sent",
        ),
        (
            lambda lines: [lines[0], recounted(lines[1], outcomes=[[3, "[1]"]])],
            1,
            "its report 2 cannot be read",
        ),
    ],
)
def test_what_a_worker_did_not_tell_whole_is_not_run_and_no_pass(
    tmp_path: Path, change: Change, ended: int, why: str
) -> None:
    chosen = chosen_of(write(tmp_path, SUITE))
    results = sharded(chosen, ReplayedPlace(2, changes={1: change}))
    (lost,) = results.lost
    assert (lost.worker, lost.planned, lost.ended) == ("worker 1", 3, ended)
    assert lost.why.startswith(why)
    missing = ["b", "d", "f"][ended:]
    assert [row.name for row in results.rows if row.unrun] == missing
    assert {row.verdict for row in results.rows if row.unrun} <= {"inconclusive"}
    kept = [row for row in results.rows if not row.unrun]
    assert kept == [row for row in on_one_machine(chosen).rows if row.name not in missing]
    assert results.ok == (not missing)


def test_every_report_names_the_lost_worker_and_the_tests_that_were_not_run(tmp_path: Path) -> None:
    chosen = chosen_of(write(tmp_path, SUITE))
    results = sharded(chosen, ReplayedPlace(2, changes={1: lambda lines: [lines[0], *lines[2:]]}))
    for name, reporter in REPORTERS.items():
        text = reporter.render(results)
        said = re.search(
            r"worker 1 was lost [0-9.]+ s after the start \(its report 2 did not come\): 1 of", text
        )
        assert said or name == "json"
        assert "not run: worker 1 was lost" in text
    document = results_document(results)
    (lost,) = document["metadata"]["degraded"]
    assert (lost["worker"], lost["why"], lost["planned"], lost["ended"]) == (
        "worker 1",
        "its report 2 did not come",
        3,
        1,
    )
    assert [test["name"] for test in document["tests"] if test.get("unrun")] == ["d", "f"]
    # What earlier runs showed of these tests is not forgotten.
    assert {name for _, name in met_faults(document)} == {"a", "b", "c", "e"}
    before = read_baseline(results_document(on_one_machine(chosen)))
    comparison = compare(before, results)
    assert comparison.worse == ()
    assert comparison.not_run == ("d (passed before)", "f (passed before)")


def test_a_skipped_test_of_a_lost_worker_is_skipped(tmp_path: Path) -> None:
    skipped = SUITE.replace("name: d,", "name: d, skip: later,")
    chosen = chosen_of(write(tmp_path, skipped))
    results = sharded(chosen, ReplayedPlace(2, changes={1: lambda lines: [lines[1]]}))
    assert [(row.name, row.skipped) for row in results.rows if row.name in "bdf"] == [
        ("b", ""),
        ("d", "later"),
        ("f", ""),
    ]


class Other(ReplayedPlace):
    """A place of which some workers are not ready, for a reason of their own."""

    def __init__(self, size: int, errors: dict[int, Exception], machine: Machine | None = None) -> None:
        super().__init__(size)
        self._errors = errors
        self._machine = machine

    def start(self, segments: Sequence[Part[Any]]) -> Sequence[SegmentWorker]:
        workers = super().start(segments)
        for share, worker in enumerate(workers):
            assert isinstance(worker, Replayed)
            worker.ready = self._ready(share)  # type: ignore[method-assign]
        return workers

    def _ready(self, share: int):  # type: ignore[no-untyped-def]
        def ready() -> Machine:
            if share in self._errors:
                raise self._errors[share]
            return self._machine or Machine.here()

        return ready


def test_a_worker_that_is_lost_before_the_start_ran_nothing(tmp_path: Path) -> None:
    results = sharded(chosen_of(write(tmp_path, SUITE)), Other(2, {0: WorkerLost("it never came")}))
    assert [row.name for row in results.rows if row.unrun] == ["a", "c", "e"]


def test_without_any_worker_there_is_an_error_and_no_report(tmp_path: Path) -> None:
    plan = planned(chosen_of(write(tmp_path, SUITE)))
    errors: dict[int, Exception] = {0: WorkerLost("it never came"), 1: WorkerLost("nor did it")}
    with pytest.raises(RunError, match=r"all 2 workers were lost \(worker 0: it never came; worker 1: nor"):
        run_cases(plan, Other(2, errors))
    nothing: dict[int, Change] = {0: lambda lines: ["x"], 1: lambda lines: ["x"]}
    with pytest.raises(RunError, match="all 2 workers were lost"):
        run_cases(plan, ReplayedPlace(2, changes=nothing))


def test_a_refusal_of_one_worker_ends_the_run_before_any_test(tmp_path: Path) -> None:
    plan = planned(chosen_of(write(tmp_path, SUITE)))
    refusal = InputError("worker 1.version", "expected another")
    came: list[int] = []
    with pytest.raises(InputError, match=r"worker 1\.version: expected another"):
        run_cases(plan, Other(2, {1: refusal}), lambda number, outcome: came.append(number))
    assert came == []


def test_a_defect_of_a_worker_ends_the_run_with_its_error(tmp_path: Path) -> None:
    plan = planned(chosen_of(write(tmp_path, SUITE)))
    with pytest.raises(AssertionError, match="there was no end"):
        run_cases(plan, ReplayedPlace(2, changes={1: lambda lines: lines[:1]}))


def test_a_server_of_this_machine_is_refused_for_a_worker_of_another(tmp_path: Path) -> None:
    body = """
servers: { s: { url: "http://127.0.0.1:9/mcp" } }
tools: [{ name: a, server: s, tool: search }]
"""
    plan = planned(chosen_of(write(tmp_path, body)))
    there = Machine("other", "other")
    with pytest.raises(InputError, match=r"worker 0: expected servers that it can reach, got http://127"):
        run_cases(plan, Other(1, {}, there))


def test_a_run_that_is_stopped_before_its_workers_are_ready_runs_nothing(tmp_path: Path) -> None:
    plan = planned(chosen_of(write(tmp_path, SUITE)))
    stop = threading.Event()
    stop.set()
    cases = run_cases(plan, ReplayedPlace(2), stop=stop)
    assert (cases.stopped, cases.outcomes, cases.lost) == (True, {}, {})


@pytest.mark.parametrize(
    ("agent", "verdict", "message"),
    [
        ("retrying", "inconclusive", "not run (1 of 4 runs): worker 1 was lost "),
        ("looping", "failed", "0 of 3 runs passed; did not recover: "),
    ],
)
def test_of_a_test_that_lost_a_run_only_a_failure_is_known(
    tmp_path: Path, agent: str, verdict: str, message: str
) -> None:
    gate = "inject: [hung], recovery: { max_detection_ms: 3000 }, runs: 4"
    chosen = chosen_of(write(tmp_path, HEAD + f"agents: [{{ name: a, agent: {agent}, {gate} }}]\n"))
    results = sharded(chosen, ReplayedPlace(2, changes={1: lambda lines: [lines[0], "damaged"]}))
    (lost,) = results.lost
    assert (lost.planned, lost.ended) == (2, 1)
    own, recovery = results.rows
    assert (own.name, own.verdict, own.unrun) == ("a", "inconclusive", True)
    assert own.message.startswith("not run (1 of 4 runs): worker 1 was lost ")
    assert (recovery.name, recovery.verdict, recovery.unrun) == (
        "a (recovery)",
        verdict,
        verdict == "inconclusive",
    )
    assert recovery.message.startswith(message)
    assert "not run (1 of 4 runs): worker 1 was lost" in recovery.message


@pytest.mark.parametrize("lost", [[0], [1], [0, 1]])
def test_a_selection_has_the_same_rows_whichever_worker_is_lost(tmp_path: Path, lost: list[int]) -> None:
    gate = "recovery: { max_detection_ms: 3000 }"
    tests = "".join(f"  - {{ name: {name}, agent: retrying, inject: [back], {gate} }}\n" for name in "abcd")
    chosen = chosen_of(write(tmp_path, HEAD + "agents:\n" + tests + "  - { name: e, agent: naive }\n"))
    first_only: Change = lambda lines: [lines[0], "damaged"]  # noqa: E731
    results = sharded(chosen, ReplayedPlace(2, changes=dict.fromkeys(lost, first_only)))
    complete = on_one_machine(chosen).rows
    assert len(complete) == 9
    assert [(row.name, row.rule) for row in results.rows] == [(row.name, row.rule) for row in complete]
    unrun = {row.name for row in results.rows if row.unrun}
    assert {name for name in unrun if name.endswith("(recovery)")} == {
        f"{name} (recovery)" for name in unrun & set("abcd")
    }
