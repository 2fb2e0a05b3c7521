"""The map of two settings: which pairs of values hold, which are broken, and the frontier between them.

A pair has its decision as a sign besides its colour. Columns are shares of the width and rows are pixels, as
in all charts.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from faultkit.base.numbers import percentage, shortest
from faultkit.base.text import counted
from faultkit.load.search.share_evidence import Decision
from faultkit.report.markup import Markup, element, join_markup, percent
from faultkit.report.svg import AXIS_PX, figure, plot, ticks_below
from faultkit.scenario.report.frontier_model import FrontierPair, FrontierReport
from faultkit.scenario.report.frontier_wording import axis_title, edge_rows, frontier_sentence, pair_values

_ROW_PX = 28
_TITLE_PX = 20
"""The room of the title of an axis."""
_SIGNS: dict[Decision, str] = {"held": "✓", "broken": "✕", "undecided": "?"}
_LABELS: dict[Decision, str] = {"held": "held", "broken": "broken", "undecided": "undecided"}


def frontier_chart(frontier: FrontierReport) -> Markup:
    """Draw the map: the first setting from left to right, the second one upwards, both from harmless to
    harmful."""
    columns, rows = len(frontier.first.values), len(frontier.second.values)
    tall = rows * _ROW_PX
    drawn = [
        *(
            _cell(frontier, pair, column, row)
            for column, pairs in enumerate(frontier.rows())
            for row, pair in enumerate(pairs)
        ),
        *_edges(frontier, "held"),
        *_edges(frontier, "broken"),
        join_markup(_ticks_left(frontier)),
        ticks_below(
            [
                ((number + 0.5) / columns, shortest(value))
                for number, value in enumerate(frontier.first.values)
            ],
            _TITLE_PX + tall,
        ),
        _title(axis_title(frontier.second) + " ↑", x="-46", y=_TITLE_PX - 8),
        _title(axis_title(frontier.first) + " →", x="100%", y=_TITLE_PX + tall + 38, text_anchor="end"),
    ]
    spoken = " ".join([frontier_sentence(frontier), *_spoken_edges(frontier)])
    title = "Pairs that hold and pairs that are broken"
    return figure(title, _keys(frontier), plot(drawn, tall + AXIS_PX + 2 * _TITLE_PX, spoken))


def _keys(frontier: FrontierReport) -> list[tuple[str, str]]:
    present = {pair.decision for pair in frontier.pairs}
    keys = [(f"cell {each}", label) for each, label in _LABELS.items() if each in present]
    if len(present) > 1:
        keys.append(("edge", "frontier: it breaks here, or between two such lines"))
    return [*keys, ("cell faint", "pale: not measured; a decision follows from others")]


def _spoken_edges(frontier: FrontierReport) -> Iterator[str]:
    for value, held, broken in edge_rows(frontier):
        yield f"At {value}: holds up to {held}, broken from {broken}."


def _title(text: str, **place: str | float) -> Markup:
    return element("text", text, class_="name", **place)


def _ticks_left(frontier: FrontierReport) -> Iterator[Markup]:
    for number, value in enumerate(frontier.second.values):
        y = _top(frontier, number) + _ROW_PX / 2
        yield element("text", shortest(value), class_="tick", x=-8, y=y, dy=".32em", text_anchor="end")


def _top(frontier: FrontierReport, row: int) -> float:
    """Return the upper edge of a row, which count from the bottom."""
    return _TITLE_PX + (len(frontier.second.values) - 1 - row) * _ROW_PX


def _cell(frontier: FrontierReport, pair: FrontierPair, column: int, row: int) -> Markup:
    width, top = 1 / len(frontier.first.values), _top(frontier, row)
    seen = "" if pair.requests else " faint"
    return element(
        "g",
        element("title", _spoken(frontier, pair)),
        element(
            "rect",
            class_=f"cell {pair.decision}",
            x=percent(column * width),
            y=top,
            width=percent(width),
            height=_ROW_PX,
        ),
        element(
            "text",
            _SIGNS[pair.decision],
            class_=f"sign {pair.decision}{seen}",
            x=percent((column + 0.5) * width),
            y=top + _ROW_PX / 2,
            dy=".35em",
            text_anchor="middle",
        ),
    )


def _spoken(frontier: FrontierReport, pair: FrontierPair) -> str:
    at = f"{pair_values(frontier, pair)}: {pair.decision}"
    if pair.requests:
        good = percentage(100 * pair.good / pair.requests)
        return f"{at}, {good} of {counted(pair.requests, 'request')} good"
    return f"{at}, not measured" if pair.decision == "undecided" else f"{at}, follows from other pairs"


def _edges(frontier: FrontierReport, decision: Decision) -> Iterator[Markup]:
    """Yield lines along the border of the pairs that have a decision."""
    width = 1 / len(frontier.first.values)
    inside = [[pair.decision == decision for pair in pairs] for pairs in frontier.rows()]
    for column, pairs in enumerate(inside):
        for row, (below, above) in enumerate(pairwise(pairs)):
            if below != above:
                y = _top(frontier, row)
                yield _edge(percent(column * width), percent((column + 1) * width), y, y)
    for column, (left, right) in enumerate(pairwise(inside)):
        for row, (here, there) in enumerate(zip(left, right, strict=True)):
            if here != there:
                x, top = percent((column + 1) * width), _top(frontier, row)
                yield _edge(x, x, top, top + _ROW_PX)


def _edge(x1: str, x2: str, y1: float, y2: float) -> Markup:
    return element("line", class_="edge", x1=x1, x2=x2, y1=y1, y2=y2)
