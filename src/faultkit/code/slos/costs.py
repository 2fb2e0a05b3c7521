"""What a function does, what each kind of call costs, and what a function can promise because of it.

The table of costs holds orders of magnitude of well-run systems in one region: a start, to be replaced by
measurements. All suggestions come from it, from timeouts and tries in the code, and from the assumptions
that are named here. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

EntryKind: TypeAlias = Literal["request", "stream", "message", "job", "function"]
"""What waits for the function: a client for a response, a client for the first byte, a queue, a
schedule, other code."""
WorkKind: TypeAlias = Literal[
    "cache", "file", "query", "write", "request", "send", "publish", "program", "model", "token", "wait"
]
"""`query` and `write` go to a database; `request` reads from another service over HTTP, `send` changes
something there; `publish` hands a message to a broker; `token` is the first token of a model; `wait` is
a sleep."""


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """How a function is called."""

    kind: EntryKind
    name: str
    """The name of the function; empty if it has none."""
    method: str = "ANY"
    path: str = ""
    """The path of the route as written; empty if it is not stated."""
    framework: str = ""
    line: int = 1
    by_name: bool = False
    """Whether only its name suggests the kind."""
    unmounted: str = ""
    """The router whose prefix is not in the text; empty if the path is whole."""

    @property
    def is_http(self) -> bool:
        return self.kind in ("request", "stream")


@dataclass(frozen=True, slots=True)
class Dependency:
    """A call that leaves the function's own code."""

    kind: WorkKind
    call: str
    """The call as written: `httpx.get`."""
    line: int
    times: int = 1
    """Number of sequential calls; an estimate where it depends on the input."""
    is_concurrent: bool = False
    is_soft: bool = False
    """Whether the function can answer without it."""
    timeout_s: float | None = None
    """Seconds; None if there is no timeout, or it is unknown."""
    timeout_is: Literal["given", "default", "missing", "unknown"] = "unknown"
    """Whether the code sets it, the library has a default, there is none, or it is unknown."""
    tries: int | None = 1
    """Number of tries; None if it is retried without end."""
    library: str = ""
    wait_s: float = 0.0
    """Seconds of a sleep."""


@dataclass(frozen=True, slots=True)
class FunctionProfile:
    """What a function does, as far as its objectives depend on it."""

    entry: EntryPoint
    dependencies: tuple[Dependency, ...] = ()
    blocks_loop: int = 0
    """Line of a call that blocks the event loop; 0 if there is none."""
    exporter: str = ""
    """The name of the exporter that the text imports; empty if it imports none."""
    others: int = 0
    """Functions in the text that were not examined."""
    language_by_words: str = ""
    """The title of the language, if only its words were examined."""
    broken_line: int = 0
    """The first line that does not parse; 0 if there is none."""


# Cost and failure rate of each kind of call.


@dataclass(frozen=True, slots=True)
class Cost:
    """Latency and success rate of one kind of call."""

    p95_s: float
    p99_s: float
    up: float
    """Share of calls that succeed."""
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
"""Calls that take as long as another system does, so that only a timeout bounds them."""
STEPS_S = (
    0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5, 10, 12, 15, 20, 25,
    30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700, 3600, 7200, 14400, 28800, 86400,
)  # fmt: skip
"""Common thresholds in seconds; a figure is rounded up to the next one."""
LEAST_S: dict[EntryKind, float] = {"job": 60.0}
"""Lowest threshold by kind of entry, in seconds: a job has no caller that waits."""
OBJECTIVES = (99.9, 99.5, 99.0, 98.0, 95.0, 90.0)
"""Objectives in percent. Not all versions of Google's API take a goal above 99.9."""
MOST: dict[EntryKind, float] = {"job": 99.0}
"""Highest objective by kind of entry: a failed job is run again."""
BLOCKED = 2.0
"""Factor for code that blocks the event loop: its slowest requests wait for each other."""


