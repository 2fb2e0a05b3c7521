"""Judges two versions of a service by their figures under the same fault: better or worse. Pure.

What callers get comes first, by three shares of all calls: succeeded (a status below 400), handled (any
answer but 500, the status of an unhandled error), answered. After that come the costs: time, calls and
connections to the upstream, processor, open files, memory. A figure counts if the 99 % interval of its
difference excludes 0 (not 95 %: a proof compares some fifty figures). A cost must also have changed by a
quarter (`NOTICED`) and by more than its grain (`Cost.least`).

    worse          a share is lower; or a cost rose, and no gain of callers pays for it; or its process ended,
                   and that of the old version did not
    better         a share is higher; or the shares are as before, and a cost fell
    no difference  enough calls, and nothing counts
    not shown      the runs decide nothing; or what changes are successes with answers that differ from those
                   without a fault (without one: from those of the old version), answers that blame callers
                   (400 to 499, but 408 and 429), or calls to the upstream that are left out without a fault

A gain in successes or answers pays for costs of up to twice as much (`MOST_PAID`), and for a mean time of up
to a second. Errors that are handled instead of unhandled pay for nothing: they still are errors. A change
that both gains and loses is worse, and is named a trade-off. Of all faults, one that is worse makes the
change worse.

An answer that differs may be a default that callers can use, or an error that they no longer see; a call
that is left out may have been superfluous, or a write: only the author knows. So they make no change worse,
and none better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from faultkit.base.numbers import rounded
from faultkit.base.sample_statistics import Interval, difference_interval, mean_interval, proportion_interval
from faultkit.base.text import count_of
from faultkit.code.proof.healthy_answers import Unlike

Verdict: TypeAlias = Literal["better", "worse", "no difference", "not shown"]

CONFIDENCE = 0.99
NOTICED = 1.25
"""Costs that differ by less than this factor do not count."""
MOST_PAID = 2.0
"""The factor up to which a cost may rise if callers gain successes or answers."""
ENOUGH = 30
"""Calls of each version without which there is no verdict."""
SUCCEEDED = "succeeded"
UNHANDLED = 500
"""Status of an unhandled error in common frameworks."""
HEALTHY = "healthy"
"""The name of the case without a fault."""
BLACKHOLE = "blackhole"
_TIMEOUT = "timeout"
"""The kind of failure of calls that were given up, as the load names it."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its interval."""

    value: float
    interval: Interval

    @classmethod
    def of(cls, value: float, stddev: float, effective: float) -> Mean:
        """Return the mean of a sample."""
        return cls(value, mean_interval(value, stddev, effective, CONFIDENCE))

    @classmethod
    def of_count(cls, count: int, total: int) -> Mean:
        """Return the mean number for each of `total` calls, as if each call drew it from a Poisson
        distribution. Attempts spread less than that, so the interval is rather too wide."""
        if not total:
            return cls(0.0, Interval(0.0, 0.0))
        return cls.of(count / total, (count / total) ** 0.5, total)


@dataclass(frozen=True, slots=True)
class Cost:
    """A figure of which less is better."""

    name: str
    unit: str
    least: float
    """Differences up to this do not count."""
    tolerated: float = 0.0
    """A gain of callers pays for a rise up to this, whatever its factor: failing at once is no merit."""


TIME = Cost("time", "ms", 20.0, 1000.0)
UPSTREAM_CALLS = Cost("upstream calls", "a call", 0.2)
UPSTREAM_CONNECTIONS = Cost("upstream connections", "a call", 0.2, 2.0)
CPU = Cost("CPU", "ms a call", 10.0, 50.0)
OPEN_FILES = Cost("open files", "", 10.0, 50.0)
MEMORY = Cost("memory", "MB", 32.0, 100.0)
_OF_MACHINE = {cost.name for cost in (TIME, CPU, OPEN_FILES, MEMORY)}
COSTS = (TIME, UPSTREAM_CALLS, UPSTREAM_CONNECTIONS, CPU, OPEN_FILES, MEMORY)


