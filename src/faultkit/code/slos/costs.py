"""What kinds of work cost and how often they fail, and the figures that a function can promise for that.

The table is what well-run systems in one region show: orders of magnitude to start from, and to be replaced
by what is measured. All that is suggested comes from it, from the code's own timeouts and tries, and from the
assumptions that are named here.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.code.slos.work import Dependency, EntryKind, Work, WorkKind


@dataclass(frozen=True, slots=True)
class Cost:
    p95_s: float
    p99_s: float
    up: float
    """The share of calls that succeed."""
    words: str


OWN_WORK = Cost(0.05, 0.1, 0.9999, "its own work")
COSTS: dict[WorkKind, Cost] = {
    "cache": Cost(0.01, 0.03, 0.9999, "a cache"),
    "file": Cost(0.02, 0.1, 0.9999, "a file"),
    "query": Cost(0.05, 0.2, 0.9998, "a database, reading"),
    "write": Cost(0.1, 0.3, 0.9998, "a database, writing"),
    "publish": Cost(0.05, 0.2, 0.9998, "a message broker"),
    "request": Cost(0.25, 0.8, 0.9995, "another service over HTTP"),
    "send": Cost(0.45, 1.2, 0.9995, "another service over HTTP, writing"),
    "program": Cost(1.0, 3.0, 0.999, "another program"),
    "model": Cost(8.0, 25.0, 0.995, "a language model"),
    "token": Cost(1.5, 5.0, 0.995, "a language model, for its first words"),
    "wait": Cost(0.0, 0.0, 1.0, "a fixed wait"),
}
BOUNDED: frozenset[WorkKind] = frozenset({"request", "send", "model", "token"})
"""Calls that are as slow as somebody else, so that a timeout is what bounds them."""
STEPS_S = (
    0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5, 10, 12, 15, 20, 25,
    30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700, 3600, 7200, 14400, 28800, 86400,
)  # fmt: skip
"""Thresholds that people use; a figure is rounded up to the next one."""
LEAST_S: dict[EntryKind, float] = {"job": 60.0}
"""Nobody waits for a job by the second."""
OBJECTIVES = (99.9, 99.5, 99.0, 98.0, 95.0, 90.0)
"""In per cent. Google's API takes no goal above 99.9 in all of its versions."""
MOST: dict[EntryKind, float] = {"job": 99.0}
"""A job that failed is run again."""
BLOCKED = 2.0
"""What stops the event loop makes the slowest requests wait for one another."""


@dataclass(frozen=True, slots=True)
class Expectation:
    p95_s: float
    """One of STEPS_S."""
    p99_s: float
    worst_s: float | None
    """If every try of every call runs into its timeout; None if nothing bounds one of them."""
    availability: float
    """In per cent, one of OBJECTIVES."""
    errors: float
    """The highest share that is acceptable, in per cent."""
    is_rounded: bool
    """The calls and the function's own work make less than p95_s."""


def expectation_of(work: Work) -> Expectation:
    p95_s = OWN_WORK.p95_s + _together(work, [cost_s(each)[0] for each in work.dependencies])
    p99_s = OWN_WORK.p99_s + _together(work, [cost_s(each)[1] for each in work.dependencies])
    p99_s *= BLOCKED if work.blocks_loop else 1.0
    least_s = LEAST_S.get(work.entry.kind, 0.0)
    low, high = stepped(max(p95_s, least_s)), stepped(max(p95_s, p99_s, least_s))
    # The same figure twice is one objective too many.
    below = STEPS_S[max(STEPS_S.index(low) - 1, 0)]
    if low == high and p95_s <= below + 1e-9 and not least_s:
        low = float(below)
    elif low == high:
        high = stepped(high + 1e-6)
    availability = min(_availability(work), MOST.get(work.entry.kind, 100.0))
    return Expectation(
        low, high, _worst_s(work), availability, _errors(work, availability), p95_s < low - 1e-9
    )


def _together(work: Work, costs_s: list[float]) -> float:
    """What is done one after the other adds up; of what is done at the same time, the longest counts."""
    pairs = list(zip(work.dependencies, costs_s, strict=True))
    return sum(cost for each, cost in pairs if not each.is_concurrent) + max(
        (cost for each, cost in pairs if each.is_concurrent), default=0.0
    )


def cost_s(dependency: Dependency) -> tuple[float, float]:
    """Of a call, as often as it is done, at the 95th and the 99th percentile.

    A timeout bounds each of them. The slow one of a hundred is slow once; if it is tried again, it runs into
    its timeout first."""
    cost, times = COSTS[dependency.kind], dependency.times
    p95_s, p99_s = cost.p95_s + dependency.wait_s, cost.p99_s + dependency.wait_s
    timeout_s = dependency.timeout_s
    if timeout_s is not None:
        p95_s, p99_s = min(p95_s, timeout_s), min(p99_s, timeout_s)
        if dependency.tries != 1:
            p99_s = timeout_s + p95_s
    return p95_s * times, p95_s * times + (p99_s - p95_s)


def stepped(seconds: float) -> float:
    # A hair of room, so that 0.05 + 0.25 is 0.3.
    return next((float(step) for step in STEPS_S if step >= seconds - 1e-9), float(STEPS_S[-1]))


def _worst_s(work: Work) -> float | None:
    costs_s = list[float]()
    for each in work.dependencies:
        if each.kind not in BOUNDED:
            costs_s.append(each.wait_s * each.times)
        elif each.timeout_s is None or each.tries is None:
            return None
        else:
            costs_s.append(each.timeout_s * each.tries * each.times)
    return _together(work, costs_s)


def _availability(work: Work) -> float:
    up = OWN_WORK.up
    for each in work.dependencies:
        if each.is_soft:
            continue
        down = 1 - COSTS[each.kind].up
        # Half of what fails once works the second time; the rest is an outage.
        up *= (1 - (down if each.tries == 1 else down / 2)) ** each.times
    return next((each for each in OBJECTIVES if each <= up * 100), OBJECTIVES[-1])


def _errors(work: Work, availability: float) -> float:
    """Wide enough that it is not just the other side of the availability."""
    least = 5.0 if work.entry.is_http and work.takes_input else 1.0
    return max(least, round(2 * (100 - availability), 2))
