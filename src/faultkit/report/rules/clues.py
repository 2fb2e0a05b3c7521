"""What the rules of a review look at: figures read off one item. Pure; says nothing, only measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from faultkit.errors import InputError
from faultkit.faults.connection.dns import Dns
from faultkit.faults.connection.slow_accept import SlowAccept
from faultkit.faults.fault import Fault
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.load.summary import Distribution, Slice, Summary
from faultkit.plan.flow import flows
from faultkit.plan.parse import parse_rule
from faultkit.plan.rule import Rule
from faultkit.report.model import Item

FAILING = ("blackhole", "dns", "http_error", "refuse", "reset", "timeout", "cut", "limit_data", "corrupt")
"""Kinds that make a unit fail when they hit it, as far as the vocabulary knows them."""

_SLACK = 1.5
_SLACK_MS = 5.0
_SLIVER = 0.05
"""The part of a slice that may lie on the other side of an edge: slices do not follow windows to the bit."""


def rules_of(item: Item) -> tuple[Rule, ...]:
    """The rules that were applied. One that this version cannot read is left out."""
    found = []
    for fault in item.faults:
        try:
            found.append(parse_rule(fault.rule))
        except InputError:
            continue
    return tuple(found)


def percentile_ms(distribution: Distribution, percent: float) -> float | None:
    """Read off the curve; None if there is nothing to read off."""
    if not distribution.count:
        return None
    known = sorted({*distribution.curve, *((each.percent, each.ms) for each in distribution.percentiles)})
    for (low, low_ms), (high, high_ms) in pairwise(known):
        if low <= percent <= high:
            return low_ms + (high_ms - low_ms) * ((percent - low) / (high - low) if high > low else 0.0)
    return distribution.max_ms if not known or percent > known[-1][0] else known[0][1]


def error_percent(summary: Summary) -> float:
    return 100 * summary.errors / summary.requests if summary.requests else 0.0


def reasons_text(item: Item) -> str:
    return " ".join(reason.rstrip(".") + "." for reason in item.reasons)


# Phases of a run


@dataclass(frozen=True, slots=True)
class Phases:
    """Slices that lie wholly before, in, and after the stretches in which faults acted."""

    before: tuple[Slice, ...]
    during: tuple[Slice, ...]
    after: tuple[Slice, ...]


def duration_s(item: Item) -> float:
    ends = [each.start_s + each.width_s for each in item.run.timeline]
    return item.strategy.duration_s or max(ends, default=0.0)


def windows_s(item: Item) -> tuple[tuple[float, float], ...]:
    """When any fault acted, in seconds, in order; windows that touch are one."""
    length = duration_s(item)
    merged: list[tuple[float, float]] = []
    for start, end in sorted(window for fault in item.faults for window in fault.windows):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple((start * length, end * length) for start, end in merged)


def phases(item: Item) -> Phases:
    windows = windows_s(item)
    slices = [each for each in item.run.timeline if each.requests]
    if not windows:
        return Phases(tuple(slices), (), ())
    return Phases(
        tuple(each for each in slices if _end(each) <= windows[0][0]),
        tuple(
            each
            for each in slices
            if any(start <= _begin(each) and _end(each) <= end for start, end in windows)
        ),
        tuple(each for each in slices if _begin(each) >= windows[-1][1]),
    )


def _begin(each: Slice) -> float:
    return each.start_s + _SLIVER * each.width_s


def _end(each: Slice) -> float:
    return each.start_s + (1 - _SLIVER) * each.width_s


def middle(slices: Sequence[Slice], of: Callable[[Slice], float]) -> float | None:
    """The median over slices, weighted by their requests."""
    total = sum(each.requests for each in slices)
    passed = 0
    for value, requests in sorted((of(each), each.requests) for each in slices):
        passed += requests
        if 2 * passed >= total:
            return value
    return None


def requests_and_errors(slices: Iterable[Slice]) -> tuple[int, int]:
    rows = list(slices)
    return sum(each.requests for each in rows), sum(each.errors for each in rows)


# Recovery


@dataclass(frozen=True, slots=True)
class Recovery:
    """What followed the stretch that took longest to get over."""

    after_s: float
    """When the faults stopped."""
    took_s: float | None
    """None: not before the next stretch, or the end."""
    watched_s: float
    resolution_s: float
    """The width of a slice: it was not measured finer."""


def recovery(item: Item) -> Recovery | None:
    """None: no fault-free stretch to watch, nothing to compare with, or nothing to recover from."""
    windows, found = windows_s(item), phases(item)
    usual = _usual_p95_ms(item, found)
    if usual is None or all(_well(each, usual) for each in found.during) or not found.during:
        return None
    slices = [each for each in item.run.timeline if each.requests]
    last = max(duration_s(item), slices[-1].start_s + slices[-1].width_s)
    starts = [*(start for start, _ in windows[1:]), last]
    watched = []
    for (_, end), until in zip(windows, starts, strict=True):
        free = [each for each in slices if _begin(each) >= end and _end(each) <= until]
        if free:
            well = next((each for each in free if _well(each, usual)), None)
            took = None if well is None else max(0.0, well.start_s - end)
            watched.append(Recovery(end, took, until - end, free[0].width_s))
    return max(watched, key=lambda each: (each.took_s is None, each.took_s or 0.0), default=None)


def _usual_p95_ms(item: Item, found: Phases) -> float | None:
    quiet = found.before
    if item.baseline is not None and item.baseline.timeline:
        quiet = tuple(each for each in item.baseline.timeline if each.requests)
    return middle(quiet, lambda each: each.p95_ms)


def _well(each: Slice, usual_ms: float) -> bool:
    return not each.errors and each.p95_ms <= _SLACK * usual_ms + _SLACK_MS


# Delays


def delay_ms(fault: Fault) -> float | None:
    """The middle of the delays that a fault adds; None if adding delay is not its trade."""
    if isinstance(fault, Latency):
        tail = fault.scale_ms * 2 ** (1 / fault.shape) if fault.shape > 0 else 0.0
        return {
            "normal": fault.mean_ms,
            "uniform": (fault.min_ms + fault.max_ms) / 2,
            "pareto": tail,
            "pareto-normal": tail + fault.mean_ms,
        }[fault.distribution]
    if isinstance(fault, Jitter):
        return fault.amplitude_ms / 2
    if isinstance(fault, HttpDelay | SlowAccept):
        return fault.delay_ms
    if isinstance(fault, Dns) and fault.outcome == "resolve":
        return fault.delay_ms
    return None


@dataclass(frozen=True, slots=True)
class Growth:
    """How response times answered to an added delay."""

    delay_ms: float
    grown_ms: float
    every_read: bool
    """The delay is added to each read, so that one connection may meet it many times."""

    @property
    def times(self) -> float:
        return self.grown_ms / self.delay_ms


def growth(item: Item) -> Growth | None:
    """None unless all the faults are delays that hit every unit, so that figures can be compared."""
    rules = rules_of(item)
    delays = [delay_ms(rule.fault) for rule in rules]
    known = [each for each in delays if each is not None]
    if not known or len(known) != len(item.faults) or not all(rule.trigger.always for rule in rules):
        return None
    every_read = any(isinstance(rule.fault, Latency) and rule.fault.per == "operation" for rule in rules)
    if item.strategy.mode == "repeat" and item.strategy.stepped:
        return _stepped_growth(item, every_read)
    total = sum(delay * _ways(rule) for delay, rule in zip(known, rules, strict=True))
    usual = percentile_ms(item.baseline.response, 50) if item.baseline else None
    found = middle(phases(item).during, lambda each: each.p50_ms)
    if usual is None or found is None or total <= 0 or any(_apart(item)):
        return None
    return Growth(total, found - usual, every_read)


def _apart(item: Item) -> Iterable[bool]:
    """Whether faults act at different times, which makes their sum mean nothing."""
    return (fault.windows != item.faults[0].windows for fault in item.faults)


def _ways(rule: Rule) -> int:
    return len(flows(rule.match.side, rule.match.direction)) if rule.fault.level == "stream" else 1


def _stepped_growth(item: Item, every_read: bool) -> Growth | None:
    """The slope of the response time over what was stepped, by least squares."""
    points = [
        (call.stepped_value, call.total_ms)
        for call in item.calls
        if not call.baseline and call.stepped_value is not None and call.failure is None
    ]
    if len(points) < 3 or len(item.faults) != 1 or not (item.strategy.stepped or "").endswith("_ms"):
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    if spread == 0:
        return None
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    span = max(x for x, _ in points) - min(x for x, _ in points)
    return Growth(span, slope * span, every_read)
