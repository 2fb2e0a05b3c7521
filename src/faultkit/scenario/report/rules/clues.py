"""What the rules of a review look at: figures read off one item. Pure; says nothing, only measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from faultkit.base.errors import InputError
from faultkit.base.intervals import proportion_interval
from faultkit.load.conclusive import LATE_RELEASE_MS
from faultkit.load.summary import Slice
from faultkit.plan.parse import parse_rule
from faultkit.plan.rule import Rule
from faultkit.scenario.report.model import Item

FAILING = ("blackhole", "dns", "http_error", "refuse", "reset", "timeout", "cut", "limit_data", "corrupt")
"""Kinds that make a unit fail when they hit it, as far as the vocabulary knows them."""

CHANCY = ("corrupt", "packet_loss")
"""Kinds that draw lots for each piece of data themselves."""

_SLACK = 1.5
_SLACK_MS = 5.0
_BY_CHANCE = 0.05
"""What may come about by chance more often than this is not claimed."""
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


def hangs_on_chance(item: Item) -> bool:
    """Whether luck decides if a call is hit: a probability, or a rate of loss. A rule that this version
    cannot read may be one."""
    rules = rules_of(item)
    if len(rules) < len(item.faults) or any(rule.trigger.probability != 1 for rule in rules):
        return True
    stepped = (item.strategy.stepped or "").split(", ")
    return any(rule.fault.kind in CHANCY for rule in rules) or any(
        each.endswith("probability") for each in stepped
    )


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


@dataclass(frozen=True, slots=True)
class _Usual:
    """What is normal for this service, and what of its own slices is not."""

    p95_ms: float
    errors: float
    """The share that may fail, at most."""
    unwell: float
    """The share of quiet slices that are not well by their own measure: noise."""


def recovery(item: Item) -> Recovery | None:
    """None: no fault-free stretch to watch, nothing to compare with, or nothing to recover from."""
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


# Our own error


def off_schedule(item: Item) -> bool:
    """Whether our own side was late or left requests out, in the run or in its baseline."""
    runs = [item.run, *([item.baseline] if item.baseline else [])]
    if any(run.starts.dropped or run.starts.late for run in runs):
        return True
    return item.injection.lateness_p99_us > 1000 * LATE_RELEASE_MS
