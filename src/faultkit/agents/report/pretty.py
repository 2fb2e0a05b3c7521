"""Results as plain text for a terminal: a line for each row as it comes, what fails with its reasons, a sum.

Without colours: whoever prints a line knows by `shown(row)` which one it gets.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.agents.report.numbers import decisive, recovery_numbers
from faultkit.agents.report.words import (
    BAILED,
    INTERRUPTED,
    WORDS,
    circumstances,
    problems,
    shown,
    tally,
    told,
    where,
)
from faultkit.agents.result import Results, Row
from faultkit.base.figures import counted, duration
from faultkit.base.numerals import flat

SIGNS = {
    "passed": "✓",
    "failed": "✕",
    "not_exercised": "○",
    "inconclusive": "?",
    "error": "!",
    "skipped": "–",
}
_WORD = max(map(len, WORDS.values()))
_INDENT = " " * (_WORD + 3)


def render_pretty(results: Results) -> str:
    parts = []
    for suite in results.suites:
        parts.append(flat(suite.file))
        parts += [line for row in suite.rows for line in row_lines(row)]
        parts.append("")
    return "\n".join([*parts, *summary_lines(results)]) + "\n"


def render_quiet(results: Results) -> str:
    """Only what fails, each on one line; nothing if nothing does."""
    lines = [f"{where(row)}: {WORDS[shown(row)]}: {flat(row.name)}: {told(row)}" for row in _failing(results)]
    lines += [f"{flat(file)}: error: {flat(problem)}" for file, problem in problems(results)]
    lines += [INTERRUPTED] if results.interrupted else []
    return "".join(f"{line}\n" for line in lines)


def row_line(row: Row) -> str:
    """`✓ passed         search hangs (recovery): recovered in 3000 ms …`."""
    verdict = shown(row)
    message = told(row)
    return f"{SIGNS[verdict]} {WORDS[verdict]:<{_WORD}} {flat(row.name)}{f': {message}' if message else ''}"


def row_lines(row: Row) -> list[str]:
    """With the reasons below it, if it fails."""
    return [row_line(row), *(f"{_INDENT}{line}" for line in _reasons(row))]


def summary_lines(results: Results) -> list[str]:
    lines = [f"{flat(file)}: {flat(problem)}" for file, problem in problems(results)]
    lines += [INTERRUPTED] if results.interrupted else []
    lines += [BAILED] if results.bailed else []
    took = "" if results.duration_ms is None else f" in {duration(results.duration_ms)}"
    return [*lines, f"{tally(results)}{took} ({circumstances(results)})"]


def _failing(results: Results) -> Iterator[Row]:
    return (row for row in results.rows if row.fails)


def _reasons(row: Row) -> Iterator[str]:
    if not row.fails:
        return
    yield f"at {where(row)}"
    if row.limit:
        yield f"limit {flat(row.limit)}"
    run = decisive(row)
    if run is not None:
        found = recovery_numbers(run)
        figures = (
            counted(found["calls"], "call"),
            counted(found["detections"], "detection"),
            counted(found["retries"], "retry", "retries"),
            f"path {found['path']}",
            f"ended by {found['ending']}",
        )
        yield ", ".join(figures)
    yield from (f"| {flat(line)}" for line in row.diff.splitlines())
