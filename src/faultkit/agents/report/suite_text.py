"""Results of suites as plain text for a terminal, and as Markdown for a comment or the summary of a CI job.

The text has no colours: the command that prints a line chooses one by the status of its row.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.agents.report.row_facts import (
    BAILED,
    INTERRUPTED,
    SIGNS,
    STATUS_WORDS,
    deciding_run,
    degraded_lines,
    explanation,
    place_of,
    recovery_figures,
    run_conditions,
    status_of,
    suite_problems,
    tally,
)
from faultkit.agents.suite.results import ResultRow, SuiteResults
from faultkit.base.numbers import NO_NUMBER, duration, value_text
from faultkit.base.text import counted, printable_line, printable_lines
from faultkit.report import markdown

_WORD_WIDTH = max(map(len, STATUS_WORDS.values()))
_INDENT = " " * (_WORD_WIDTH + 3)
_HEADS = ("", "test", "recovery (ms)", "detections", "retries", "path", "calls")
_NUMERIC = (2, 3, 4, 6)


# Plain text


def render_pretty(results: SuiteResults) -> str:
    """Return a line for each row, the reasons below those that fail, and a summary."""
    parts = []
    for suite in results.suites:
        parts.append(printable_line(suite.file))
        parts += [line for row in suite.rows for line in row_lines(row)]
        parts.append("")
    return "\n".join([*parts, *summary_lines(results)]) + "\n"


def render_quiet(results: SuiteResults) -> str:
    """Return one line for each row that fails; nothing if none does."""
    lines = [
        f"{place_of(row)}: {STATUS_WORDS[status_of(row)]}: {printable_line(row.name)}: {explanation(row)}"
        for row in results.rows
        if row.fails
    ]
    lines += [
        f"{printable_line(file)}: error: {printable_line(problem)}"
        for file, problem in suite_problems(results)
    ]
    lines += [INTERRUPTED] if results.interrupted else []
    lines += [f"degraded: {line}" for line in degraded_lines(results)]
    return "".join(f"{line}\n" for line in lines)


def row_line(row: ResultRow) -> str:
    """Return one row on one line: `✓ passed         search hangs (recovery): recovered in 3000 ms …`."""
    status, reason = status_of(row), explanation(row)
    name = f"{printable_line(row.name)}{f': {reason}' if reason else ''}"
    return f"{SIGNS[status]} {STATUS_WORDS[status]:<{_WORD_WIDTH}} {name}"


def row_lines(row: ResultRow) -> list[str]:
    """Return the line of a row and, if it fails, the reasons below it."""
    return [row_line(row), *(f"{_INDENT}{line}" for line in _reasons(row))]


def summary_lines(results: SuiteResults) -> list[str]:
    """Return the lines that end a run: problems of suites, why tests are missing, and the tally."""
    lines = [
        f"{printable_line(file)}: {printable_line(problem)}" for file, problem in suite_problems(results)
    ]
    lines += [INTERRUPTED] if results.interrupted else []
    lines += [BAILED] if results.bailed else []
    lines += [f"degraded: {line}" for line in degraded_lines(results)]
    took = "" if results.duration_ms is None else f" in {duration(results.duration_ms)}"
    return [*lines, f"{tally(results)}{took} ({run_conditions(results)})"]


def _reasons(row: ResultRow) -> Iterator[str]:
    if not row.fails:
        return
    yield f"at {place_of(row)}"
    if row.limit:
        yield f"limit {printable_line(row.limit)}"
    run = deciding_run(row)
    if run is not None:
        found = recovery_figures(run)
        figures = (
            counted(found["calls"], "call"),
            counted(found["detections"], "detection"),
            counted(found["retries"], "retry", "retries"),
            f"path {found['path']}",
            f"ended by {found['ending']}",
        )
        yield ", ".join(figures)
    yield from (f"| {printable_line(line)}" for line in row.diff.splitlines())


# Markdown


def render_markdown(results: SuiteResults) -> str:
    """Return a table of all rows for each suite, then the rows that fail with their reasons."""
    lines = ["# Suites", "", f"**{tally(results)}** ({escaped(run_conditions(results))})", ""]
    if results.interrupted:
        lines += [f"> **Interrupted**: {INTERRUPTED}", ""]
    for line in degraded_lines(results):
        lines += [f"> **Degraded**: {escaped(line)}", ""]
    for file, problem in suite_problems(results):
        lines += [f"> **{escaped(file)}**: {escaped(problem)}", ""]
    for suite in results.suites:
        if suite.rows:
            table = markdown.table_lines(_HEADS, [_cells(row) for row in suite.rows], _NUMERIC)
            lines += [f"## {escaped(suite.file)}", "", *table, ""]
    searched = [(row.name, row.breaking_point["sentence"]) for row in results.rows if row.breaking_point]
    if searched:
        lines += ["## Breaking points", ""]
        lines += [*markdown.bullets(f"{escaped(name)}: {escaped(found)}" for name, found in searched), ""]
    failing = [row for row in results.rows if row.fails]
    if failing:
        lines += ["## What failed", ""]
        lines += [line for row in failing for line in (*_failure(row), "")]
    return "\n".join(lines)


def _cells(row: ResultRow) -> list[str]:
    status = status_of(row)
    begin = [f"{SIGNS[status]} {STATUS_WORDS[status]}", escaped(row.name)]
    run = deciding_run(row)
    if run is None:
        return begin + [NO_NUMBER] * (len(_HEADS) - len(begin))
    found = recovery_figures(run)
    names = ("time_to_recovery_ms", "detections", "retries", "path", "calls")
    return begin + [escaped(value_text(found[name])) or NO_NUMBER for name in names]


def _failure(row: ResultRow) -> Iterator[str]:
    word = STATUS_WORDS[status_of(row)]
    yield f"### {SIGNS[status_of(row)]} {escaped(row.name)}"
    yield ""
    yield escaped(explanation(row)) or word
    yield ""
    facts = [("verdict", word), ("at", place_of(row)), ("limit", row.limit), ("rule", row.rule)]
    yield " · ".join(f"{name} {escaped(value)}" for name, value in facts if value)
    if row.diff:
        yield ""
        yield from markdown.code_block(printable_lines(row.diff), "diff")


def escaped(text: str) -> str:
    """Return text that Markdown does not interpret, and in which `@name` notifies no user of a code host."""
    return markdown.escape(text).replace("@", "@\u200b")
