"""The figures of one item that the rules of a review look at: phases, recovery, place of the faults. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from faultkit.base.address import LOOPBACK_NAMES, UpstreamSet
from faultkit.base.errors import InputError
from faultkit.base.intervals import proportion_interval
from faultkit.load.doubts import LATE_RELEASE_MS
from faultkit.load.summary import Slice
from faultkit.plan.plan_keys import parse_rule
from faultkit.plan.rule import Rule
from faultkit.scenario.report.report_model import Item

FAILING = ("blackhole", "dns", "http_error", "refuse", "reset", "timeout", "cut", "limit_data", "corrupt")
"""Fault kinds that make a request or connection fail when they act."""

CHANCY = ("corrupt", "packet_loss")
"""Fault kinds that decide at random for each piece of data."""

_SLACK = 1.5
_SLACK_MS = 5.0
_BY_CHANCE = 0.05
"""A claim is not made if chance alone explains it with a higher probability."""
_SLIVER = 0.05
"""The share of a slice that may lie beyond the edge of a window: slices and windows are not aligned."""


def rules_of(item: Item) -> tuple[Rule, ...]:
    """Return the rules that were applied, without those that this version cannot read."""
    found = []
    for fault in item.faults:
        try:
            found.append(parse_rule(fault.rule))
        except InputError:
            continue
    return tuple(found)


def hangs_on_chance(item: Item) -> bool:
    """Return whether chance decides if a call is hit, by a probability or a loss rate.

    A rule that this version cannot read counts as one.
    """
    rules = rules_of(item)
    if len(rules) < len(item.faults) or any(rule.trigger.probability != 1 for rule in rules):
        return True
    stepped = (item.strategy.stepped or "").split(", ")
    return any(rule.fault.kind in CHANCY for rule in rules) or any(
        each.endswith("probability") for each in stepped
    )


def reasons_text(item: Item) -> str:
    """Return the reasons of the verdict as sentences."""
    return " ".join(reason.rstrip(".") + "." for reason in item.reasons)


# Phases of a run


@dataclass(frozen=True, slots=True)
class Phases:
    """The slices that lie completely before, in, and after the windows in which faults acted."""

    before: tuple[Slice, ...]
    during: tuple[Slice, ...]
    after: tuple[Slice, ...]


def duration_s(item: Item) -> float:
    """Return how long the run of an item was."""
    ends = [each.start_s + each.width_s for each in item.run.timeline]
    return item.strategy.duration_s or max(ends, default=0.0)


def windows_s(item: Item) -> tuple[tuple[float, float], ...]:
    """Return when any fault acted, in seconds and in order; windows that touch are merged."""
    length = duration_s(item)
    merged: list[tuple[float, float]] = []
    for start, end in sorted(window for fault in item.faults for window in fault.windows):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple((start * length, end * length) for start, end in merged)


def phases(item: Item) -> Phases:
    """Return the slices of a run before, during and after the faults."""
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
    """Return the median over slices, weighted by their requests; None without requests."""
    total = sum(each.requests for each in slices)
    passed = 0
    for value, requests in sorted((of(each), each.requests) for each in slices):
        passed += requests
        if 2 * passed >= total:
            return value
    return None


def requests_and_errors(slices: Iterable[Slice]) -> tuple[int, int]:
    """Return how many requests and errors the slices hold."""
    rows = list(slices)
    return sum(each.requests for each in rows), sum(each.errors for each in rows)


# Recovery


@dataclass(frozen=True, slots=True)
class Recovery:
    """The slowest recovery after a window of faults."""

    after_s: float
    """When the faults stopped."""
    took_s: float | None
    """None: no recovery before the next window, or the end of the run."""
    watched_s: float
    resolution_s: float
    """The width of a slice, which limits the precision."""


@dataclass(frozen=True, slots=True)
class _Usual:
    """The normal figures of the service without faults."""

    p95_ms: float
    errors: float
    """The highest share of errors that counts as normal."""
    unwell: float
    """The share of fault-free slices that are not normal by these figures: noise."""


def recovery(item: Item) -> Recovery | None:
    """Return the slowest recovery; None without fault-free time afterwards, comparison, or anything to
    recover from."""
    windows, found = windows_s(item), phases(item)
    usual = _usual(item, found)
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
            if well is None and usual.unwell ** len(free) > _BY_CHANCE:
                return None
            took = None if well is None else max(0.0, well.start_s - end)
            watched.append(Recovery(end, took, until - end, free[0].width_s))
    return max(watched, key=lambda each: (each.took_s is None, each.took_s or 0.0), default=None)


def _usual(item: Item, found: Phases) -> _Usual | None:
    quiet = found.before
    if item.baseline is not None and item.baseline.timeline:
        quiet = tuple(each for each in item.baseline.timeline if each.requests)
    p95_ms = middle(quiet, lambda each: each.p95_ms)
    if p95_ms is None:
        return None
    requests, errors = requests_and_errors(quiet)
    limit = proportion_interval(errors, requests).high if errors else 0.0
    usual = _Usual(p95_ms, limit, 0.0)
    unwell = sum(not _well(each, usual) for each in quiet)
    return replace(usual, unwell=unwell / len(quiet))


def _well(each: Slice, usual: _Usual) -> bool:
    if each.errors and proportion_interval(each.errors, each.requests).low >= usual.errors:
        return False
    return each.p95_ms <= _SLACK * usual.p95_ms + _SLACK_MS


# Lateness of Faultkit itself


def off_schedule(item: Item) -> bool:
    """Return whether Faultkit itself was late or dropped requests, in the run or in its baseline."""
    runs = [item.run, *([item.baseline] if item.baseline else [])]
    if any(run.starts.dropped or run.starts.late for run in runs):
        return True
    return item.injection.lateness_p99_us > 1000 * LATE_RELEASE_MS


_ACT_ON = "faults act on "


def behind_service(item: Item) -> bool:
    """Return whether the faults were between the service and a dependency, and none between clients and the
    service.

    False if the routes do not show it: the review names no dependency that the report does not name. The
    advice depends on it, because a service cannot time out on a call that it does not make.
    """
    own = _own(item.call.url)
    routes = [route.partition(" → ") for route in item.routes]
    known = [(listen, to) for listen, arrow, to in routes if arrow]
    if own is None or not known:
        return False
    return not any(_covers(listen, own) or _meets(to, own) for listen, to in known)


def _own(url: str) -> tuple[str, int] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname else None


def _meets(to: str, own: tuple[str, int]) -> bool:
    """Return whether a route leads to the service.

    `to` is `HOST:PORT`, or `any host (HTTP proxy; faults act on HOST:PORT, …)`.
    """
    _, named, hosts = to.partition(_ACT_ON)
    if not named:
        return to.startswith("any host") or _covers(to, own)
    return hosts.startswith("any host") or _covers(hosts.removesuffix(")"), own)


def _covers(hosts: str, own: tuple[str, int]) -> bool:
    """Return whether the hosts include the service; hosts that cannot be read may."""
    try:
        broken = UpstreamSet.parse([hosts])
    except InputError:
        return True
    return any(broken.covers(host, own[1]) for host in _names(own[0]))


def _names(host: str) -> Iterator[str]:
    yield from LOOPBACK_NAMES if host in LOOPBACK_NAMES else (host,)
