"""The charts of one item: latency over time, latency by percentile, and baseline against fault.

Figures in, markup out; the parts of a chart are in `faultkit.report.svg`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, log10

from faultkit.base.numbers import duration, percentage, percentile_name, tick
from faultkit.base.text import counted
from faultkit.load.impact import Difference
from faultkit.load.summary import Distribution, Slice, Summary
from faultkit.report.axis import Axis, linear_axis, round_step, time_axis, value_axis
from faultkit.report.markup import Markup, element, join_markup, percent
from faultkit.report.svg import (
    AXIS_PX,
    PLOT_PX,
    Point,
    band,
    figure,
    grid,
    height_px,
    line_path,
    lone_dots,
    plot,
    stretch,
    ticks_below,
)

_TALL_PX = 300
_EDGE = 0.97
"""A mark beyond this share of the width has no room for its label."""
_STRIP_PX = 30
_GAP_PX = 20
_ROW_PX = 46
_BAR_PX = 13


@dataclass(frozen=True, slots=True)
class FaultWindow:
    """A time in which a fault acted; start and end are shares of the run."""

    start: float
    end: float
    name: str


@dataclass(frozen=True, slots=True)
class LatencyGoal:
    """A latency objective: `percent` of the requests within `ms`."""

    percent: float
    ms: float
    passed: bool | None


def timeline_chart(
    run: Summary, baseline: Summary | None, windows: Sequence[FaultWindow], duration_s: float
) -> Markup:
    """Draw percentiles over the intended start of the requests, with the faults' windows behind them."""
    slices = [each for each in run.timeline if each.requests]
    before = [each for each in baseline.timeline if each.requests] if baseline else []
    ends = [each.start_s + each.width_s for each in (*slices, *before)]
    across = time_axis(max([duration_s, *ends]))
    scale = duration_s / across.high if duration_s > 0 else 1.0
    up = value_axis([value for each in slices for value in (each.p50_ms, each.p95_ms, each.max_ms)] or [0.0])
    has_errors = any(each.errors for each in slices)
    height = PLOT_PX + (_GAP_PX + _STRIP_PX if has_errors else 0)

    def line(rows: Sequence[Slice], of: Callable[[Slice], float]) -> list[list[Point]]:
        points = [(across.at(each.start_s + each.width_s / 2), up.at(of(each))) for each in rows]
        return _unbroken_rows(points, rows)

    drawn = [
        *(_shade(window, height, scale) for window in windows),
        grid(up),
        stretch(
            [
                band(line(before, lambda each: each.p50_ms), line(before, lambda each: each.p95_ms), "base"),
                line_path(line(before, lambda each: each.p50_ms), "base"),
                band(line(slices, lambda each: each.p50_ms), line(slices, lambda each: each.p95_ms), "p95"),
                line_path(line(slices, lambda each: each.max_ms), "max"),
                line_path(line(slices, lambda each: each.p95_ms), "p95"),
                line_path(line(slices, lambda each: each.p50_ms), "p50"),
            ]
        ),
        *(lone_dots(line(slices, of), kind) for of, kind in _SERIES),
        _error_strip(slices, across) if has_errors else None,
        ticks_below([(across.at(value), tick(1000 * value)) for value in across.ticks], height),
        *(_tooltip_area(each, across, height) for each in slices),
    ]
    keys = [("p50", "p50"), ("p95", "p95"), ("max", "max")]
    if before:
        keys.append(("base", "baseline, p50 to p95"))
    if windows:
        keys.append(("window", "fault active"))
    if has_errors:
        keys.append(("errors", "errors"))
    peak = max((each.max_ms for each in slices), default=0.0)
    spoken = (
        f"Response time over {tick(1000 * across.high)}, from {counted(run.requests, 'request')}: "
        f"slowest {duration(peak)}, {counted(run.errors, 'error')}, "
        f"{counted(len(windows), 'stretch', 'stretches')} with a fault."
    )
    title = "Response time over time" + (" (log scale)" if up.log else "")
    return figure(title, keys, plot(drawn, height + AXIS_PX, spoken))


_SERIES: tuple[tuple[Callable[[Slice], float], str], ...] = (
    (lambda each: each.max_ms, "max"),
    (lambda each: each.p95_ms, "p95"),
    (lambda each: each.p50_ms, "p50"),
)


def _unbroken_rows(points: Sequence[Point], slices: Sequence[Slice]) -> list[list[Point]]:
    """Split points into unbroken rows: a time without requests is a gap, not a straight line."""
    rows: list[list[Point]] = []
    end = float("-inf")
    for point, each in zip(points, slices, strict=True):
        if each.start_s > end + 0.5 * each.width_s:
            rows.append([])
        rows[-1].append(point)
        end = each.start_s + each.width_s
    return rows


def _shade(window: FaultWindow, height: float, scale: float) -> Markup:
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


def _error_strip(slices: Sequence[Slice], across: Axis) -> Markup:
    """Draw the share of errors as bars below the plot."""
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
    return join_markup(
        [
            element("line", class_="grid", x1=0, x2="100%", y1=foot, y2=foot),
            element("text", percentage(top), class_="tick", x=-8, y=foot - _STRIP_PX + 8, text_anchor="end"),
            element("text", "errors", class_="tick", x=-8, y=foot, text_anchor="end"),
            *bars,
        ]
    )