@dataclass(frozen=True, slots=True)
class FunctionPromise:
    """The latency, availability and error rate that a function can promise."""

    p95_s: float
    """One of STEPS_S."""
    p99_s: float
    worst_s: float | None
    """Seconds if every try of every call runs into its timeout; None if one of them is unbounded."""
    availability: float
    """Percent, one of OBJECTIVES."""
    errors: float
    """The highest acceptable share in percent."""
    is_rounded: bool
    """Whether the calls and the function's own work take less than p95_s."""


def promise_of(profile: FunctionProfile) -> FunctionPromise:
    """Return what a function with this profile can promise."""
    p95_s = OWN_WORK.p95_s + _together(profile, [cost_s(each)[0] for each in profile.dependencies])
    p99_s = OWN_WORK.p99_s + _together(profile, [cost_s(each)[1] for each in profile.dependencies])
    p99_s *= BLOCKED if profile.blocks_loop else 1.0
    least_s = LEAST_S.get(profile.entry.kind, 0.0)
    low, high = stepped(max(p95_s, least_s)), stepped(max(p95_s, p99_s, least_s))
    # The same figure twice is one objective too many.
    below = STEPS_S[max(STEPS_S.index(low) - 1, 0)]
    if low == high and p95_s <= below + 1e-9 and not least_s:
        low = float(below)
    elif low == high:
        high = stepped(high + 1e-6)
    availability = min(_availability(profile), MOST.get(profile.entry.kind, 100.0))
    return FunctionPromise(
        low, high, _worst_s(profile), availability, _errors(availability), p95_s < low - 1e-9
    )


def _together(profile: FunctionProfile, costs_s: list[float]) -> float:
    """Return the total time: sequential calls add up, of concurrent ones the longest counts."""
    pairs = list(zip(profile.dependencies, costs_s, strict=True))
    return sum(cost for each, cost in pairs if not each.is_concurrent) + max(
        (cost for each, cost in pairs if each.is_concurrent), default=0.0
    )


def cost_s(dependency: Dependency) -> tuple[float, float]:
    """Return the time of a call, as often as it is made, at the 95th and the 99th percentile.

    A timeout bounds each of them. The slow one of a hundred is slow once; if it is tried again, it runs
    into its timeout first.
    """
    cost, times = COSTS[dependency.kind], dependency.times
    p95_s, p99_s = cost.p95_s + dependency.wait_s, cost.p99_s + dependency.wait_s
    timeout_s = dependency.timeout_s
    if timeout_s is not None:
        p95_s, p99_s = min(p95_s, timeout_s), min(p99_s, timeout_s)
        if dependency.tries != 1:
            p99_s = timeout_s + p95_s
    return p95_s * times, p95_s * times + (p99_s - p95_s)


def stepped(seconds: float) -> float:
    """Round a time up to the next of STEPS_S."""
    # A small tolerance, so that 0.05 + 0.25 counts as 0.3.
    return next((float(step) for step in STEPS_S if step >= seconds - 1e-9), float(STEPS_S[-1]))


def _worst_s(profile: FunctionProfile) -> float | None:
    costs_s = list[float]()
    for each in profile.dependencies:
        if each.kind not in BOUNDED:
            costs_s.append(each.wait_s * each.times)
        elif each.timeout_s is None or each.tries is None:
            return None
        else:
            costs_s.append(each.timeout_s * each.tries * each.times)
    return _together(profile, costs_s)


def _availability(profile: FunctionProfile) -> float:
    up = OWN_WORK.up
    for each in profile.dependencies:
        if each.is_soft:
            continue
        down = 1 - COSTS[each.kind].up
        # Half of the failed calls succeed when they are tried again; the rest are outages.
        up *= (1 - (down if each.tries == 1 else down / 2)) ** each.times
    return next((each for each in OBJECTIVES if each <= up * 100), OBJECTIVES[-1])


def _errors(availability: float) -> float:
    """Return an error budget wide enough that it is not just the complement of the availability."""
    return max(1.0, round(2 * (100 - availability), 2))
