"""How response times answered to an added delay: figures for the rules of `delays`. Pure; says nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import stdev

from faultkit.base.intervals import Interval, bounds_percentile, difference_interval, t_quantile
from faultkit.faults.connection.dns import Dns
from faultkit.faults.connection.slow_accept import SlowAccept
from faultkit.faults.fault import Fault
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.load.summary import Percentile, Slice
from faultkit.plan.flow import flows
from faultkit.plan.rule import Rule
from faultkit.scenario.report.model import Item
from faultkit.scenario.report.rules.clues import middle, phases, requests_and_errors, rules_of

FAILED = 0.05
"""If so many requests failed, times are those of failures, too, and tell nothing about a delay."""
_LEAST_REQUESTS = 30
_LEAST_CALLS = 5
"""Of a line through stepped calls: fewer lie on a line by luck."""
_CONFIDENT = 0.975
_WHOLE = ((0.0, 1.0),)


@dataclass(frozen=True, slots=True)
class Growth:
    delay_ms: float
    grown_ms: float
    interval: Interval
    """Of `grown_ms`, 95 %."""
    every_read: bool
    """The delay is added to each read, so that one connection may meet it many times."""
    calls: int = 0
    """Of a line through stepped calls, of how many; 0: it is the median of a load."""

    @property
    def times(self) -> float:
        return self.grown_ms / self.delay_ms

    def within(self, least: float, most: float) -> bool:
        """Whether the whole interval is at least `least` and less than `most` times the delay."""
        low, high = self.interval
        return least * self.delay_ms <= low and high < most * self.delay_ms


def growth(item: Item) -> Growth | None:
    """None unless all the faults are delays that hit every unit, so that figures can be compared."""
    rules = rules_of(item)
    delays = [delay_ms(rule.fault) for rule in rules]
    known = [each for each in delays if each is not None]
    if not known or len(known) != len(item.faults) or not all(rule.trigger.always for rule in rules):
        return None
    every_read = any(isinstance(rule.fault, Latency) and rule.fault.per == "operation" for rule in rules)
    if item.strategy.mode == "repeat":
        return _stepped(item, _ways(rules[0]), every_read)
    total = sum(delay * _ways(rule) for delay, rule in zip(known, rules, strict=True))
    if total <= 0 or any(_apart(item)):
        return None
    return _of_median(item, total, every_read)


def _of_median(item: Item, total_ms: float, every_read: bool) -> Growth | None:
    during = phases(item).during
    requests, errors = requests_and_errors(during)
    baseline = item.baseline
    if baseline is None or min(requests, baseline.requests) < _LEAST_REQUESTS or errors > FAILED * requests:
        return None
    if baseline.errors > FAILED * baseline.requests:
        return None
    usual, found = _median(baseline.response.percentiles), _acting(item, during)
    if usual is None or found is None:
        return None
    (before, of_before), (after, of_after) = usual, found
    interval = difference_interval(before, of_before, after, of_after)
    return Growth(total_ms, after - before, interval, every_read)


def _median(percentiles: Iterable[Percentile]) -> tuple[float, Interval] | None:
    for each in percentiles:
        if each.percent == 50 and bounds_percentile(each.effective, 50):
            return each.ms, Interval(each.low_ms, each.high_ms)
    return None


def _acting(item: Item, during: Sequence[Slice]) -> tuple[float, Interval] | None:
    """The median while the faults act. Of a part of a run only the medians of its slices are known."""
    if item.faults[0].windows == _WHOLE:
        return _median(item.run.response.percentiles)
    found = middle(during, lambda each: each.p50_ms)
    if found is None or len(during) < 2:
        return None
    spread = stdev([each.p50_ms for each in during])
    half = t_quantile(_CONFIDENT, len(during) - 1) * spread / sqrt(len(during))
    return found, Interval(found - half, found + half)


def _apart(item: Item) -> Iterable[bool]:
    """Whether faults act at different times, which makes their sum mean nothing."""
    return (fault.windows != item.faults[0].windows for fault in item.faults)


def _ways(rule: Rule) -> int:
    return len(flows(rule.match.side, rule.match.direction)) if rule.fault.level == "stream" else 1


def _stepped(item: Item, ways: int, every_read: bool) -> Growth | None:
    """The slope of the response time over what was stepped, by least squares, times the span."""
    points = [
        (call.stepped_value, call.total_ms)
        for call in item.calls
        if not call.baseline and call.stepped_value is not None and call.failure is None
    ]
    count = len(points)
    if count < _LEAST_CALLS or len(item.faults) != 1 or not (item.strategy.stepped or "").endswith("_ms"):
        return None
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    if spread == 0:
        return None
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
    half = t_quantile(_CONFIDENT, count - 2) * sqrt(rest / (count - 2) / spread)
    span = max(x for x, _ in points) - min(x for x, _ in points)
    interval = Interval((slope - half) * span, (slope + half) * span)
    return Growth(span * ways, slope * span, interval, every_read, count)


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
