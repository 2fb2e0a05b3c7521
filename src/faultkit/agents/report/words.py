"""The words that all reporters share: what a row is called, how many there are of each, where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from faultkit.agents.gate import Verdict
from faultkit.agents.result import Results, Row
from faultkit.base.figures import counted
from faultkit.base.numerals import flat

Shown: TypeAlias = Verdict | Literal["skipped"]
"""A verdict, or that there is none."""

WORDS: dict[Shown, str] = {
    "passed": "passed",
    "failed": "failed",
    "not_exercised": "not exercised",
    "inconclusive": "inconclusive",
    "error": "error",
    "skipped": "skipped",
}
MEANINGS: dict[Shown, str] = {
    "passed": "Everything that was asked for held.",
    "failed": "Something that was asked for did not hold.",
    "not_exercised": "No call met an injected fault, so nothing was shown.",
    "inconclusive": "What was seen is too little to tell.",
    "error": "The test could not be run to its end.",
    "skipped": "The test was left out.",
}
INTERRUPTED = "the run was interrupted: what is missing here was not run"
BAILED = "the run ended at the first failure (--bail): what is missing here was not run"


def shown(row: Row) -> Shown:
    return "skipped" if row.skipped else row.verdict


def told(row: Row) -> str:
    """What there is to say beside the verdict, on one line."""
    if row.skipped:
        return flat(row.skipped)
    message = flat(row.message).removeprefix(f"{WORDS[row.verdict]}: ")
    return f"stub: {message}" if row.stub and message else message


def visible(text: str) -> str:
    """Text of many lines without what could steer a terminal or turn the direction of the text."""
    return "".join(char if char.isprintable() or char in "\t\n" else "\ufffd" for char in text)


def where(row: Row) -> str:
    return flat(f"{row.place.file}:{row.place.line}")


def counts(rows: Iterable[Row]) -> dict[Shown, int]:
    """All of them, in the order of WORDS."""
    found = [shown(row) for row in rows]
    return {verdict: found.count(verdict) for verdict in WORDS}


def tally(results: Results) -> str:
    """`12 tests: 9 passed, 2 failed, 1 skipped`."""
    parts = [f"{count:,} {WORDS[verdict]}" for verdict, count in counts(results.rows).items() if count]
    return f"{counted(len(results.rows), 'test')}{': ' if parts else ''}{', '.join(parts)}"


def circumstances(results: Results) -> str:
    # Programs run in real time, whatever the others do.
    clocks = {run.clock for row in results.rows for run in row.runs} or {results.clock}
    return f"{' and '.join(sorted(clocks))} time, seed {flat(str(results.seed))}"


def problems(results: Results) -> list[tuple[str, str]]:
    """Files with what kept their tests from being run."""
    return [(suite.file, suite.problem) for suite in results.suites if suite.problem]
