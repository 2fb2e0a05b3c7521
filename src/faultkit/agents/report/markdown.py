"""Results as Markdown, for a comment or a job's summary: a table of all rows, then what fails and why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from faultkit.agents.report.numbers import decisive, plain, recovery_numbers
from faultkit.agents.report.pretty import SIGNS
from faultkit.agents.report.words import (
    INTERRUPTED,
    WORDS,
    circumstances,
    problems,
    shown,
    tally,
    told,
    visible,
    where,
)
from faultkit.agents.result import Results, Row
from faultkit.base.numerals import NOTHING, flat

_SPECIAL = re.compile(r"[\\`*_\[\]|#~!]")
_HEADS = ("", "test", "recovery (ms)", "detections", "retries", "path", "calls")


def render_markdown(results: Results) -> str:
    lines = ["# Suites", "", f"**{tally(results)}** ({safe(circumstances(results))})", ""]
    if results.interrupted:
        lines += [f"> **Interrupted**: {INTERRUPTED}", ""]
    for file, problem in problems(results):
        lines += [f"> **{safe(file)}**: {safe(problem)}", ""]
    for suite in results.suites:
        if suite.rows:
            lines += [f"## {safe(suite.file)}", "", *_table([_cells(row) for row in suite.rows]), ""]
    failing = [row for row in results.rows if row.fails]
    if failing:
        lines += ["## What failed", ""]
        lines += [line for row in failing for line in (*_failure(row), "")]
    return "\n".join(lines)


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(_HEADS)} |",
        f"|{'---|' * 2}{'---:|' * 3}---|---:|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def _cells(row: Row) -> list[str]:
    verdict = shown(row)
    begin = [f"{SIGNS[verdict]} {WORDS[verdict]}", safe(row.name)]
    run = decisive(row)
    if run is None:
        return begin + [NOTHING] * (len(_HEADS) - len(begin))
    found = recovery_numbers(run)
    names = ("time_to_recovery_ms", "detections", "retries", "path", "calls")
    return begin + [safe(plain(found[name])) or NOTHING for name in names]


def _failure(row: Row) -> Iterator[str]:
    yield f"### {SIGNS[shown(row)]} {safe(row.name)}"
    yield ""
    yield f"{safe(told(row)) or WORDS[shown(row)]}"
    yield ""
    facts = [("verdict", WORDS[shown(row)]), ("at", where(row)), ("limit", row.limit), ("rule", row.rule)]
    yield " · ".join(f"{name} {safe(value)}" for name, value in facts if value)
    if row.diff:
        yield ""
        yield from _fenced(row.diff)


def _fenced(text: str) -> list[str]:
    """Between fences longer than any in the text."""
    longest = max((len(found) for found in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}diff", *visible(text).split("\n"), fence]


def safe(text: str) -> str:
    """On one line, and without what Markdown or HTML would take for its own."""
    told = _SPECIAL.sub(r"\\\g<0>", flat(text))
    return told.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "@\u200b")
