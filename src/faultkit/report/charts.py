"""The charts with lines: latency over time, and latency by percentile. Figures in, markup out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import log10

from faultkit.base.figures import counted, duration, percentage, percentile_name, tick
from faultkit.load.summary import Distribution, Slice, Summary
from faultkit.report.axis import Axis, round_step, time_axis, value_axis
from faultkit.report.drawing import (
    AXIS_PX,
    PLOT_PX,
    Point,
    band,
    figure,
    grid,
    height_px,
    lone_dots,
    path,
    plot,
    stretched,
    ticks_below,
)
from faultkit.report.markup import Markup, element, joined, percent

_TALL_PX = 300
_EDGE = 0.97
"""A mark beyond it has no room for its label."""
_STRIP_PX = 30
_GAP_PX = 20


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of the run during which a fault acted; both as shares of the run."""

    start: float
    end: float
    name: str


@dataclass(frozen=True, slots=True)
class Goal:
    """A latency objective: so many percent of the requests within `ms`."""

    percent: float
    ms: float
    passed: bool | None


def timeline_chart(
    run: Summary, baseline: Summary | None, windows: Sequence[Window], duration_s: float
) -> Markup:
    """Percentiles by the time at which requests were to start, the stretches of the faults behind them."""
    slices = [each for each in run.timeline if each.requests]
    before = [each for each in baseline.timeline if each.requests] if baseline else []
    ends = [each.start_s + each.width_s for each in (*slices, *before)]
    across = time_axis(max([duration_s, *ends]))
    scale = duration_s / across.high if duration_s > 0 else 1.0
    up = value_axis([value for each in slices for value in (each.p50_ms, each.p95_ms, each.max_ms)] or [0.0])
    has_errors = any(each.errors for each in slices)
    height = PLOT_PX + (_GAP_PX + _STRIP_PX if has_errors else 0)

    def line(rows: Sequence[Slice], of: Callable[[Slice], float]) -> list[list[Point]]:
        return _runs([(_middle(each, across), up.at(of(each))) for each in rows], rows)

    drawn = [
        *(_shade(window, height, scale) for window in windows),
        grid(up),
        stretched(
            [
                band(line(before, lambda each: each.p50_ms), line(before, lambda each: each.p95_ms), "base"),
                path(line(before, lambda each: each.p50_ms), "base"),
                band(line(slices, lambda each: each.p50_ms), line(slices, lambda each: each.p95_ms), "p95"),
                path(line(slices, lambda each: each.max_ms), "max"),
                path(line(slices, lambda each: each.p95_ms), "p95"),
                path(line(slices, lambda each: each.p50_ms), "p50"),
            ]
        ),
        *(lone_dots(line(slices, of), kind) for of, kind in _SERIES),
        _strip(slices, across) if has_errors else None,
        ticks_below([(across.at(value), tick(1000 * value)) for value in across.ticks], height),
        *(_hit(each, across, height) for each in slices),
    ]
    keys = [("p50", "p50"), ("p95", "p95"), ("max", "max")]
    if before:
        keys.append(("base", "baseline, p50 to p95"))
    if windows:
        keys.append(("window", "fault active"))
    if has_errors:
        keys.append(("errors", "errors"))
    peak = max((each.max_ms for each in slices), default=0.0)
    said = (
        f"Response time over {tick(1000 * across.high)}, from {counted(run.requests, 'request')}: "
        f"slowest {duration(peak)}, {counted(run.errors, 'error')}, "
        f"{counted(len(windows), 'stretch', 'stretches')} with a fault."
    )
    title = "Response time over time" + (" (log scale)" if up.log else "")
    return figure(title, keys, plot(drawn, height + AXIS_PX, said))


_SERIES: tuple[tuple[Callable[[Slice], float], str], ...] = (
    (lambda each: each.max_ms, "max"),
    (lambda each: each.p95_ms, "p95"),
    (lambda each: each.p50_ms, "p50"),
)


def _middle(each: Slice, across: Axis) -> float:
    return across.at(each.start_s + each.width_s / 2)


def _runs(points: Sequence[Point], slices: Sequence[Slice]) -> list[list[Point]]:
    """Points in unbroken rows: a stretch without requests is a gap, not a straight line."""
    rows: list[list[Point]] = []
    end = float("-inf")
    for point, each in zip(points, slices, strict=True):
        if each.start_s > end + 0.5 * each.width_s:
            rows.append([])
        rows[-1].append(point)
        end = each.start_s + each.width_s
    return rows


def _shade(window: Window, height: float, scale: float) -> Markup:
    start, end = window.start * scale, window.end * scale
    return element(
        "rect",
        element(
            "title", f"{window.name}: {percentage(100 * window.start)} to {percentage(100 * window.end)}"
        ),
        class_="window",
        x=percent(start),
        y=0,
        width=percent(max(end - start, 0.002)),
        height=height,
    )