@dataclass(frozen=True, slots=True)
class Figures:
    """Measurements of one version under one fault."""

    requests: int
    statuses: dict[int, int]
    """Answers by status."""
    costs: dict[str, Mean]
    """By name of the cost; those that could be measured."""
    injected: int
    """How often the fault acted."""
    effective: float
    """Number of independent calls that carry as much information about shares."""
    failures: dict[str, int] = field(default_factory=dict)
    """Calls without an answer, by kind."""
    mean_ms: float = 0.0
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    max_ms: float = 0.0
    late_ms: float = 0.0
    """How much of a time may be lateness of this machine."""
    upstream_requests: int = 0
    calls_by_path: Mapping[str, int] = field(default_factory=dict)
    """Calls to upstreams by method, path and upstream; known without a fault only."""
    slos_missed: tuple[str, ...] = ()
    ended: bool = False
    """Whether its process ended during the run."""
    ending: str = ""
    """How it ended, and the end of what it wrote."""
    unlike: Unlike = field(default_factory=Unlike)
    """Successes with answers that differ from those without a fault, or from those of the old version."""
    doubt: str = ""
    """Why the run decides nothing; empty if it does."""

    @property
    def answered(self) -> int:
        """Calls that got an HTTP response before their caller gave up."""
        return sum(self.statuses.values())

    @property
    def succeeded(self) -> int:
        return sum(count for status, count in self.statuses.items() if status < 400)

    @property
    def different(self) -> int:
        """Successes with another answer than without a fault; not those that came too late."""
        return min(self.unlike.count, self.succeeded)

    @property
    def usual(self) -> int:
        """Successes with the same answer as without a fault, or not known to differ."""
        return self.succeeded - self.different

    @property
    def handled(self) -> int:
        """Calls that got an answer other than an unhandled error."""
        return self.answered - self.statuses.get(UNHANDLED, 0)

    @property
    def blaming(self) -> int:
        """Calls that got an answer which says that the caller is at fault, so that it will not try again."""
        return sum(count for status, count in self.statuses.items() if _blames(status))

    def sentence(self) -> str:
        """Return the figures as a short sentence."""
        if not self.requests:
            return "no call was made"
        statuses = ", ".join(f"{count} × {status}" for status, count in sorted(self.statuses.items()))
        if not self.answered:
            text = f"none of {self.requests} calls had an answer in time"
        else:
            whole = "all" if self.answered == self.requests else f"{self.answered} of {self.requests}"
            text = f"{whole} answered ({statuses})"
        calls = count_of(self.upstream_requests, "upstream call")
        ended = ", and the process ended" if self.ended else ""
        ended += f" ({self.ending})" if self.ending else ""
        return f"{text}, {self.mean_ms / 1000:.2f} s on average, {calls}{ended}"

    def document(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "answered": self.answered,
            "handled": self.handled,
            "succeeded": self.succeeded,
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "different_answers": self.different,
            "failures": self.failures,
            "mean_ms": round(self.mean_ms, 1),
            "p50_ms": round(self.p50_ms, 1),
            "p95_ms": round(self.p95_ms, 1),
            "max_ms": round(self.max_ms, 1),
            "slos_missed": list(self.slos_missed),
            "injected": self.injected,
            "upstream_requests": self.upstream_requests,
            "ended": self.ended,
            "ending": self.ending,
            "doubt": self.doubt,
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure of the new version minus that of the old one, with its interval."""

    name: str
    unit: str
    before: float
    after: float
    low: float
    high: float
    counts: bool
    """Whether the interval excludes 0, and the difference is large enough to matter."""
    most_paid: float = float("inf")
    """The highest value for which a gain of callers pays."""
    is_cost: bool = True

    @property
    def direction(self) -> int:
        """1 if it is a gain, -1 if it is a loss, 0 if it does not count."""
        if not self.counts:
            return 0
        return 1 if (self.after < self.before) == self.is_cost else -1

    def sentence(self) -> str:
        """Return the difference in a few words."""
        if not self.is_cost:
            return f"{self.name}: {self.before:.0f} % of calls, now {self.after:.0f} %"
        return f"{self.name}: {rounded(self.before)}, now {rounded(self.after)} {self.unit}".rstrip()

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "unit": self.unit,
            "before": round(self.before, 3),
            "after": round(self.after, 3),
            "difference": round(self.after - self.before, 3),
            "low": round(self.low, 3),
            "high": round(self.high, 3),
            "counts": self.counts,
        }


@dataclass(frozen=True, slots=True)
class FaultComparison:
    """Both versions under one fault."""

    fault: str
    """`healthy`, or the fault: `blackhole`, `latency of 2 s`."""
    before: Figures
    after: Figures
    verdict: Verdict
    why: str
    differences: tuple[Difference, ...] = ()

    @property
    def rests_on_machine(self) -> bool:
        """Whether only figures that a hiccup of the machine changes speak for the verdict."""
        towards = {"better": 1, "worse": -1}.get(self.verdict)
        speaking = {each.name for each in self.differences if each.direction == towards}
        return bool(speaking) and speaking <= _OF_MACHINE

    @property
    def endings(self) -> tuple[str, ...]:
        """The versions whose processes ended, each with the end of what it wrote."""
        versions = (("old", self.before), ("new", self.after))
        return tuple(
            f"the process of the {name} version ended{f': {each.ending}' if each.ending else ''}"
            for name, each in versions
            if each.ended
        )

    @property
    def reason(self) -> str:
        return f"{self.why}. Before: {self.before.sentence()}. After: {self.after.sentence()}."

    def document(self) -> dict[str, Any]:
        return {
            "fault": self.fault,
            "verdict": self.verdict,
            "reason": self.reason,
            "differences": [each.document() for each in self.differences],
            "before": self.before.document(),
            "after": self.after.document(),
        }


def compare(
    fault: str, before: Figures, after: Figures, usual: Mapping[str, Mean] | None = None
) -> FaultComparison:
    """Compare both versions under one fault.

    usual: the costs of the old version without a fault. One that breaks down costs little, so that gains of
    callers pay for what is more than usual only."""
    broke_down = after.ended and not before.ended
    problem = _why_undecided(fault, before, after)
    if problem:
        if broke_down:
            return FaultComparison(fault, before, after, "worse", _BROKE_DOWN)
        return FaultComparison(fault, before, after, "not shown", problem)
    shares, costs = _shares(before, after), _costs(before, after, usual or {})
    usual_share = _share("usual", before, after)
    # Successes that are lost, and were no usual answers, are no loss that can be judged.
    is_open = shares[0].direction < 0 <= usual_share.direction
    counted = list(shares[1:] if is_open else shares)
    if before.different and usual_share.direction > 0:
        counted.append(replace(usual_share, name="succeeded as without a fault"))
    verdict, why = _judged(counted, costs)
    if other := _other_answers(fault, before, after, usual_share):
        verdict, why = ("worse", f"{why}; {other}") if verdict == "worse" else ("not shown", other)
    elif verdict != "worse" and (open_question := _blamed(before, after) or _left_out(fault, before, after)):
        verdict, why = "not shown", open_question
    elif after.different and verdict == "better":
        why += f"; {_differing(after, _WITHOUT_FAULT)}"
    if broke_down:
        verdict, why = "worse", f"{_BROKE_DOWN}; {why}" if verdict == "worse" else _BROKE_DOWN
    return FaultComparison(fault, before, after, verdict, why, (*shares, *costs))


def confirmed(found: FaultComparison, again: FaultComparison) -> FaultComparison:
    """Return the comparison of two runs under one fault: a verdict that both agree on, or no difference."""
    if again.verdict == found.verdict:
        return again
    return replace(again, verdict="no difference", why=f"{found.why}; a second run did not confirm it")


def _why_undecided(fault: str, before: Figures, after: Figures) -> str:
    doubt = before.doubt or after.doubt
    if doubt:
        return f"The run decides nothing: {doubt.rstrip('.')}"
    fewest = min(before.requests, after.requests)
    if fewest < ENOUGH:
        return f"{ENOUGH} calls of each version are needed, and there were {fewest}"
    if fault != HEALTHY and not (before.injected and after.injected):
        if before.ended and not before.injected:
            return "The process of the old version ended before the fault acted"
        return "The fault never acted: the service did not call through the proxy"
    if fault == HEALTHY and not before.succeeded:
        return _why_none_succeeds(before)
    return ""


def _why_none_succeeds(figures: Figures) -> str:
    """Return what is known of a service that fails without a fault, and what to do."""
    if figures.failures.get(_TIMEOUT, 0) == figures.requests:
        return (
            "Without a fault no answer ends in time: a route that streams without an end cannot be proved; "
            "try another --route"
        )
    if figures.statuses.get(401, 0) + figures.statuses.get(403, 0) == figures.requests:
        return "Without a fault no call is permitted, and a proof sends no token: try another --route"
    return "Without a fault no call succeeds: try another --route or the real --upstream"


def _shares(before: Figures, after: Figures) -> tuple[Difference, ...]:
    return tuple(_share(name, before, after) for name in (SUCCEEDED, "handled", "answered"))


def _other_answers(fault: str, before: Figures, after: Figures, usual: Difference) -> str:
    """Return how many successes with another answer came or went; empty if they are as many as before."""
    share = _share("different", before, after)
    if after.different and (fault == HEALTHY or (share.counts and share.after > share.before)):
        # Without a fault one is enough: there is no chance in it.
        than = "those of the old version" if fault == HEALTHY else _WITHOUT_FAULT
        return f"{_differing(after, than)}, which is not judged: {after.unlike.text}"
    if _share(SUCCEEDED, before, after).direction < 0 <= usual.direction:
        differing = _differing(before, _WITHOUT_FAULT)
        return f"Before, {differing} ({before.unlike.text}), and such calls now fail, which is not judged"
    return ""


_BROKE_DOWN = "The process of the new version ended"
_WITHOUT_FAULT = "those without a fault"


def _blamed(before: Figures, after: Figures) -> str:
    """Return how many calls more than before get an answer that blames the caller; empty if none."""
    share = _share("blaming", before, after)
    if not share.counts or share.after < share.before:
        return ""
    most = max(filter(_blames, after.statuses), key=lambda status: after.statuses[status])
    return (
        f"{after.blaming} of {count_of(after.requests, 'call')} got an answer such as {most}, which says "
        "that the caller is at fault, and is not judged"
    )


def _blames(status: int) -> bool:
    return 400 <= status < 500 and status not in (408, 429)


def _left_out(fault: str, before: Figures, after: Figures) -> str:
    """Return which calls to an upstream are fewer without a fault; empty if none, or under a fault."""
    if fault != HEALTHY:
        return ""
    fewer = [
        f"{name}: {rounded(count / before.requests)}, now {rounded(now / after.requests)} a call"
        for name, count in before.calls_by_path.items()
        if _is_fewer(count, before.requests, now := after.calls_by_path.get(name, 0), after.requests)
    ]
    if not fewer and _is_fewer(
        before.upstream_requests, before.requests, after.upstream_requests, after.requests
    ):
        was, is_now = (each.upstream_requests / each.requests for each in (before, after))
        fewer = [f"upstream calls: {rounded(was)}, now {rounded(is_now)} a call"]
    if not fewer:
        return ""
    return f"{', '.join(fewer)}, which is not judged: it may be a write that is lost, or an old answer"


def _is_fewer(count: int, requests: int, now: int, requests_now: int) -> bool:
    """Return whether calls to an upstream are fewer by more than chance. There is no chance in calls of which
    each request makes the same number."""
    found = _cost(UPSTREAM_CALLS, Mean.of_count(count, requests), Mean.of_count(now, requests_now), 0.0, 0.0)
    is_exact = count > 0 and count % requests == 0
    return found.direction > 0 or (is_exact and found.after * NOTICED <= found.before)


def _differing(figures: Figures, than: str) -> str:
    count = f"{figures.different} of {count_of(figures.requests, 'call')}"
    return f"{count} got answers that differ from {than}"


def _share(name: str, before: Figures, after: Figures) -> Difference:
    was, now = (getattr(each, name) / each.requests for each in (before, after))
    low, high = difference_interval(
        was,
        proportion_interval(was * before.effective, before.effective, CONFIDENCE),
        now,
        proportion_interval(now * after.effective, after.effective, CONFIDENCE),
    )
    counts = not low <= 0 <= high
    return Difference(name, "%", 100 * was, 100 * now, 100 * low, 100 * high, counts, is_cost=False)


def _costs(before: Figures, after: Figures, usual: Mapping[str, Mean]) -> tuple[Difference, ...]:
    late_ms = max(before.late_ms, after.late_ms)
    return tuple(
        _cost(
            cost,
            before.costs[cost.name],
            after.costs[cost.name],
            usual[cost.name].value if cost.name in usual else 0.0,
            late_ms if cost is TIME else 0.0,
        )
        for cost in COSTS
        if cost.name in before.costs and cost.name in after.costs
    )


def _cost(cost: Cost, was: Mean, now: Mean, usual: float, margin: float) -> Difference:
    low, high = difference_interval(was.value, was.interval, now.value, now.interval)
    small, large = sorted((was.value, now.value))
    matters = large - small > max(cost.least, margin) and large >= NOTICED * small
    counts = matters and not low <= 0 <= high
    most_paid = max(MOST_PAID * max(was.value, usual), cost.tolerated)
    return Difference(cost.name, cost.unit, was.value, now.value, low, high, counts, most_paid)


def _judged(shares: Sequence[Difference], costs: Sequence[Difference]) -> tuple[Verdict, str]:
    gained, lost = _directed(shares, 1), _directed(shares, -1)
    saved, raised = _directed(costs, 1), _directed(costs, -1)
    paying = [each for each in gained if each.name != "handled"]
    unpaid = [each for each in raised if each.after > each.most_paid] if paying else raised
    if lost or unpaid:
        against = [*lost, *(unpaid or raised)]
        # Saved time is no gain if calls fail in it that had succeeded.
        good = gained if lost else [*gained, *saved]
        if not good:
            return "worse", _listed(against)
        return "worse", f"A trade-off: {_listed(against)}; against that, {_listed(good)}"
    if gained or saved:
        cost = f"; the price is {_listed(raised)}" if raised else ""
        return "better", f"{_listed([*gained, *saved])}{cost}"
    return "no difference", "No figure differs by more than chance"


def _directed(differences: Sequence[Difference], direction: int) -> list[Difference]:
    return [each for each in differences if each.direction == direction]


def _listed(differences: Sequence[Difference]) -> str:
    return ", ".join(each.sentence() for each in differences)


def overall_verdict(compared: Sequence[FaultComparison]) -> Verdict:
    """Judge all faults: worse if one is; better only if every one was decided and at least one is better."""
    found = {each.verdict for each in compared}
    order: tuple[Verdict, ...] = ("worse", "not shown", "better")
    return next((verdict for verdict in order if verdict in found), "no difference")
