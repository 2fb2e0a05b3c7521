"""Results of suites compared with the JSON report of an earlier run: what is worse, better or slower. Pure.

A test is known by its file and its name. It is worse if it passed before and does not now, or if it is new
and does not pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os.path import normpath
from typing import Any, TypeAlias

from faultkit.agents.report.row_facts import (
    STATUS_WORDS,
    RowStatus,
    deciding_run,
    recovery_figures,
    status_of,
)
from faultkit.agents.suite.results import ResultRow, SuiteResults
from faultkit.base.text import counted, printable_line

Baseline: TypeAlias = dict[tuple[str, str], tuple[RowStatus, float | None]]
"""Status and time to recovery of each test of the earlier run, by file and name."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed since the earlier run, a line for each test."""

    worse: tuple[str, ...]
    better: tuple[str, ...]
    slower: tuple[str, ...]
    """Tests that pass as before, with a longer time to recovery."""
    still_failing: int

    def lines(self, name: str) -> list[str]:
        """Return the comparison in words; `name` is that of the earlier report."""
        told = [f"{word}: {line}" for word in ("worse", "slower", "better") for line in getattr(self, word)]
        if self.still_failing:
            told.append(f"not passed, as before: {counted(self.still_failing, 'row')}")
        verdict = f"{len(self.worse)} worse" if self.worse else "nothing is worse"
        return [*told, f"compared with {name}: {verdict}"]


def read_baseline(report: Mapping[str, Any]) -> Baseline:
    """Return what a JSON report says of each test.

    Raises KeyError, TypeError or AttributeError if it is no such report.
    """
    return {
        (normpath(test["file"]), str(test["name"])): (
            test["status"],
            (test["recovery"] or {}).get("time_to_recovery_ms"),
        )
        for test in report["tests"]
    }


def compare(before: Baseline, results: SuiteResults) -> Comparison:
    """Compare results with those of an earlier run. Tests that only the earlier run has are left out."""
    worse, better, slower, still_failing = [], [], [], 0
    for row in results.rows:
        status, name = status_of(row), printable_line(row.name)
        earlier = before.get((normpath(row.place.file), row.name))
        if earlier is None:
            if row.fails:
                worse.append(f"{name}: new, {STATUS_WORDS[status]}")
            continue
        change = f"{name}: {STATUS_WORDS.get(earlier[0], earlier[0])} before, {STATUS_WORDS[status]} now"
        if earlier[0] == "passed" != status:
            worse.append(change)
        elif status == "passed" != earlier[0]:
            better.append(change)
        elif row.fails:
            still_failing += 1
        elif (now_ms := _recovery_ms(row)) is not None and earlier[1] is not None and now_ms > earlier[1]:
            slower.append(f"{name}: recovery in {earlier[1]:g} ms before, {now_ms:g} ms now")
    return Comparison(tuple(worse), tuple(better), tuple(slower), still_failing)


def _recovery_ms(row: ResultRow) -> float | None:
    run = deciding_run(row)
    found: float | None = None if run is None else recovery_figures(run)["time_to_recovery_ms"]
    return found