def _strip(slices: Sequence[Slice], across: Axis) -> Markup:
    """The share of errors, in bars under the plot."""
    worst = max(100 * each.errors / each.requests for each in slices)
    top = min(100.0, round_step(worst))
    foot = PLOT_PX + _GAP_PX + _STRIP_PX
    bars = []
    for each in slices:
        if each.errors:
            tall = max(2.0, _STRIP_PX * 100 * each.errors / each.requests / top)
            start, end = across.at(each.start_s), across.at(each.start_s + each.width_s)
            bars.append(
                element(
                    "rect",
                    class_="errors",
                    x=percent(start),
                    y=foot - tall,
                    width=percent(max(0.003, 0.86 * (end - start))),
                    height=tall,
                )
            )
    return joined(
        [
            element("line", class_="grid", x1=0, x2="100%", y1=foot, y2=foot),
            element("text", percentage(top), class_="tick", x=-8, y=foot - _STRIP_PX + 8, text_anchor="end"),
            element("text", "errors", class_="tick", x=-8, y=foot, text_anchor="end"),
            *bars,
        ]
    )


def _hit(each: Slice, across: Axis, height: float) -> Markup:
    """Nothing to see: where the pointer finds the figures of a slice."""
    start, end = across.at(each.start_s), across.at(each.start_s + each.width_s)
    said = (
        f"{tick(1000 * round(each.start_s, 3))} to {tick(1000 * round(each.start_s + each.width_s, 3))}\n"
        f"p50 {duration(each.p50_ms)}, p95 {duration(each.p95_ms)}, max {duration(each.max_ms)}\n"
        f"{counted(each.requests, 'request')}, {counted(each.errors, 'error')}"
    )
    return element(
        "rect",
        element("title", said),
        class_="hit",
        x=percent(start),
        y=0,
        width=percent(end - start),
        height=height,
    )


def percentile_chart(run: Distribution, baseline: Distribution | None, goals: Sequence[Goal]) -> Markup:
    """How slow the slowest share is. The axis is finer towards 100, where trouble lives."""
    curves = [run.curve] + ([baseline.curve] if baseline and baseline.count else [])
    nines = [_nines(at) for curve in curves for at, _ in curve if at < 100]
    span = max([1.0, *nines, *(_nines(goal.percent) for goal in goals)]) * 1.06
    up = value_axis([ms for curve in curves for _, ms in curve] + [goal.ms for goal in goals])

    def place(at: float) -> float:
        return 1.0 if at >= 100 else min(1.0, _nines(at) / span)

    def line(curve: Iterable[tuple[float, float]]) -> list[list[Point]]:
        return [[(place(at), up.at(ms)) for at, ms in curve]]

    marks = [(place(at), percentile_name(at)) for at in (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)]
    drawn = [
        grid(up, _TALL_PX),
        *(
            element("line", class_="grid", x1=percent(x), x2=percent(x), y1=0, y2=_TALL_PX)
            for x, _ in marks
            if x < _EDGE
        ),
        stretched(
            [
                path(line(baseline.curve), "base") if baseline and baseline.count else None,
                path(line(run.curve), "run"),
            ],
            _TALL_PX,
        ),
        *(
            element(
                "circle",
                element("title", f"{percentage(at)} of the requests took at most {duration(ms)}"),
                class_="dot run",
                cx=percent(place(at)),
                cy=height_px(up.at(ms), _TALL_PX),
                r=3,
            )
            for at, ms in ((each.percent, each.ms) for each in run.percentiles if run.count)
        ),
        *(_goal(goal, place(goal.percent), up.at(goal.ms)) for goal in goals),
        ticks_below([(x, name) for x, name in marks if x < _EDGE], _TALL_PX),
    ]
    keys = [("run", "with faults")]
    if len(curves) > 1:
        keys.append(("base", "baseline"))
    if goals:
        keys.append(("goal", "objective"))
    said = "Response time by percentile: " + ", ".join(
        f"{percentile_name(each.percent)} {duration(each.ms)}" for each in run.percentiles
    )
    title = "Percentiles of the response time" + (" (log scale)" if up.log else "")
    return figure(title, keys, plot(drawn, _TALL_PX + AXIS_PX, said))


def _nines(at: float) -> float:
    return log10(100 / (100 - at))


def _goal(goal: Goal, x: float, y: float) -> Markup:
    """A roof: the curve has to pass below it."""
    kind = {True: "good", False: "bad", None: "open"}[goal.passed]
    said = f"{percentage(goal.percent)} of the requests within {duration(goal.ms)}"
    return element(
        "g",
        element("title", said),
        element("line", x1=0, x2=percent(x), y1=height_px(y, _TALL_PX), y2=height_px(y, _TALL_PX)),
        element("circle", cx=percent(x), cy=height_px(y, _TALL_PX), r=5),
        class_=f"goal {kind}",
    )
