"""Rules about added delay: how response times grew, and whether the delay is multiplied, passed on or hidden.

A claim about the growth is made only if the whole 95 % interval supports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import stdev

from faultkit.base.numbers import duration, rounded, signed_prose
from faultkit.base.sample_statistics import Interval, bounds_percentile, difference_interval, t_quantile
from faultkit.base.text import counted
from faultkit.faults.connection.dns import Dns
from faultkit.faults.connection.slow_accept import SlowAccept
from faultkit.faults.distribution import table_of
from faultkit.faults.drawn_delay import DrawnDelay
from faultkit.faults.fault import Fault
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.tls.tls_slow_handshake import TlsSlowHandshake
from faultkit.load.summary import Percentile, Slice
from faultkit.plan.match import flows
from faultkit.plan.rule import Rule
from faultkit.scenario.report.item_evidence import (
    behind_service,
    phases,
    requests_and_errors,
    rules_of,
    weighted_median,
)
from faultkit.scenario.report.report_model import ItemReport
from faultkit.scenario.report.review_model import Remark

FAILED = 0.05
"""Above this share of failed requests, response times are not compared: they include those of failures."""
_LEAST_REQUESTS = 30
_LEAST_CALLS = 5
"""The least number of stepped calls for a regression line: fewer may lie on one by chance."""
_CONFIDENT = 0.975
_WHOLE_RUN = ((0.0, 1.0),)


@dataclass(frozen=True, slots=True)
class Growth:
    """How much response times grew under an added delay."""

    delay_ms: float
    grown_ms: float
    interval: Interval
    """The 95 % interval of `grown_ms`."""
    every_read: bool
    """Whether the delay is added to each read, so that one request may meet it many times."""
    calls: int = 0
    """The number of stepped calls of which `grown_ms` is the slope; 0 if it is the median of a load."""

    @property
    def times(self) -> float:
        """The growth as a multiple of the delay."""
        return self.grown_ms / self.delay_ms

    def within(self, least: float, most: float) -> bool:
        """Return whether the whole interval is at least `least` and less than `most` times the delay."""
        low, high = self.interval
        return least * self.delay_ms <= low and high < most * self.delay_ms


def growth(item: ItemReport) -> Growth | None:
    """Return the growth of response times; None unless all faults are delays that hit every request."""
    rules = rules_of(item)
    delays = [delay_ms(rule.fault) for rule in rules]
    known = [each for each in delays if each is not None]
    if not known or len(known) != len(item.faults) or not all(rule.trigger.always for rule in rules):
        return None
    every_read = any(isinstance(rule.fault, Latency) and rule.fault.per == "operation" for rule in rules)
    if item.strategy.mode == "repeat":
        return _growth_over_steps(item, _directions(rules[0]), every_read)
    total = sum(delay * _directions(rule) for delay, rule in zip(known, rules, strict=True))
    # The sum means nothing if the faults act at different times.
    if total <= 0 or any(fault.windows != item.faults[0].windows for fault in item.faults):
        return None
    return _growth_of_median(item, total, every_read)


def _growth_of_median(item: ItemReport, total_ms: float, every_read: bool) -> Growth | None:
    during = phases(item).during
    requests, errors = requests_and_errors(during)
    baseline = item.baseline
    if baseline is None or min(requests, baseline.requests) < _LEAST_REQUESTS or errors > FAILED * requests:
        return None
    if baseline.errors > FAILED * baseline.requests:
        return None
    usual, found = _median(baseline.response.percentiles), _median_during_faults(item, during)
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


def _median_during_faults(item: ItemReport, during: Sequence[Slice]) -> tuple[float, Interval] | None:
    """Return the median while the faults act; for part of a run it comes from the medians of its slices."""
    if item.faults[0].windows == _WHOLE_RUN:
        return _median(item.run.response.percentiles)
    found = weighted_median(during, lambda each: each.p50_ms)
    if found is None or len(during) < 2:
        return None
    spread = stdev([each.p50_ms for each in during])
    half = t_quantile(_CONFIDENT, len(during) - 1) * spread / sqrt(len(during))
    return found, Interval(found - half, found + half)


def _directions(rule: Rule) -> int:
    return len(flows(rule.match.side, rule.match.direction)) if rule.fault.level == "stream" else 1


def _growth_over_steps(item: ItemReport, ways: int, every_read: bool) -> Growth | None:
    """Return the growth over the steps: the least-squares slope of the response time times the span."""
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
    """Return the median delay that a fault adds; None if it is not a delay."""
    if isinstance(fault, Latency | DrawnDelay):
        if fault.distribution == "table":
            return table_of(fault).delay_ms(50)
        tail = fault.scale_ms * 2 ** (1 / fault.shape) if fault.shape > 0 else 0.0
        return {
            "normal": fault.mean_ms,
            "uniform": (fault.min_ms + fault.max_ms) / 2,
            "pareto": tail,
            "pareto-normal": tail + fault.mean_ms,
        }[fault.distribution]
    if isinstance(fault, Jitter):
        return fault.amplitude_ms / 2
    if isinstance(fault, SlowAccept | TlsSlowHandshake):
        return fault.delay_ms
    if isinstance(fault, Dns) and fault.outcome == "resolve":
        return fault.delay_ms
    return None


_LEAST_FOR_NO_DIFFERENCE = 100
"""With fewer requests, the absence of a difference means little."""
_HIDDEN, _ONCE, _SEVERAL = 0.15, 0.75, 1.5
"""Growth as a multiple of the delay: up to these, the delay is hidden, partly paid, paid once."""


def delay_multiplied(item: ItemReport) -> Remark | None:
    """Report a delay that each request pays several times."""
    found = growth(item)
    if found is None or not found.within(_SEVERAL, inf):
        return None
    times = max(2, round(found.times))
    if found.every_read:
        cause = "The delay is added to every read, and an answer comes in several of them."
        advice = "Keep connections open, and make answers smaller or fewer."
    elif behind_service(item):
        cause = (
            f"The slowed dependency is called about {times} times, one after the other (N+1 queries, a "
            "page at a time), or a new connection with its handshakes is made each time (no keep-alive)."
        )
        advice = "Join the calls, make them at the same time, cache, and keep connections open."
    else:
        cause = (
            f"Between clients and the service, a request needs about {times} round trips: a new "
            "connection with its handshakes each time (no keep-alive), or an answer in several pieces."
        )
        advice = "Let clients keep connections open, and make answers smaller or fewer."
    return Remark(
        "risk",
        f"Each request pays for the delay about {times} times.",
        f"{_growth_text(found)} (×\u00a0{rounded(found.times)}).",
        cause,
        advice,
    )


def delay_passed_on(item: ItemReport) -> Remark | None:
    """Report a delay that each request pays once."""
    found = growth(item)
    if found is None or not found.within(_ONCE, _SEVERAL):
        return None
    if behind_service(item):
        cause = "The slowed path is on the way of every request, once; nothing hides it."
        advice = (
            "Fine if the delay is acceptable. If not: cache, a shorter timeout with a fallback, or work "
            "after the answer."
        )
    else:
        cause = "The delay stands between clients and the service, where nothing can hide it."
        advice = (
            "Fine if the delay is acceptable. If not: caches close to clients, and clients that hedge "
            "slow requests."
        )
    return Remark(
        "note", "The delay reaches the user once, in full.", f"{_growth_text(found)}.", cause, advice
    )


def delay_hidden(item: ItemReport) -> Remark | None:
    """Report a delay that requests do not pay, or only in part."""
    found = growth(item)
    if found is None:
        return None
    injected, behind = sum(fault.injected for fault in item.faults), behind_service(item)
    if found.within(-inf, _HIDDEN) and injected >= max(10, item.run.requests * 0.5):
        much = (
            f"{_delay_text(found)}, {counted(injected, 'time')}; {_figure_that_grew(found)} changed by "
            f"{signed_prose(duration(found.grown_ms))}."
        )
        if behind:
            return Remark(
                "good",
                "The delay hardly reaches the user.",
                much,
                "The answer does not wait for the slowed call: it is cached, asynchronous, or given up "
                "early.",
                "See that what is served meanwhile is still fresh enough.",
            )
        return Remark(
            "note",
            "The delay hardly reaches the user.",
            much,
            "It acts where clients do not wait: on connections that they share, or after the answer.",
            "To see what it does, let it act on answers, and make a connection for each request.",
        )
    if not found.within(_HIDDEN, _ONCE):
        return None
    return Remark(
        "note",
        f"Only a part of the delay reaches {'the response time' if found.calls else 'the median request'}.",
        f"{_growth_text(found)} (×\u00a0{rounded(found.times)}).",
        "Some requests do without the slowed call, or share a connection that has paid already."
        if behind
        else "Requests share connections that have paid already.",
    )


def tail_only(item: ItemReport) -> Remark | None:
    """Report that high percentiles grew and the median did not."""
    by_name = {each.name: each for each in item.impact}
    p50, tail = by_name.get("p50"), by_name.get("p99") or by_name.get("p95")
    if p50 is None or tail is None or not tail.shown:
        return None
    # A fault that acts for less than half of the run does not move the median of the run: use its windows.
    acting = weighted_median(phases(item).during, lambda each: each.p50_ms)
    median_grown = p50.difference if acting is None else max(p50.difference, acting - p50.baseline)
    if tail.difference < 0.5 * max(tail.baseline, 1.0) or median_grown > 0.1 * max(p50.baseline, 1.0):
        return None
    return Remark(
        "risk",
        "The tail grew, the median did not.",
        f"{tail.name} {duration(tail.baseline)} → {duration(tail.fault)}, p50 {duration(p50.baseline)} → "
        f"{duration(p50.fault)}.",
        "Only some requests meet the fault, and averages hide them: a retry after a timeout, a lost "
        "packet, a full pool of connections.",
        "Watch the high percentiles; hedge or bound the slow calls.",
    )


def no_difference(item: ItemReport) -> Remark | None:
    """Report that no figure differs from the baseline."""
    if not item.impact or item.verdict in ("not exercised", "inconclusive", "unfinished"):
        return None
    if (
        item.run.requests < _LEAST_FOR_NO_DIFFERENCE
        or item.baseline is None
        or item.baseline.requests < _LEAST_FOR_NO_DIFFERENCE
    ):
        return None
    if any(each.shown for each in item.impact) or not any(fault.injected for fault in item.faults):
        return None
    mild = "the fault is too mild to be seen with so many requests."
    return Remark(
        "good",
        "The data show no difference between baseline and fault.",
        f"{counted(sum(fault.injected for fault in item.faults), 'injection')}, and every 95 % "
        "interval holds 0.",
        f"The service tolerates this fault, or {mild}"
        if behind_service(item)
        else f"Clients do not notice it: {mild}",
        "Try a stronger fault to learn where it ends.",
    )


def _growth_text(found: Growth) -> str:
    return f"{_delay_text(found)}, and {_figure_that_grew(found)} grew by {duration(found.grown_ms)}"


def _delay_text(found: Growth) -> str:
    if found.calls:
        return f"The delay grew by {duration(found.delay_ms)} over the steps"
    return f"{duration(found.delay_ms)} were added"


def _figure_that_grew(found: Growth) -> str:
    """Return the figure that grew: stepped calls have no median, because each has another delay."""
    return f"the response time (on a line through {found.calls} calls)" if found.calls else "the median"
