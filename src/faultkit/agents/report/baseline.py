"""Results of suites compared with the JSON report of an earlier run: what is worse, better or slower. Pure.

A test is known by its file and its name. It is worse if it passed before and does not now, or is no longer in
its suite, or if it is new and does not pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os.path import isabs, join, normpath
from pathlib import PurePath
from typing import Any, TypeAlias

from faultkit.agents.report.row_facts import (
    STATUS_WORDS,
    RowStatus,
    deciding_run,
    recovery_figures,
    status_of,
)
from faultkit.agents.suite.results import RECOVERY_SUFFIX, ResultRow, SuiteResults
from faultkit.base.text import and_list, counted, printable_line

Baseline: TypeAlias = dict[tuple[str, str], tuple[RowStatus, float | None]]
"""Status and time to recovery of each test of the earlier run, by file and name."""
_MOST_NAMED = 10
"""Tests that one line names."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed since the earlier run, a line for each test."""

    worse: tuple[str, ...]
    better: tuple[str, ...]
    slower: tuple[str, ...]
    """Tests that pass as before, with a longer time to recovery."""
    still_failing: int
    not_run: tuple[str, ...]
    """Tests of the earlier run that were not selected now, or whose worker was lost, or that are gone and did
    not pass then."""

    def lines(self, name: str) -> list[str]:
        """Return the comparison in words; `name` is that of the earlier report."""
        told = [f"{word}: {line}" for word in ("worse", "slower", "better") for line in getattr(self, word)]
        if self.still_failing:
            told.append(f"not passed, as before: {counted(self.still_failing, 'row')}")
        if self.not_run:
            more = len(self.not_run) - _MOST_NAMED
            named = [*self.not_run[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
            told.append(f"no longer run: {counted(len(self.not_run), 'row')}: {and_list(named)}")
        verdict = f"{len(self.worse)} worse" if self.worse else "nothing is worse"
        if self.not_run and not self.worse:
            verdict += " of what was run"
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


def compare(
    before: Baseline, results: SuiteResults, folders: Sequence[str] = (".",), *, is_whole: bool = True
) -> Comparison:
    """Compare results with those of an earlier run.

    `folders`: the one that the files of the results are relative to, and others that those of the earlier run
    may be relative to. `is_whole`: all tests of the suites were selected, so one without a row is gone.
    """
    worse, better, slower, still_failing = [], [], [], 0
    now = dict.fromkeys(
        [*(suite.file for suite in results.suites), *(row.place.file for row in results.rows)]
    )
    same = _same_files(dict.fromkeys(file for file, _ in before), now, folders)
    left = dict(before)
    unrun = {(same.get(row.place.file, ""), row.name) for row in results.rows if row.unrun}
    for row in results.rows:
        status, name = status_of(row), printable_line(row.name)
        key = (same.get(row.place.file, ""), row.name)
        if key in unrun:
            continue
        earlier = before.get(key)
        left.pop(key, None)
        if earlier is None:
            if row.fails:
                worse.append(f"{name}: new, {STATUS_WORDS[status]}")
            continue
        change = f"{name}: {_word(earlier[0])} before, {STATUS_WORDS[status]} now"
        if earlier[0] == "passed" != status:
            worse.append(change)
        elif status == "passed" != earlier[0]:
            better.append(change)
        elif row.fails:
            still_failing += 1
        elif (now_ms := _recovery_ms(row)) is not None and earlier[1] is not None and now_ms > earlier[1]:
            slower.append(f"{name}: recovery in {earlier[1]:g} ms before, {now_ms:g} ms now")
    not_run = []
    for (file, test), (status_before, _) in left.items():
        name = printable_line(test)
        is_unrun = any((file, own) in unrun for own in (test, test.removesuffix(RECOVERY_SUFFIX)))
        if is_whole and not is_unrun and status_before == "passed" and file in same.values():
            worse.append(f"{name}: passed before, no longer run")
        else:
            not_run.append(f"{name} ({_word(status_before)} before)")
    return Comparison(tuple(worse), tuple(better), tuple(slower), still_failing, tuple(not_run))


def _same_files(before: Iterable[str], now: Iterable[str], folders: Sequence[str]) -> dict[str, str]:
    """Return the file of the earlier run that each file of this one is.

    Reports have paths as they were given, which depend on the folder of the command. A path is looked up from
    each of the folders; one that is found from none is that of the only file whose path ends with it."""
    found: dict[str, str] = {}
    left = {file: normpath(join(folders[0], file)) for file in now}
    # The longest path says most.
    unmatched = sorted(before, key=lambda file: -len(PurePath(file).parts))
    for folder in (*folders, None):
        for given in list(unmatched):
            fitting = [file for file, path in left.items() if _is_at(path, given, folder)]
            if len(fitting) == 1:
                found[fitting[0]] = given
                del left[fitting[0]]
                unmatched.remove(given)
    return found


def _is_at(path: str, given: str, folder: str | None) -> bool:
    """Return whether a path is the given one, from a folder; without one, whether it ends with it."""
    if folder is not None:
        return normpath(join(folder, given)) == path
    parts = tuple(part for part in PurePath(given).parts if part != "..")
    return not isabs(given) and PurePath(path).parts[-len(parts) :] == parts


def _word(status: RowStatus) -> str:
    return STATUS_WORDS.get(status, status)


def _recovery_ms(row: ResultRow) -> float | None:
    run = deciding_run(row)
    found: float | None = None if run is None else recovery_figures(run)["time_to_recovery_ms"]
    return found
