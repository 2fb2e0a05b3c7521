"""The facts of a row that all reporters show: status in words, place, figures under their JSON names. Pure.

A row is one test of a suite, or its recovery gate; its runs are the runs of an agent that decided it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from faultkit.agents.recovery.score import PassShare, pass_hat_k
from faultkit.agents.recovery.trace import Trace
from faultkit.agents.suite.gate import RowVerdict
from faultkit.agents.suite.results import ResultRow, ScoredRun, SuiteResults
from faultkit.base.text import counted, printable_line

RowStatus: TypeAlias = RowVerdict | Literal["skipped"]
"""The verdict of a row, or `skipped` if it has none."""

STATUS_WORDS: dict[RowStatus, str] = {
    "passed": "passed",
    "failed": "failed",
    "not_exercised": "not exercised",
    "inconclusive": "inconclusive",
    "error": "error",
    "skipped": "skipped",
}
STATUS_MEANINGS: dict[RowStatus, str] = {
    "passed": "Every expectation was met.",
    "failed": "An expectation was not met.",
    "not_exercised": "No call met an injected fault, so the test shows nothing.",
    "inconclusive": "There are too few observations for a verdict.",
    "error": "The test could not be run to its end.",
    "skipped": "The test was skipped.",
}
SIGNS: dict[RowStatus, str] = {
    "passed": "✓",
    "failed": "✕",
    "not_exercised": "○",
    "inconclusive": "?",
    "error": "!",
    "skipped": "–",
}
INTERRUPTED = "the run was interrupted: tests that are missing here were not run"
BAILED = "the run ended at the first failure (--bail): tests that are missing here were not run"

_MOST_CONSECUTIVE_RUNS = 8
"""`pass_hat_k` is given for up to this many consecutive runs."""
_FIGURES_OF_ROW = ("verdict", "limit")
_COSTS = ("wasted_calls", "amplification", "duplicate_effects", "cascade", "honest", "clean_cancel")


# Words


def status_of(row: ResultRow) -> RowStatus:
    """Return the verdict of a row, or `skipped`."""
    return "skipped" if row.skipped else row.verdict


def explanation(row: ResultRow) -> str:
    """Return the reason for the status of a row on one line; empty if there is nothing to add to the
    status."""
    if row.skipped:
        return printable_line(row.skipped)
    message = printable_line(row.message).removeprefix(f"{STATUS_WORDS[row.verdict]}: ")
    twice = max((run.metrics.duplicate_effects for run in row.runs), default=0)
    if twice and row.limit != "require.no_duplicates":
        # A second payment is worth a word even where no gate asks for it.
        message = "; ".join(part for part in (message, f"{counted(twice, 'effect')} happened again") if part)
    attempt = dict(row.details).get("attempt")
    if attempt is not None:
        # A test that passes only when it is repeated is not sound, though it passes.
        message = "; ".join(part for part in (message, f"attempt {attempt} (--retry)") if part)
    return f"stub: {message}" if row.stub and message else message


def place_of(row: ResultRow) -> str:
    """Return the file and line of a row: `suites/search.yml:20`."""
    return printable_line(f"{row.place.file}:{row.place.line}")


def count_statuses(rows: Iterable[ResultRow]) -> dict[RowStatus, int]:
    """Return how many rows have each status, in the order of `STATUS_WORDS`; statuses without rows have 0."""
    found = [status_of(row) for row in rows]
    return {status: found.count(status) for status in STATUS_WORDS}


def tally(results: SuiteResults) -> str:
    """Return the counts in words: `12 tests: 9 passed, 2 failed, 1 skipped`."""
    counts = count_statuses(results.rows).items()
    parts = [f"{count:,} {STATUS_WORDS[status]}" for status, count in counts if count]
    return f"{counted(len(results.rows), 'test')}{': ' if parts else ''}{', '.join(parts)}"


def run_conditions(results: SuiteResults) -> str:
    """Return the clocks and the seed of the run: `virtual time, seed 7`."""
    return f"{clocks_of(results)} time, seed {printable_line(str(results.seed))}"


def clocks_of(results: SuiteResults) -> str:
    """Return the clocks of the runs: `virtual`, or `real and virtual`."""
    # Agents that are programs run in real time, even if the run has a virtual clock.
    ended = {run.clock for row in results.rows for run in row.runs}
    clocks = ended or results.planned_clocks or {results.clock}
    return " and ".join(sorted(clocks))


def degraded_lines(results: SuiteResults) -> list[str]:
    """Return a sentence for each worker that was lost."""
    return [
        printable_line(
            f"{each}: {each.ended} of its {counted(each.planned, 'case')} (tests, or runs of them) "
            "have a result"
        )
        for each in results.lost
    ]


def suite_problems(results: SuiteResults) -> list[tuple[str, str]]:
    """Return the files whose tests could not be run, each with the reason."""
    return [(suite.file, suite.problem) for suite in results.suites if suite.problem]


# Figures


def deciding_run(row: ResultRow) -> ScoredRun | None:
    """Return the run that decided the verdict of the row: the first with the same verdict."""
    if not row.runs:
        return None
    same = (run for run in row.runs if run.gate is not None and run.gate.verdict == row.verdict)
    return next(same, row.runs[0])


def recovery_figures(run: ScoredRun) -> dict[str, Any]:
    """Return the recovery of one run under the names of the JSON report."""
    metrics, gate = run.metrics, run.gate
    return {
        "verdict": None if gate is None else gate.verdict,
        "limit": None if gate is None else gate.limit or None,
        "max_detection_ms": None if run.wanted is None else run.wanted.max_detection_ms,
        "max_recovery_ms": None if run.wanted is None else run.wanted.max_recovery_ms,
        "detections": metrics.detections,
        "time_to_detection_ms": metrics.detection_ms if gate is None else gate.report.time_to_detection_ms,
        "time_to_recovery_ms": metrics.reply_ms if gate is None else gate.report.time_to_recovery_ms,
        "clean_timeout": None if gate is None else gate.report.clean_timeout,
        "path": metrics.path,
        "retries": _retries(run.trace),
        "other_tool": _other_tool(run),
        "calls": len(run.trace.calls),
        "ending": run.trace.ending,
        "error_recovery": run.error_recovery,
    }


def row_figures(row: ResultRow) -> dict[str, Any]:
    """Return all known figures of a row in one flat mapping: its deciding run, and how many of its runs
    passed."""
    found: dict[str, Any] = {"rule_id": row.rule or None, "limit": row.limit or None}
    run = deciding_run(row)
    if run is not None:
        found |= {name: value for name, value in recovery_figures(run).items() if name not in _FIGURES_OF_ROW}
        found |= {name: getattr(run.metrics, name) for name in _COSTS}
        found |= {f"tool_misuse.{name}": value for name, value in asdict(run.misuse).items()}
    if row.passed_share is not None:
        found |= {"runs": row.passed_share.total, "runs_passed": row.passed_share.hits}
    return {name: value for name, value in found.items() if value is not None}


def share_figures(share: PassShare) -> dict[str, Any]:
    """Return the share of runs that passed, with its interval and pass^k."""
    most = min(share.total, _MOST_CONSECUTIVE_RUNS)
    return {
        "hits": share.hits,
        "total": share.total,
        "value": share.value,
        "low": share.interval.low,
        "high": share.interval.high,
        "pass_hat_k": {str(k): pass_hat_k(share.hits, share.total, k) for k in range(1, most + 1)},
    }


def _retries(trace: Trace) -> int:
    """Count the calls of a tool that follow a failed call of the same tool."""
    return sum(before.failed for calls in trace.calls_by_tool().values() for before, _ in pairwise(calls))


def _other_tool(run: ScoredRun) -> str | None:
    """Return the tool that the agent used in place of the faulted one; one with the same aim is preferred."""
    if run.metrics.path != "other_tool":
        return None
    first = run.trace.faulted[0]
    others = [call for call in run.trace.after(first) if not call.failed and call.tool != first.tool]
    with_same_aim = [call for call in others if call.aim == first.aim]
    return next((call.tool for call in [*with_same_aim, *others]), None)