def _tooltip_area(each: Slice, across: Axis, height: float) -> Markup:
    """Return an invisible area that shows the figures of a slice under the pointer."""
    start, end = across.at(each.start_s), across.at(each.start_s + each.width_s)
    spoken = (
        f"{tick(1000 * round(each.start_s, 3))} to {tick(1000 * round(each.start_s + each.width_s, 3))}\n"
        f"p50 {duration(each.p50_ms)}, p95 {duration(each.p95_ms)}, max {duration(each.max_ms)}\n"
        f"{counted(each.requests, 'request')}, {counted(each.errors, 'error')}"
    )
    return element(
        "rect",
        element("title", spoken),
        class_="hit",
        x=percent(start),
        y=0,
        width=percent(end - start),
        height=height,
    )


def percentile_chart(
    run: Distribution, baseline: Distribution | None, goals: Sequence[LatencyGoal], name: str = "with faults"
) -> Markup:
    """Draw the response time by percentile. The axis is finer towards 100, where problems show first. `name`
    is that of the run."""
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
        stretch(
            [
                line_path(line(baseline.curve), "base") if baseline and baseline.count else None,
                line_path(line(run.curve), "run"),
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
        *(_goal_mark(goal, place(goal.percent), up.at(goal.ms)) for goal in goals),
        ticks_below([(x, name) for x, name in marks if x < _EDGE], _TALL_PX),
    ]
    keys = [("run", name)]
    if len(curves) > 1:
        keys.append(("base", "baseline"))
    if goals:
        keys.append(("goal", "objective"))
    spoken = "Response time by percentile: " + ", ".join(
        f"{percentile_name(each.percent)} {duration(each.ms)}" for each in run.percentiles
    )
    title = "Percentiles of the response time" + (" (log scale)" if up.log else "")
    return figure(title, keys, plot(drawn, _TALL_PX + AXIS_PX, spoken))


def _nines(at: float) -> float:
    return log10(100 / (100 - at))


def _goal_mark(goal: LatencyGoal, x: float, y: float) -> Markup:
    """Draw an objective as a roof: the curve has to pass below it."""
    kind = {True: "good", False: "bad", None: "open"}[goal.passed]
    spoken = f"{percentage(goal.percent)} of the requests within {duration(goal.ms)}"
    return element(
        "g",
        element("title", spoken),
        element("line", x1=0, x2=percent(x), y1=height_px(y, _TALL_PX), y2=height_px(y, _TALL_PX)),
        element("circle", cx=percent(x), cy=height_px(y, _TALL_PX), r=5),
        class_=f"goal {kind}",
    )


def impact_chart(differences: Sequence[Difference]) -> Markup | None:
    """Draw two bars for each figure. The whisker is the interval of the difference, placed at the end of the
    baseline's bar."""
    times = [each for each in differences if each.unit == "ms"]
    # Two bars of length 0 show nothing; the table beside them has the figures.
    rates = [each for each in differences if each.unit != "ms" and (each.baseline or each.fault)]
    parts = [_bars(group, unit) for group, unit in ((times, "ms"), (rates, "%")) if group]
    if not parts:
        return None
    keys = [("base", "baseline"), ("run", "with faults"), ("whisker", "95 % confidence of the difference")]
    return figure("Baseline against fault", keys, join_markup(parts))


def _bars(differences: Sequence[Difference], unit: str) -> Markup:
    show = duration if unit == "ms" else percentage
    tops = [value for each in differences for value in (each.baseline, each.fault, each.baseline + each.high)]
    top = max((value for value in tops if isfinite(value)), default=0.0)
    across = linear_axis(top if unit == "ms" else min(top, 100.0), 3)
    foot = _ROW_PX * len(differences)
    drawn: list[Markup | None] = [
        element("line", class_="grid", x1=percent(x), x2=percent(x), y1=0, y2=foot)
        for x in map(across.at, across.ticks)
    ]
    for index, each in enumerate(differences):
        drawn.append(_bar_row(each, index * _ROW_PX, across, show))
    drawn.append(
        ticks_below(
            [
                (across.at(value), tick(value) if unit == "ms" else percentage(value))
                for value in across.ticks
            ],
            foot,
            room=True,
        )
    )
    spoken = "; ".join(
        f"{each.name}: baseline {show(each.baseline)}, with faults {show(each.fault)}" for each in differences
    )
    return plot(drawn, foot + AXIS_PX, spoken, "plot bars")


def _bar_row(each: Difference, top: float, across: Axis, show: Callable[[float], str]) -> Markup:
    upper, lower = top + 8, top + 10 + _BAR_PX
    middle = lower + _BAR_PX / 2
    low, high = across.at(each.baseline + each.low), across.at(each.baseline + each.high)
    known = each.enough and isfinite(each.low) and isfinite(each.high)
    end = max(across.at(each.fault), high if known else 0.0)
    whisker = [
        element("line", class_="whisker", x1=percent(low), x2=percent(high), y1=middle, y2=middle),
        *(
            element("line", class_="whisker", x1=percent(x), x2=percent(x), y1=middle - 4, y2=middle + 4)
            for x in (low, high)
        ),
    ]
    spoken = f"{each.name}: {show(each.fault)} with faults, {show(each.baseline)} without"
    return element(
        "g",
        element("title", spoken),
        element("text", each.name, class_="name", x=-8, y=lower + 3, text_anchor="end"),
        _bar("base", across.at(each.baseline), upper),
        _bar("run", across.at(each.fault), lower),
        *(whisker if known else []),
        _value(show(each.baseline), across.at(each.baseline), upper),
        _value(show(each.fault), end, lower),
    )


def _bar(kind: str, length: float, top: float) -> Markup:
    # A zero is drawn as a thin line, because no bar at all would look like a mistake.
    return element(
        "rect", class_=f"bar {kind}", x=0, y=top, width=percent(max(length, 0.004)), height=_BAR_PX, rx=2
    )


def _value(text: str, x: float, top: float) -> Markup:
    return element("text", text, class_="value", x=percent(x), dx=7, y=top + _BAR_PX - 2.5)
