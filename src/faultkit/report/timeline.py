"""A timeline: lanes with bars and marks over a common time axis.

A lane is a name and beside it a small `svg`, so that names keep their size and wrap on a phone. Times, such
as those in which something was broken, can be shaded in all lanes. Shapes differ as well as colours, because
colour alone is invisible to some readers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.base.numbers import tick
from faultkit.report.axis import Axis, time_axis
from faultkit.report.markup import Markup, element, join_markup, percent
from faultkit.report.svg import figure

LANE_PX = 24
_MIDDLE = LANE_PX / 2
_TICKS_PX = 20
_NARROWEST = 0.006
"""The least width of a bar as a share of the axis, so that every bar is visible."""
_ROOM_FOR_A_CAPTION = 0.11

Shape: TypeAlias = Literal["circle", "square", "diamond", "line", "limit"]


@dataclass(frozen=True, slots=True)
class Bar:
    """A span of time. `kind` is a class of the style sheet."""

    start_s: float
    end_s: float
    kind: str
    label: str
    inset_px: float = 5
    caption: str = ""
    """Text within the bar, if there is room for it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """An instant. `kind` is a class of the style sheet."""

    at_s: float
    shape: Shape
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of the timeline."""

    name: str
    label: str
    """The row in words, for screen readers."""
    bars: Sequence[Bar] = ()
    marks: Sequence[Mark] = ()
    number: str = ""
    note: str = ""
    """A second, smaller line below the name."""
    is_shaded: bool = True
    """Whether the shaded times are shown in this lane."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Lanes over one time axis."""

    lanes: Sequence[Lane | str]
    """A text is a remark between two lanes."""
    end_s: float
    keys: Sequence[tuple[str, str]]
    """The legend: a class of the style sheet, and what it stands for."""
    shaded: Sequence[Bar] = ()
    limits: Sequence[Mark] = ()
    """Marks that are drawn in each lane, behind its own."""
    axis_label: str | None = "Time"
    """None: there is no time axis, because no time passed."""
    most_ticks: int = 6


def draw_timeline(timeline: Timeline) -> Markup:
    """Return the timeline as a figure with its legend."""
    drawn = _Drawing(timeline)
    return figure("What happened when", timeline.keys, element("div", *drawn.rows(), class_="timeline"))


class _Drawing:
    """Draws one timeline."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.axis: Axis = time_axis(timeline.end_s, timeline.most_ticks)

    def rows(self) -> Iterator[Markup]:
        for lane in self.timeline.lanes:
            if isinstance(lane, str):
                yield element("span", lane, class_="left-out")
            else:
                yield element(
                    "span",
                    lane.number,
                    element("b", lane.name),
                    element("small", lane.note) if lane.note else None,
                    class_="lane",
                )
                yield _svg(join_markup(self._lane(lane)), LANE_PX, lane.label)
        if self.timeline.axis_label is not None:
            yield element("span", class_="lane")
            yield _svg(join_markup(map(self._tick, self.axis.ticks)), _TICKS_PX, self.timeline.axis_label)

    def _lane(self, lane: Lane) -> Iterator[Markup]:
        yield element("rect", class_="rail", x=0, y=1, width="100%", height=LANE_PX - 2, rx=4)
        if lane.is_shaded:
            for bar in self.timeline.shaded:
                yield from self._bar(bar)
            yield from map(self._mark, self.timeline.limits)
        for bar in lane.bars:
            yield from self._bar(bar)
        yield from map(self._mark, lane.marks)

    def _bar(self, bar: Bar) -> Iterator[Markup]:
        start, end = self.axis.at(bar.start_s), self.axis.at(bar.end_s)
        width = max(end - start, _NARROWEST)
        yield element(
            "rect",
            element("title", bar.label),
            class_=bar.kind,
            x=percent(min(start, 1 - width)),
            y=bar.inset_px,
            width=percent(width),
            height=LANE_PX - 2 * bar.inset_px,
            rx=2,
        )
        if bar.caption and end - start > _ROOM_FOR_A_CAPTION:
            yield element(
                "text",
                bar.caption,
                class_="caption",
                x=percent((start + end) / 2),
                y=_MIDDLE,
                dy=".35em",
                text_anchor="middle",
            )

    def _mark(self, mark: Mark) -> Markup:
        x, title = percent(self.axis.at(mark.at_s)), element("title", mark.label)
        if mark.shape in ("line", "limit"):
            inset = 3 if mark.shape == "line" else 0
            return element("line", title, class_=mark.kind, x1=x, x2=x, y1=inset, y2=LANE_PX - inset)
        if mark.shape == "circle":
            shape = element("circle", title, class_=mark.kind, cx=0, cy=0, r=6)
        elif mark.shape == "square":
            shape = element("rect", title, class_=mark.kind, x=-6, y=-6, width=12, height=12)
        else:
            shape = element("path", title, class_=mark.kind, d="M0 -6L6 0L0 6L-6 0Z")
        # The place is a share of the width, the shape is in pixels: the shape has a viewport of its own.
        return element("svg", shape, x=x, y=_MIDDLE, width=1, height=1)

    def _tick(self, value: float) -> Markup:
        share = self.axis.at(value)
        anchor = "end" if share > 0.97 else "start" if share < 0.03 else "middle"
        return element("text", tick(1000 * value), class_="tick", x=percent(share), y=13, text_anchor=anchor)


def _svg(drawn: Markup, height: float, label: str) -> Markup:
    return element("svg", drawn, class_="drawing", role="img", aria_label=label, width="100%", height=height)
