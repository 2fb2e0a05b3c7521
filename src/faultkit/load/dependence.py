"""Dependence: how many independent requests would tell as much as those of a run. Pure.

Requests that wait in one queue, or meet one pause, share their luck: a hundred of them may tell no more
than ten. So a run is cut in the order of time into stretches of as many requests each. If requests were
independent, the figures of stretches would differ so much and no more; how many times more their variance
is, is the design effect of the figure. It is a lower bound: what lasts longer than a stretch is not seen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import fsum

from faultkit.base.intervals import effective_count
from faultkit.load.stretch import Stretch

BATCHES = 20
"""Long enough to outlast a queue, and enough to tell a variance from."""


def effective_for_mean(batches: Sequence[Stretch], stddev_s: float) -> float:
    count = _count(batches)
    if len(batches) < 2:
        return effective_count(count, count - 1)
    return _effective(batches, [each.sum_s for each in batches], stddev_s * stddev_s)


def effective_for_percentile(batches: Sequence[Stretch], value_s: float) -> float:
    """Of the percentile that is `value_s`: as good as the share of requests up to it."""
    return _for_share(batches, [bisect_right(each.response, value_s) for each in batches])


def effective_for_errors(batches: Sequence[Stretch]) -> float:
    return _for_share(batches, [each.errors for each in batches])


def _for_share(batches: Sequence[Stretch], hits: Sequence[int]) -> float:
    count = _count(batches)
    if len(batches) < 2:
        return count
    share = sum(hits) / count
    return _effective(batches, hits, share * (1 - share) * count / (count - 1))


def _effective(batches: Sequence[Stretch], sums: Sequence[float], variance: float) -> float:
    """`variance` is of one request. That of their mean is estimated from the sums of the batches."""
    count, freedom = _count(batches), len(batches) - 1
    mean = fsum(sums) / count
    apart = [each - len(batch.response) * mean for each, batch in zip(sums, batches, strict=True)]
    between = fsum([each * each for each in apart]) * len(batches) / freedom
    effect = between / (count * variance) if variance > 0 else 1.0
    # Below 1 it is chance, and nothing to rely on.
    return effective_count(count, freedom, max(1.0, effect))


def _count(batches: Sequence[Stretch]) -> int:
    return sum(len(each.response) for each in batches)
