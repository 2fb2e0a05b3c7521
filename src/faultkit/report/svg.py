"""Parts of charts as SVG: frame and legend, grid and ticks, lines that stretch, and small bars for table
cells.

Widths are shares of the available room and heights are pixels, so that a chart fits a phone and a poster
while its text keeps its size. Lines are in a nested `svg` that stretches; their strokes do not. Colours are
classes of the style sheet, which has light, dark and print. Own code instead of a chart library: the page
needs no script, follows the reader's colour scheme, and stays a few kilobytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from faultkit.base.numbers import share_of, tick
from faultkit.report.axis import Axis
from faultkit.report.markup import Markup, element, join_markup, number, percent

PLOT_PX = 200
AXIS_PX = 26
_STRETCH = 1000
"""The width of a stretch drawing in its own units."""

Point: TypeAlias = tuple[float, float]
"""Shares from 0 to 1: from left to right, and from the bottom up."""


def figure(title: str, keys: Sequence[tuple[str, str]], drawing: Markup) -> Markup:
    """Return a drawing under its title and legend; a key is a class of the style sheet and a label."""
    legend = [element("li", element("i", class_=f"key {kind}"), label) for kind, label in keys]
    return element(
        "figure",
        element("figcaption", title),
        element("ul", *legend, class_="legend"),
        drawing,
        class_="chart",
    )


def plot(drawn: Iterable[Markup | None], height: float, label: str, kind: str = "plot") -> Markup:
    """Return the frame of a chart; `label` is the chart in words, for screen readers."""
    svg = element("svg", *drawn, class_="drawing", role="img", aria_label=label, width="100%", height=height)
    return element("div", svg, class_=kind)


def height_px(share: float, tall: float = PLOT_PX) -> float:
    """Return the distance from the top of a share of the height, which counts from the bottom."""
    return round(tall * (1 - share), 2)


def grid(up: Axis, tall: float = PLOT_PX) -> Markup:
    """Return a horizontal line with its value for each tick of the vertical axis."""
    return join_markup(
        join_markup(
            [
                element("line", class_="grid", x1=0, x2="100%", y1=y, y2=y),
                element("text", tick(value), class_="tick", x=-8, y=y, dy=".32em", text_anchor="end"),
            ]
        )
        for value, y in ((value, height_px(up.at(value), tall)) for value in up.ticks)
    )


def ticks_below(marks: Iterable[tuple[float, str]], foot: float, room: bool = False) -> Markup:
    """Return the labels below a chart. `room`: a label may reach beyond the right end."""
    return join_markup(
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


def stretch(drawn: Iterable[Markup | None], tall: float = PLOT_PX) -> Markup | None:
    """Return lines in the units of `line_path`, as wide as the available room and `tall` pixels high."""
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


def line_path(rows: Sequence[Sequence[Point]], kind: str) -> Markup | None:
    """Return a line through each row of points; None if no row has two."""
    drawn = "".join(_steps(row, "M") for row in rows if len(row) > 1)
    return element("path", class_=f"line {kind}", d=drawn) if drawn else None


def band(lower: Sequence[Sequence[Point]], upper: Sequence[Sequence[Point]], kind: str) -> Markup | None:
    """Return the area between two lines."""
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
    """Return a dot for each row of one point, because a single point makes no line."""
    return join_markup(
        element("circle", class_=f"dot {kind}", cx=percent(x), cy=height_px(y), r=4)
        for row in rows
        if len(row) == 1
        for x, y in row
    )


def stacked_bar(parts: Sequence[tuple[str, str, int]], spoken: str) -> Markup:
    """Return the shares of a whole as one bar. A part is a class of the style sheet, a label and a count."""
    total = sum(count for _, _, count in parts)
    drawn = []
    start = 0.0
    # A share of one in a million is drawn, too: each part has a least width, and the largest part gives it.
    shares = [max(count / total, 0.006) if count else 0.0 for _, _, count in parts] if total else []
    spare = sum(shares) - 1
    for (kind, label, count), width in zip(parts, shares, strict=False):
        width -= spare if width == max(shares) else 0.0
        if count:
            drawn.append(
                element(
                    "rect",
                    element("title", f"{label}: {count:,} ({share_of(count, total)})"),
                    class_=f"part {kind}",
                    x=percent(start),
                    y=0,
                    width=percent(width),
                    height="100%",
                )
            )
        start += width
    return element("svg", *drawn, class_="stack", role="img", aria_label=spoken)


def window_bar(windows: Sequence[tuple[float, float]], spoken: str) -> Markup:
    """Return the times in which a fault acted, from the start of the run to its end."""
    drawn = [
        element("rect", class_="rail", x=0, y=4, width="100%", height=6, rx=3),
        *(
            element(
                "rect",
                class_="acting",
                x=percent(start),
                y=2,
                width=percent(max(end - start, 0.01)),
                height=10,
                rx=2,
            )
            for start, end in windows
        ),
    ]
    return element("svg", element("title", spoken), *drawn, class_="windows", role="img", aria_label=spoken)


def bullet_bar(measured: float, limit: float, passed: bool, spoken: str) -> Markup:
    """Return how much of an allowance was used: the bar must not pass the mark."""
    top = max(measured, limit) * 1.12 or 1.0
    kind = "good" if passed else "bad"
    return element(
        "svg",
        element("title", spoken),
        element("rect", class_="rail", x=0, y=5, width="100%", height=10, rx=2),
        element("rect", class_="allowed", x=0, y=5, width=percent(limit / top), height=10, rx=2),
        element(
            "rect",
            class_=f"used {kind}",
            x=0,
            y=7.5,
            width=percent(max(measured / top, 0.01)),
            height=5,
            rx=1,
        ),
        element("line", class_="mark", x1=percent(limit / top), x2=percent(limit / top), y1=1, y2=19),
        class_="bullet",
        role="img",
        aria_label=spoken,
    )


def length_bar(length: float, kind: str) -> Markup:
    """Return a bar beside a figure in a table; screen readers skip it, because the figure says the same."""
    return element(
        "svg",
        element("rect", class_=f"bar {kind}", x=0, y=0, width=percent(max(length, 0.006)), height=8, rx=2),
        class_="length",
        aria_hidden="true",
    )
