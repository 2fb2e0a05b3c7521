"""The charts with bars: baseline against fault, and the small ones of tables and heads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite

from faultkit.base.figures import duration, percentage, share, tick
from faultkit.load.impact import Difference
from faultkit.report.axis import Axis, linear_axis
from faultkit.report.drawing import AXIS_PX, figure, plot, ticks_below
from faultkit.report.markup import Markup, element, joined, percent

_ROW_PX = 46
_BAR_PX = 13


def impact_chart(differences: Sequence[Difference]) -> Markup | None:
    """Two bars a figure; the whisker is the confidence of the difference, seen from the baseline's end."""
    times = [each for each in differences if each.unit == "ms"]
    # Two bars of nothing say nothing; the table beside them does.
    rates = [each for each in differences if each.unit != "ms" and (each.baseline or each.fault)]
    parts = [_bars(group, unit) for group, unit in ((times, "ms"), (rates, "%")) if group]
    if not parts:
        return None
    keys = [("base", "baseline"), ("run", "with faults"), ("whisker", "95 % confidence of the difference")]
    return figure("Baseline against fault", keys, joined(parts))


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
    said = "; ".join(
        f"{each.name}: baseline {show(each.baseline)}, with faults {show(each.fault)}" for each in differences
    )
    return plot(drawn, foot + AXIS_PX, said, "plot bars")


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
    said = f"{each.name}: {show(each.fault)} with faults, {show(each.baseline)} without"
    return element(
        "g",
        element("title", said),
        element("text", each.name, class_="name", x=-8, y=lower + 3, text_anchor="end"),
        _bar("base", across.at(each.baseline), upper),
        _bar("run", across.at(each.fault), lower),
        *(whisker if known else []),
        _value(show(each.baseline), across.at(each.baseline), upper),
        _value(show(each.fault), end, lower),
    )


def _bar(kind: str, length: float, top: float) -> Markup:
    # A zero is a thin line: a bar that is not there could be a bar forgotten.
    return element(
        "rect", class_=f"bar {kind}", x=0, y=top, width=percent(max(length, 0.004)), height=_BAR_PX, rx=2
    )


def _value(text: str, x: float, top: float) -> Markup:
    return element("text", text, class_="value", x=percent(x), dx=7, y=top + _BAR_PX - 2.5)


def stacked_bar(parts: Sequence[tuple[str, str, int]], said: str) -> Markup:
    """Shares of a whole: names of colours, labels and counts."""
    total = sum(count for _, _, count in parts)
    drawn = []
    start = 0.0
    # What happened once in a million is drawn, too: each part has a least width, the largest pays for it.
    shares = [max(count / total, 0.006) if count else 0.0 for _, _, count in parts] if total else []
    spare = sum(shares) - 1
    for (kind, label, count), width in zip(parts, shares, strict=False):
        width -= spare if width == max(shares) else 0.0
        if count:
            drawn.append(
                element(
                    "rect",
                    element("title", f"{label}: {count:,} ({share(count, total)})"),
                    class_=f"part {kind}",
                    x=percent(start),
                    y=0,
                    width=percent(width),
                    height="100%",
                )
            )
        start += width
    return element("svg", *drawn, class_="stack", role="img", aria_label=said)


def window_bar(windows: Sequence[tuple[float, float]], said: str) -> Markup:
    """When a fault acted, from the start of the run to its end."""
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
    return element("svg", element("title", said), *drawn, class_="windows", role="img", aria_label=said)


def bullet_bar(measured: float, limit: float, passed: bool, said: str) -> Markup:
    """How much of what is allowed was used: the bar must not pass the mark."""
    top = max(measured, limit) * 1.12 or 1.0
    kind = "good" if passed else "bad"
    return element(
        "svg",
        element("title", said),
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
        aria_label=said,
    )


def length_bar(length: float, kind: str) -> Markup:
    """A bar beside a figure in a table, which says the same in words."""
    return element(
        "svg",
        element("rect", class_=f"bar {kind}", x=0, y=0, width=percent(max(length, 0.006)), height=8, rx=2),
        class_="length",
        aria_hidden="true",
    )
