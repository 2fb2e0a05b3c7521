"""When a load may end early, because its verdict will not change any more. Pure.

An objective is *held* or *broken* beyond doubt by the sequential test of `faultkit.load.search`, which may be
looked at again and again; it is wrong with a probability of `ERROR`. It is broken for certain, too, once more
requests are bad than all planned ones may be. Requests under way have no outcome yet, and slow ones take the
longest: they count as bad where an objective is held, and as good where it is broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Protocol

from faultkit.load.samples import WindowCase
from faultkit.load.search.share_evidence import (
    INDEPENDENT,
    Counts,
    Decision,
    decide,
    dependence,
    effective_of_counts,
)
from faultkit.load.slo import Slo
from faultkit.load.summary import BATCHES
from faultkit.load.tally import Tally

ERROR = 0.001
"""The probability with which an objective is decided wrongly."""


_GROWTH = 1.1
"""By how much the requests grow before they are looked at again, because a look takes all of them."""


class Stop(Protocol):
    """A `threading.Event`, or any object with its `is_set`."""

    def is_set(self) -> bool: ...


def can_be_decided_early(slo: Slo) -> bool:
    """Return whether an objective is about the shares of single requests in the whole run."""
    return slo.kind in ("latency", "error", "availability") and slo.window_s is None


class EarlyStop:
    """A stop for `run_load` that is set once all objectives are decided, or `stop` is set."""

    def __init__(
        self, slos: Sequence[Slo], planned: int | None, stop: Stop, *, needs_miss: bool = False
    ) -> None:
        """`needs_miss`: something is expected of every single request, so that only a load in which one has
        missed it is decided."""
        self._slos = slos
        self._needs_miss = needs_miss
        self._planned = planned
        self._stop = stop
        self._look_at = 0.0
        self.is_decided = False

    def is_set(self) -> bool:
        """Return whether the load is to end."""
        return self.is_decided or self._stop.is_set()

    def look(self, tally: Tally, in_flight: int) -> None:
        """Look at what was measured so far, if that has grown enough to be worth it."""
        if self.is_decided or tally.requests < self._look_at or (self._needs_miss and not tally.misses.count):
            return
        self._look_at = _GROWTH * tally.requests
        self.is_decided = are_decided(self._slos, tally, in_flight=in_flight, planned=self._planned)


def are_decided(slos: Sequence[Slo], tally: Tally, *, in_flight: int, planned: int | None) -> bool:
    """Return whether all objectives are decided; without any, nothing is. `planned` is None for a load
    without a schedule."""
    if not slos or not all(map(can_be_decided_early, slos)):
        return False
    if not tally.requests or tally.requests < INDEPENDENT * _alike(slos, tally):
        return False
    batches = [WindowCase(each) for each in tally.batches(BATCHES)]
    return all(_decision(slo, batches, in_flight, planned) != "undecided" for slo in slos)


def _alike(slos: Sequence[Slo], tally: Tally) -> float:
    """Return how many requests in a row carry the information of one; 1 if they are not kept one by one."""
    samples = tally.samples
    rows = zip(samples.intended, samples.response_times(), samples.failure, strict=True)
    times = [inf if failure else time for _, time, failure in sorted(rows)]
    return max(
        dependence(times, inf if (limit := limit_ms_of(slo)) is None else limit / 1000) for slo in slos
    )


def _decision(slo: Slo, batches: Sequence[WindowCase], in_flight: int, planned: int | None) -> Decision:
    share = good_share(slo)
    sections = [(each.within(limit_ms_of(slo)), each.total) for each in batches]
    good, total = (sum(each) for each in zip(*sections, strict=True))
    if planned is not None and total - good > (1 - share) * planned:
        return "broken"
    counts = effective_of_counts(sections, ERROR)
    # Those under way count less, too, since they depend on each other as the others do.
    unknown = in_flight * counts.total / total
    if decide(Counts(counts.good, counts.bad + unknown), share, ERROR) == "held":
        return "held"
    if decide(Counts(counts.good + unknown, counts.bad), share, ERROR) == "broken":
        return "broken"
    return "undecided"


def limit_ms_of(slo: Slo) -> float | None:
    """Return the longest time of a good request; None if every answer is good."""
    return None if slo.is_share else slo.threshold


def good_share(slo: Slo) -> float:
    """Return the share of good requests that an objective asks for, between 0 and 1."""
    if slo.is_share and slo.threshold is not None:
        # The share of errors must be below the threshold, and that of answers at least the objective.
        return max(slo.objective, 100 - slo.threshold) / 100
    return slo.objective / 100
