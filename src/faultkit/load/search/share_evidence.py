"""A test of a share that may be looked at after every request. Pure.

A request is good or bad. The test answers whether the share of good ones is above or below an objective, and
stays valid however often it is looked at, and whenever it is stopped: if the truth is the other side, it is
wrong with at most the probability `error`, over the whole life of the test (Ville's inequality).

It bets against the opposite claim with a beta-binomial mixture (Robbins 1970; Howard, Ramdas, McAuliffe and
Sekhon 2021): the likelihood of what was seen, averaged over all shares on the one side of the objective,
divided by its likelihood at the objective. On the wrong side of the objective that ratio is a nonnegative
supermartingale that begins at 1, so it exceeds 1/error with a probability of at most `error`.

Requests that depend on each other carry less information: `Counts` are then the effective numbers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import fsum, inf, lgamma, log, log1p
from typing import Literal, NamedTuple, TypeAlias

from faultkit.base.sample_statistics import Interval, design_effect, effective_count, incomplete_beta

Decision: TypeAlias = Literal["held", "broken", "undecided"]

SECTIONS = 20
"""Sections of the requests of a level, by which their dependence is estimated, as that of a load."""
INDEPENDENT = 2 * SECTIONS
"""Requests that must be as good as independent before anything is decided: two for each section."""
_FEWEST_PER_SECTION = 5
_FEWEST_SECTIONS = 10
_COARSE = 0.5
"""The differences of times that matter, as a part of the distance to the limit."""


class Counts(NamedTuple):
    """Good and bad requests; fractions where requests depend on each other."""

    good: float
    bad: float

    @property
    def total(self) -> float:
        return self.good + self.bad


def decide(counts: Counts, share: float, error: float) -> Decision:
    """Return whether the share of good requests is shown to be above `share` (held) or below it (broken)."""
    wanted = -log(error)
    if evidence_held(counts, share) >= wanted:
        return "held"
    if evidence_broken(counts, share) >= wanted:
        return "broken"
    return "undecided"


def evidence_held(counts: Counts, share: float) -> float:
    """Return the logarithm of the evidence against all shares of good requests up to `share`."""
    good, bad = _prior(share)
    above = _log_beta(good + counts.good, bad + counts.bad) + _log(
        # The part above the objective, as the part of the mirrored distribution below: exact when small.
        incomplete_beta(bad + counts.bad, good + counts.good, 1 - share)
    )
    weight = _log_beta(good, bad) + _log(incomplete_beta(bad, good, 1 - share))
    return above - weight - _log_likelihood(counts, share)


def evidence_broken(counts: Counts, share: float) -> float:
    """Return the logarithm of the evidence against all shares of good requests from `share` on."""
    good, bad = _prior(share)
    below = _log_beta(good + counts.good, bad + counts.bad) + _log(
        incomplete_beta(good + counts.good, bad + counts.bad, share)
    )
    weight = _log_beta(good, bad) + _log(incomplete_beta(good, bad, share))
    return below - weight - _log_likelihood(counts, share)


def share_bounds(counts: Counts, share: float, error: float) -> Interval:
    """Return the bounds of the share of good requests that are valid at all times with 1 − `error`.

    `share` is only where the mixture is centred: it makes the bounds narrow near the objective."""
    if not counts.total:
        return Interval(0.0, 1.0)
    good, bad = _prior(share)
    weight = _log_beta(good + counts.good, bad + counts.bad) - _log_beta(good, bad) + log(error)
    seen = counts.good / counts.total

    def refuted(value: float) -> bool:
        return weight >= _log_likelihood(counts, value)

    return Interval(_boundary(refuted, 0.0, seen), _boundary(refuted, 1.0, seen))


def effective_counts(flags: Sequence[bool], error: float) -> Counts:
    """Return the effective numbers of good and bad requests, which are in the order of their starts."""
    count = len(flags)
    sections = min(SECTIONS, count // _FEWEST_PER_SECTION)
    edges = [count * number // sections for number in range(sections + 1)] if sections else []
    return effective_of_counts([(sum(flags[low:high]), high - low) for low, high in pairwise(edges)], error)


def effective_of_counts(sections: Sequence[tuple[int, int]], error: float) -> Counts:
    """Return the effective numbers of good and bad requests, from the good ones and all of each section.

    By as much as the sections differ more than those of independent requests would, the requests count less.
    Student's t covers that this is an estimate."""
    if len(sections) < 2:
        return Counts(0.0, 0.0)
    good, count = (sum(each) for each in zip(*sections, strict=True))
    share = good / count
    variance = share * (1 - share) * count / (count - 1)
    effect = design_effect([size for _, size in sections], [each for each, _ in sections], variance)
    effective = effective_count(count, len(sections) - 1, effect, 1 - 2 * error)
    return Counts(effective * share, effective * (1 - share))


def dependence(times: Sequence[float], limit: float | None = None) -> float:
    """Return how many requests in a row carry the information of one, by how long their times are alike.

    That is the largest design effect of the ranks over sections of growing length. Times show it where good
    and bad do not: a service that was good throughout may have had no time to show its bad stretches.

    With a `limit`, times count as equal that differ by far less than their median from it: such differences,
    of a machine that is busier now and then, make no request bad."""
    count = len(times)
    if limit is not None:
        times = _coarse(times, limit)
    ordered = sorted(times)
    # Equal times share a rank.
    ranks = [float(bisect_left(ordered, time) + bisect_right(ordered, time)) for time in times]
    mean = fsum(ranks) / max(count, 1)
    variance = fsum([(rank - mean) ** 2 for rank in ranks]) / max(count, 1)
    effect, size = 1.0, 2
    while size * _FEWEST_SECTIONS <= count:
        edges = range(0, count - size + 1, size)
        sums = [fsum(ranks[edge : edge + size]) for edge in edges]
        effect = max(effect, design_effect([size] * len(sums), sums, variance))
        size *= 2
    return effect


def _coarse(times: Sequence[float], limit: float) -> list[float]:
    """Return the times in steps of half the distance from their median to the limit."""
    finite = sorted(time for time in times if time < inf)
    if not finite:
        return list(times)
    middle = finite[len(finite) // 2]
    step = abs(limit - middle) * _COARSE
    if not step:
        return list(times)
    # An infinite limit leaves two kinds of requests: answered and failed.
    return [
        time if time == inf else 0.0 if step == inf else float(round((time - middle) / step))
        for time in times
    ]


def fewest_requests(share: float, error: float) -> int:
    """Return how many requests it takes to show that the objective is kept if all of them are good."""
    low, high = 1, 2
    while decide(effective_counts([True] * high, error), share, error) != "held":
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        if decide(effective_counts([True] * middle, error), share, error) == "held":
            high = middle
        else:
            low = middle
    return high


def _prior(share: float) -> tuple[float, float]:
    """Return the beta distribution of the mixture: centred on the objective, worth one bad request."""
    return share / (1 - share), 1.0


def _log_likelihood(counts: Counts, share: float) -> float:
    good = counts.good * _log(share) if counts.good else 0.0
    bad = counts.bad * log1p(-share) if counts.bad and share < 1 else (-inf if counts.bad else 0.0)
    return good + bad


@lru_cache(maxsize=4096)
def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _log(value: float) -> float:
    return log(value) if value > 0 else -inf


def _boundary(refuted: Callable[[float], bool], outside: float, inside: float) -> float:
    """Return where `refuted` changes between a value that may be refuted and one that is not, by halving."""
    if not refuted(outside):
        return outside
    for _ in range(50):
        middle = (outside + inside) / 2
        if refuted(middle):
            outside = middle
        else:
            inside = middle
    return outside
