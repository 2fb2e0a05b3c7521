"""The chart of a search: the share of good requests at each value, the objective, and the bracket shaded."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from faultkit.base.numbers import percentage, shortest
from faultkit.base.text import counted
from faultkit.report.axis import linear_axis, log_axis, round_step
from faultkit.report.markup import Markup, element, join_markup, percent
from faultkit.report.svg import AXIS_PX, PLOT_PX, figure, height_px, plot, ticks_below
from faultkit.scenario.report.search_model import SearchLevel, SearchReport
from faultkit.scenario.report.search_wording import search_sentence

_TICKS = 6
_CAP_PX = 4


def search_chart(search: SearchReport) -> Markup:
    """Draw the levels with their bounds against the setting, from harmless to harmful."""
    shares = sorted({level.share for level in search.levels})
    drawn = [
        _bracket(search),
        _grid(),
        *(_objective(share) for share in shares),
        *(_level(search, level) for level in search.levels),
        _estimate(search, shares),
        ticks_below([(_at(search, value), _tick(search, value)) for value in _ticks(search)], PLOT_PX),
    ]
    present = {level.decision for level in search.levels}
    keys: list[tuple[str, str]] = [
        *((each, each) for each in ("held", "broken", "undecided") if each in present),
        ("objective", "objective"),
    ]
    if search.estimate is not None:
        keys.append(("estimate", "estimate"))
    if search.held is not None and search.broken is not None:
        keys.append(("window", "between held and broken"))
    levels = counted(len(search.levels), "value")
    spoken = f"Share of good requests at {levels} of {search.setting}. {search_sentence(search)}"
    title = f"Good requests by {search.setting}" + (" (log scale)" if search.spacing == "log" else "")
    return figure(title, keys, plot(drawn, PLOT_PX + AXIS_PX, spoken))


def _at(search: SearchReport, value: float) -> float:
    """Return the place of a value, from 0 at the harmless end to 1 at the harmful one."""
    low, high = search.harmless, search.harmful
    if search.spacing == "log":
        low, high, value = log10(low), log10(high), log10(max(value, 1e-300))
    return min(1.0, max(0.0, (value - low) / (high - low)))


def _ticks(search: SearchReport) -> list[float]:
    low, high = sorted((search.harmless, search.harmful))
    if search.spacing == "log":
        found = [tick for tick in log_axis(low, high).ticks if low <= tick <= high]
    else:
        step = round_step((high - low) / _TICKS)
        found = [number * step for number in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
    return found or [low, high]


def _tick(search: SearchReport, value: float) -> str:
    # A long unit is in the title's setting already.
    unit = search.unit if len(search.unit) <= 3 else ""
    return f"{shortest(float(f'{value:.6g}'))} {unit}".rstrip()


def _grid() -> Markup:
    up = linear_axis(100.0)
    return join_markup(
        join_markup(
            [
                element("line", class_="grid", x1=0, x2="100%", y1=y, y2=y),
                element("text", percentage(value), class_="tick", x=-8, y=y, dy=".32em", text_anchor="end"),
            ]
        )
        for value, y in ((value, height_px(up.at(value))) for value in up.ticks)
    )


def _bracket(search: SearchReport) -> Markup | None:
    if search.held is None or search.broken is None:
        return None
    start, end = _at(search, search.held), _at(search, search.broken)
    values = f"{shortest(search.held)} to {shortest(search.broken)} {search.unit}".rstrip()
    return element(
        "rect",
        element("title", f"It breaks between {values}"),
        class_="window",
        x=percent(start),
        y=0,
        width=percent(max(end - start, 0.002)),
        height=PLOT_PX,
    )


def _objective(share: float) -> Markup:
    y = height_px(share / 100)
    return element(
        "g",
        element("title", f"{percentage(share)} of the requests must be good"),
        element("line", x1=0, x2="100%", y1=y, y2=y),
        class_="goal good",
    )


def _estimate(search: SearchReport, shares: Sequence[float]) -> Markup | None:
    if search.estimate is None or not shares:
        return None
    x, y = _at(search, search.estimate), height_px(shares[0] / 100)
    value = f"{shortest(search.estimate)} {search.unit}".rstrip()
    return element(
        "g",
        element("title", f"It breaks at about {value}"),
        element("circle", cx=percent(x), cy=y, r=5),
        class_="goal open",
    )


def _level(search: SearchReport, level: SearchLevel) -> Markup:
    x = percent(_at(search, level.value))
    low, high = height_px(level.low / 100), height_px(level.high / 100)
    good = 100 * level.good / max(level.requests, 1)
    value = f"{shortest(level.value)} {search.unit}".rstrip()
    spoken = (
        f"{value}: {percentage(good)} of {counted(level.requests, 'request')} good, "
        f"bounds {percentage(level.low)} to {percentage(level.high)}: {level.decision}"
    )
    caps = (
        element(
            "svg",
            element("line", class_="whisker", x1=-_CAP_PX, x2=_CAP_PX, y1=0, y2=0),
            x=x,
            y=y,
            overflow="visible",
        )
        for y in (low, high)
    )
    return element(
        "g",
        element("title", spoken),
        element("line", class_="whisker", x1=x, x2=x, y1=low, y2=high),
        *caps,
        element("circle", class_=f"dot {level.decision}", cx=x, cy=height_px(good / 100), r=5),
    )
