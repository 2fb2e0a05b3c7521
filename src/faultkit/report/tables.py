"""Tables of the HTML report, and the small marks in them. A wide table scrolls in a box of its own."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from faultkit.load.summary import Distribution, Percentile
from faultkit.report.markup import Markup, element
from faultkit.scenario.report.model import Verdict
from faultkit.scenario.report.phrases import VERDICTS

_SIGNS: dict[Verdict, str] = {
    "passed": "✓",
    "failed": "✕",
    "inconclusive": "?",
    "not exercised": "○",
    "unfinished": "…",
}


def verdict_class(verdict: Verdict) -> str:
    return verdict.replace(" ", "-")


def badge(verdict: Verdict) -> Markup:
    """A sign beside the word: colour alone tells some readers nothing."""
    return element(
        "span",
        element("span", _SIGNS[verdict], class_="sign", aria_hidden="true"),
        VERDICTS[verdict],
        class_=f"badge {verdict_class(verdict)}",
    )


def url(text: str) -> Markup:
    """A long one may be broken after a slash."""
    parts = text.split("/")
    pieces = [piece for part in parts[:-1] for piece in (part, "/", element("wbr"))] + [parts[-1]]
    return element("span", *pieces, class_="url")


def met(passed: bool | None) -> Markup:
    words = {True: ("good", "✓", "met"), False: ("bad", "✕", "missed"), None: ("open", "–", "not judged")}
    kind, sign, word = words[passed]
    return element(
        "span",
        element("span", sign, class_="sign", aria_hidden="true"),
        element("span", word, class_="unseen"),
        class_=f"met {kind}",
    )


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    said: str,
    numeric: Container[int] = (),
    kind: str = "",
) -> Markup:
    """Cells are text or markup; one that is a cell already (`<th …`) stands as it is."""
    head = [
        element("th", name, scope="col", class_="n" if index in numeric else None)
        for index, name in enumerate(heads)
    ]
    body = [element("tr", *(_cell(cell, index in numeric) for index, cell in enumerate(row))) for row in rows]
    return element(
        "div",
        element(
            "table", element("thead", element("tr", *head)), element("tbody", *body), class_=kind or None
        ),
        class_="scroll",
        role="region",
        aria_label=said,
        tabindex="0",
    )


def _cell(cell: str, numeric: bool) -> Markup:
    if isinstance(cell, Markup) and cell.startswith("<th"):
        return cell
    return element("td", cell, class_="n" if numeric else None)


def percentile(times: Distribution, percent: float) -> Percentile | None:
    """None if nothing was measured, or this one was not asked for."""
    return next((each for each in times.percentiles if times.count and each.percent == percent), None)
