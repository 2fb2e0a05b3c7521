"""Parts that charts share: the frame with its legend, the grid, ticks, lines that stretch.

Widths are shares of the room there is and heights are pixels, so that a chart fits a phone and a poster
while its text keeps its size. Lines live in a nested `svg` that stretches; their strokes do not.
Colours are classes of the style sheet, which knows light, dark and paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from faultkit.base.figures import tick
from faultkit.report.axis import Axis
from faultkit.report.markup import Markup, element, joined, number, percent

PLOT_PX = 200
AXIS_PX = 26
_STRETCH = 1000
"""Width of a stretched drawing in its own units."""

Point: TypeAlias = tuple[float, float]
"""Shares from 0 to 1, the second one upwards."""


def figure(title: str, keys: Sequence[tuple[str, str]], drawing: Markup) -> Markup:
    legend = [element("li", element("i", class_=f"key {kind}"), label) for kind, label in keys]
    return element(
        "figure",
        element("figcaption", title),
        element("ul", *legend, class_="legend"),
        drawing,
        class_="chart",
    )


def plot(drawn: Iterable[Markup | None], height: float, said: str, kind: str = "plot") -> Markup:
    svg = element("svg", *drawn, class_="drawing", role="img", aria_label=said, width="100%", height=height)
    return element("div", svg, class_=kind)


def height_px(share: float, tall: float = PLOT_PX) -> float:
    return round(tall * (1 - share), 2)


def grid(up: Axis, tall: float = PLOT_PX) -> Markup:
    return joined(
        joined(
            [
                element("line", class_="grid", x1=0, x2="100%", y1=y, y2=y),
                element("text", tick(value), class_="tick", x=-8, y=y, dy=".32em", text_anchor="end"),
            ]
        )
        for value, y in ((value, height_px(up.at(value), tall)) for value in up.ticks)
    )


def ticks_below(marks: Iterable[tuple[float, str]], foot: float, room: bool = False) -> Markup:
    """`room`: there is some beyond the right end."""
    return joined(
        element(
            "text",
            label,
            class_="tick",
            x=percent(x),
            y=foot + 18,
            text_anchor="end" if x > 0.97 and not room else "middle",
        )
        for x, label in marks
    )


def stretched(drawn: Iterable[Markup | None], tall: float = PLOT_PX) -> Markup | None:
    """Lines in the units of `path`, drawn as wide as there is room and as tall as said."""
    lines = [line for line in drawn if line]
    if not lines:
        return None
    return element(
        "svg",
        *lines,
        viewBox=f"0 0 {_STRETCH} {PLOT_PX}",
        preserveAspectRatio="none",
        width="100%",
        height=tall,
    )


def path(rows: Sequence[Sequence[Point]], kind: str) -> Markup | None:
    drawn = "".join(_steps(row, "M") for row in rows if len(row) > 1)
    return element("path", class_=f"line {kind}", d=drawn) if drawn else None


def band(lower: Sequence[Sequence[Point]], upper: Sequence[Sequence[Point]], kind: str) -> Markup | None:
    drawn = "".join(
        _steps(below, "M") + _steps(list(reversed(above)), "L") + "Z"
        for below, above in zip(lower, upper, strict=True)
        if len(below) > 1
    )
    return element("path", class_=f"band {kind}", d=drawn) if drawn else None


def _steps(row: Sequence[Point], first: str) -> str:
    spots = [f"{number(_STRETCH * x)} {number(height_px(y))}" for x, y in row]
    return first + "L".join(spots)


def lone_dots(rows: Sequence[Sequence[Point]], kind: str) -> Markup:
    """A single point makes no line."""
    return joined(
        element("circle", class_=f"dot {kind}", cx=percent(x), cy=height_px(y), r=4)
        for row in rows
        if len(row) == 1
        for x, y in row
    )
