"""The HTML report: one page that needs nothing else. No script, no font, no request; it prints, and it fits a
phone. The same report gives the same page.

Here is what stands on it: the verdict at a glance, the overview. An item is `faultkit.scenario.report.card`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from faultkit.base.figures import counted, duration, share
from faultkit.base.numerals import second
from faultkit.report.bars import stacked_bar
from faultkit.report.markup import Markup, element
from faultkit.report.page import page
from faultkit.report.tables import badge, percentile, table, url, verdict_class
from faultkit.scenario.report.baseline import baselines_warning
from faultkit.scenario.report.card import card
from faultkit.scenario.report.model import Item, Report, Scenario, Verdict
from faultkit.scenario.report.phrases import VERDICTS
from faultkit.scenario.report.review import review

_MANY = 12
"""From so many items on, those that passed are folded up."""


def render_html(report: Report) -> str:
    return page(f"{_title(report)} · {_headline(report)}", report.tool, _body(report))


def _body(report: Report) -> Iterator[Markup | None]:
    yield _top(report)
    if report.partial is not None:
        yield element(
            "p",
            element("strong", "This report is partial. "),
            report.partial,
            class_="callout warn",
            role="note",
        )
    if (ill := baselines_warning(report)) is not None:
        yield element("p", element("strong", "Warning. "), ill, class_="callout warn", role="note")
    if len(report.items) > 1:
        yield _overview(report)
    yield element("main", *_sections(report))
    yield element(
        "footer",
        f"Made by {report.tool}. Response times count from the intended start of a request, queueing "
        "included; "
        "service times from its send. Percentiles by the R-6 definition; confidence is 95 %.",
    )


# The verdict at a glance


def _top(report: Report) -> Markup:
    facts = [
        ("Started", _when(report.started_at)),
        ("Ended", _when(report.ended_at)),
        ("Seed", str(report.seed)),
    ]
    return element(
        "header",
        element("p", "Faultkit", element("span", " resilience report"), class_="brand"),
        element("h1", _title(report)),
        element(
            "div",
            element("p", _headline(report), class_=f"headline {_mood(report)}"),
            _chips(report) if len(report.items) > 1 else None,
            class_="glance",
        ),
        _verdict_bar(report),
        element(
            "dl",
            *(element("div", element("dt", name), element("dd", value)) for name, value in facts),
            class_="facts",
        ),
        class_="top",
    )


def _title(report: Report) -> str:
    if len(report.scenarios) == 1:
        return report.scenarios[0].title
    return f"{counted(len(report.scenarios), 'scenario')}, {counted(len(report.items), 'item')}"


def _headline(report: Report) -> str:
    total = len(report.items)
    verdicts = Counter(item.verdict for item in report.items)
    if not total:
        return "Nothing was run"
    if verdicts["failed"]:
        return "Failed" if total == 1 else f"{verdicts['failed']:,} of {total:,} failed"
    if verdicts["passed"] == total:
        return "Passed" if total == 1 else f"All {total:,} passed"
    if total == 1:
        return VERDICTS[report.items[0].verdict]
    return f"{verdicts['passed']:,} of {total:,} passed"


def _mood(report: Report) -> str:
    verdicts = {item.verdict for item in report.items}
    if "failed" in verdicts:
        return "failed"
    return "passed" if report.held and verdicts else "inconclusive"


def _counts(report: Report) -> list[tuple[Verdict, int]]:
    verdicts = Counter(item.verdict for item in report.items)
    return [(verdict, verdicts[verdict]) for verdict in VERDICTS if verdicts[verdict]]


def _chips(report: Report) -> Markup:
    return element(
        "ul",
        *(
            element("li", element("b", f"{count:,}"), f" {verdict}", class_=verdict_class(verdict))
            for verdict, count in _counts(report)
        ),
        class_="chips",
    )


def _verdict_bar(report: Report) -> Markup | None:
    counts = _counts(report)
    if not counts:
        return None
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts)
    return stacked_bar(
        [(verdict_class(verdict), VERDICTS[verdict], count) for verdict, count in counts], f"Verdicts: {said}"
    )


def _when(iso: str) -> str:
    text = second(iso)
    return iso if text == iso else f"{text.replace('T', ' ')} UTC"


# Overview


def _overview(report: Report) -> Markup:
    rows: list[tuple[str, ...]] = []
    number = 0
    for scenario in report.scenarios:
        if len(report.scenarios) > 1:
            rows.append((_spanning(scenario.title),))
        for item in scenario.items:
            number += 1
            rows.append(_overview_row(number, item))
    heads = ("Verdict", "Call", "Faults", "Requests", "Errors", "p50", "p95", "SLOs kept")
    return element(
        "nav",
        element("h2", "Overview"),
        table(heads, rows, "Overview of all items", numeric=(3, 4, 5, 6, 7), kind="overview"),
        aria_label="Items",
    )


def _spanning(title: str) -> Markup:
    return element("th", title, colspan=8, scope="rowgroup", class_="group")


def _overview_row(number: int, item: Item) -> tuple[str, ...]:
    judged = [result for result in item.slos if result.passed is not None]
    call = element(
        "a",
        element("code", item.call.method, class_="method"),
        " ",
        url(item.call.url),
        href=f"#item-{number}",
    )
    return (
        badge(item.verdict),
        call,
        ", ".join(dict.fromkeys(fault.written for fault in item.faults)) or "none",
        f"{item.run.requests:,}",
        share(item.run.errors, item.run.requests),
        _at(item, 50),
        _at(item, 95),
        f"{sum(result.passed is True for result in judged)} of {len(judged)}" if judged else "–",
    )


def _at(item: Item, percent: float) -> str:
    found = percentile(item.run.response, percent)
    return duration(found.ms) if found else "–"


# Scenarios


def _sections(report: Report) -> Iterator[Markup]:
    said = review(report)
    fold = len(report.items) >= _MANY
    number = 0
    for scenario in report.scenarios:
        cards = []
        for item in scenario.items:
            number += 1
            folded = fold and item.verdict == "passed"
            cards.append(card(number, item, said.of_item(number), folded))
        yield _scenario(scenario, cards, alone=len(report.scenarios) == 1)
    if not report.scenarios:
        yield element("p", "There is no scenario in this report.", class_="empty")


def _scenario(scenario: Scenario, cards: list[Markup], alone: bool) -> Markup:
    source = f"{scenario.file}, document {scenario.document}" if scenario.file else None
    return element(
        "section",
        element("h2", "Items" if alone else scenario.title),
        element("p", scenario.description, class_="description") if scenario.description else None,
        element("p", source, class_="source") if source else None,
        *cards,
        element("p", "This scenario has no items.", class_="empty") if not cards else None,
        class_="scenario",
    )
