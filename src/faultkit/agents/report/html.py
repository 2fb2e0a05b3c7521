"""Results as one page that needs nothing else: no script, no font, no request.

Here is what stands on it: the sum at a glance, a row for each test. A test's card is `report.card`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faultkit import __version__
from faultkit.agents.report.card import CARD_STYLE, KINDS, badge, card, facts
from faultkit.agents.report.numbers import decisive, recovery_numbers
from faultkit.agents.report.timeline import TIMELINE_STYLE
from faultkit.agents.report.words import INTERRUPTED, WORDS, counts, problems, shown
from faultkit.agents.result import Results, Row
from faultkit.base.figures import NOTHING, counted, duration
from faultkit.base.numerals import flat, second
from faultkit.report.bars import stacked_bar
from faultkit.report.markup import Markup, element
from faultkit.report.page import page
from faultkit.report.tables import table

_MANY = 12
"""From so many tests on, the cards of those that passed are folded up."""
_HEADS = ("Verdict", "Test", "Recovery", "Detections", "Path", "Calls", "Took")


def render_html(results: Results) -> str:
    title = f"{_title(results)} · {_headline(results)}"
    return page(title, f"faultkit {__version__}", _body(results), TIMELINE_STYLE + CARD_STYLE)


def _body(results: Results) -> Iterator[Markup | None]:
    yield _top(results)
    notes = [("Interrupted", INTERRUPTED)] if results.interrupted else []
    for name, text in [*notes, *problems(results)]:
        yield element("p", element("strong", flat(name)), flat(text), class_="callout warn", role="note")
    if results.rows:
        yield _overview(results)
    yield element("main", *_sections(results))
    yield element(
        "footer",
        f"Made by faultkit {__version__}. Times of calls are of the clock that the run had; what a test took "
        "is wall time.",
    )


# The sum at a glance


def _top(results: Results) -> Markup:
    found = [
        ("Started", _when(results.started_at)),
        ("Took", "" if results.duration_ms is None else duration(results.duration_ms)),
        ("Clock", results.clock),
        ("Seed", flat(str(results.seed))),
    ]
    return element(
        "header",
        element("p", "Faultkit", element("span", " suite report"), class_="brand"),
        element("h1", _title(results)),
        element(
            "div",
            element("p", _headline(results), class_=f"headline {_mood(results)}"),
            _chips(results),
            class_="glance",
        ),
        _verdict_bar(results),
        facts([(name, value) for name, value in found if value]),
        class_="top",
    )


def _when(iso: str) -> str:
    text = second(iso)
    return iso if text == iso else f"{text.replace('T', ' ')} UTC"


def _title(results: Results) -> str:
    if len(results.suites) == 1:
        return flat(results.suites[0].file)
    return f"{counted(len(results.suites), 'suite')}, {counted(len(results.rows), 'test')}"


def _headline(results: Results) -> str:
    total, failing = len(results.rows), sum(row.fails for row in results.rows)
    if not total:
        return "Nothing was run"
    if failing:
        return f"{failing:,} of {total:,} failing"
    if not results.ok:
        return "Not all of it was run"
    passed = counts(results.rows)["passed"]
    return f"All {total:,} passed" if passed == total else f"{passed:,} of {total:,} passed"


def _mood(results: Results) -> str:
    if any(row.fails for row in results.rows):
        return "failed"
    return "passed" if results.ok and results.rows else "inconclusive"


def _chips(results: Results) -> Markup:
    return element(
        "ul",
        *(
            element("li", element("b", f"{count:,}"), f" {WORDS[verdict]}", class_=KINDS[verdict])
            for verdict, count in counts(results.rows).items()
            if count
        ),
        class_="chips",
    )


def _verdict_bar(results: Results) -> Markup | None:
    found = [(verdict, count) for verdict, count in counts(results.rows).items() if count]
    if not found:
        return None
    said = ", ".join(f"{count} {WORDS[verdict]}" for verdict, count in found)
    parts = [(KINDS[verdict], WORDS[verdict], count) for verdict, count in found]
    return stacked_bar(parts, f"Verdicts: {said}")


# A row for each test


def _overview(results: Results) -> Markup:
    rows: list[Sequence[str]] = []
    number = 0
    for suite in results.suites:
        if len(results.suites) > 1:
            rows.append(
                (element("th", flat(suite.file), colspan=len(_HEADS), scope="rowgroup", class_="group"),)
            )
        for row in suite.rows:
            number += 1
            rows.append(_overview_row(number, row))
    return element(
        "nav",
        element("h2", "Overview"),
        table(_HEADS, rows, "Overview of all tests", numeric=(2, 3, 5, 6), kind="overview"),
        aria_label="Tests",
    )


def _overview_row(number: int, row: Row) -> Sequence[str]:
    run = decisive(row)
    name = element("a", flat(row.name), href=f"#test-{number}")
    begin, took = (badge(shown(row)), name), duration(row.duration_ms)
    if run is None:
        return (*begin, NOTHING, NOTHING, NOTHING, NOTHING, took)
    found = recovery_numbers(run)
    recovery_ms = found["time_to_recovery_ms"]
    return (
        *begin,
        NOTHING if recovery_ms is None else duration(recovery_ms),
        str(found["detections"]),
        found["path"].replace("_", " "),
        str(found["calls"]),
        took,
    )


def _sections(results: Results) -> Iterator[Markup]:
    fold = len(results.rows) >= _MANY
    number = 0
    for suite in results.suites:
        cards = []
        for row in suite.rows:
            number += 1
            cards.append(card(number, row, folded=not row.fails and (fold or not row.runs)))
        title = "Tests" if len(results.suites) == 1 else flat(suite.file)
        empty = None if cards else element("p", "No test of this suite was run.", class_="empty")
        yield element("section", element("h2", title), *cards, empty, class_="scenario")
