"""Percentiles of sorted values, and confidence intervals of measured figures, in closed form. Pure.

Percentiles are by the R-6 definition (Weibull): the rank of a percentile among n sorted values is
h = (n + 1)·p; between two ranks, values are interpolated, and outside of 1 … n the extreme value is taken.

Intervals: a percentile by order statistics (no assumption on the distribution), a proportion by Wilson, a
mean by Student's t, a difference of two figures from their single intervals (MOVER, Zou and Donner). All are
for independent values. For dependent ones, `effective` is the number of independent values that carry as much
information. Own code, because SciPy is a large dependency for five formulas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import ceil, exp, floor, fsum, inf, isqrt, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist
from typing import NamedTuple

_CURVE_STEPS = 60


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return a percentile of at least one value; values are in ascending order."""
    rank = _rank(len(ordered), percent)
    below = floor(rank)
    if below < 1:
        return ordered[0]
    if below >= len(ordered):
        return ordered[len(ordered) - 1]
    low, high = ordered[below - 1], ordered[below]
    # Equal values and whole ranks need no interpolation, which could round, or give nan for infinite values.
    return low if low == high or rank == below else min(low + (rank - below) * (high - low), high)


def percentiles(ordered: Sequence[float], percents: Iterable[float]) -> list[float]:
    """Return several percentiles of the same values."""
    return [percentile(ordered, percent) for percent in percents]


def percentile_count(count: int, percent: float) -> int:
    """Return how many of `count` values are at or below the percentile: h rounded up, from 1 to `count`."""
    return max(1, min(ceil(_rank(count, percent)), count))


def curve(ordered: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Return pairs of percent and value for drawing; each step shrinks the distance to 100 by one factor.

    The last but one is at n/(n + 1): beyond it, n values determine only their maximum.
    """
    if not ordered:
        return ()
    steps = min(_CURVE_STEPS, len(ordered))
    apart = len(ordered) + 1
    percents = [round(100 * (1 - apart ** (-step / steps)), 9) for step in range(steps + 1)]
    return tuple((percent, percentile(ordered, percent)) for percent in (*percents, 100.0))


def _rank(count: int, percent: float) -> float:
    """Return h, rounded so that a whole number is not missed by the last bit of a product."""
    return round((count + 1) * percent / 100, 9)


# --- confidence intervals --------------------------------------------------------------------

CONFIDENCE = 0.95

_STANDARD_NORMAL = NormalDist()


class Interval(NamedTuple):
    """The bounds of a confidence interval."""

    low: float
    high: float


def percentile_interval(
    ordered: Sequence[float], percent: float, effective: float | None = None, confidence: float = CONFIDENCE
) -> Interval:
    """Return two order statistics between which the true percentile lies with at least this confidence.

    With too few values for a bound, the extreme value takes its place: see `bounds_percentile`."""
    count = len(ordered)
    worth = count if effective is None else int(effective)
    low, high = percentile_ranks(worth, percent, confidence)
    # The same shares of all values as they are of the effective ones.
    first = low * count // worth if low >= 1 else 1
    last = -(-high * count // worth) if high <= worth else count
    return Interval(ordered[max(first, 1) - 1], ordered[min(last, count) - 1])


def percentile_ranks(count: int, percent: float, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """Return the ranks of those order statistics, from 1; 0 and `count` + 1 mean that there is no bound."""
    share, tail = percent / 100, (1 - confidence) / 2
    return binomial_quantile(tail, count, share), binomial_quantile(1 - tail, count, share) + 1


def bounds_percentile(effective: float, percent: float, confidence: float = CONFIDENCE) -> bool:
    """Return whether this number of values bounds this percentile on both sides."""
    low, high = percentile_ranks(int(effective), percent, confidence)
    return low >= 1 and high <= int(effective)


def proportion_interval(hits: float, total: float, confidence: float = CONFIDENCE) -> Interval:
    """Return Wilson's interval of a proportion, within 0 and 1."""
    if not total:
        return Interval(0.0, 1.0)
    z = _normal_quantile(confidence)
    share, weight = hits / total, z * z / total
    middle = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * sqrt(share * (1 - share) / total + weight / (4 * total))
    # At the ends the formula gives 0 and 1, but for rounding.
    return Interval(middle - half if hits else 0.0, middle + half if hits < total else 1.0)


def mean_interval(mean: float, stddev: float, effective: float, confidence: float = CONFIDENCE) -> Interval:
    """Return the interval of a mean, from the mean and standard deviation (n − 1) of a sample.

    `effective` comes from `effective_count`, which accounts for Student's t."""
    if effective <= 0:
        return Interval(-inf, inf)
    half = _normal_quantile(confidence) * stddev / sqrt(effective)
    return Interval(mean - half, mean + half)


def effective_count(count: int, freedom: float, effect: float = 1.0, confidence: float = CONFIDENCE) -> float:
    """Return the number of independent values that carry as much information as `count` dependent ones.

    The mean of the dependent values has `effect` times the variance of the mean of independent ones. That was
    estimated with `freedom` degrees of freedom, so intervals are wider by the ratio of Student's t to the
    normal distribution. Returns 0 without any freedom: then nothing is known."""
    if freedom <= 0:
        return 0.0
    wider = t_quantile((1 + confidence) / 2, freedom) / _normal_quantile(confidence)
    return count / (effect * wider * wider)


def design_effect(counts: Sequence[int], sums: Sequence[float], variance: float) -> float:
    """Return how many times the variance of independent values the mean of these has; at least 1.

    The values are cut into sections, each with its count and its sum. `variance` is that of one value."""
    count, sections = sum(counts), len(counts)
    if sections < 2 or variance <= 0:
        return 1.0
    mean = fsum(sums) / count
    between = fsum([(each - size * mean) ** 2 for each, size in zip(sums, counts, strict=True)])
    # Below 1 it is chance.
    return max(1.0, between * sections / (sections - 1) / (count * variance))


def difference_interval(first: float, of_first: Interval, second: float, of_second: Interval) -> Interval:
    """Return the interval of `second` − `first`, which are independent, from the interval of each (MOVER)."""
    difference = second - first
    return Interval(
        difference - sqrt((second - of_second.low) ** 2 + (of_first.high - first) ** 2),
        difference + sqrt((of_second.high - second) ** 2 + (first - of_first.low) ** 2),
    )


def _normal_quantile(confidence: float) -> float:
    return _STANDARD_NORMAL.inv_cdf((1 + confidence) / 2)


@lru_cache(maxsize=256)
def t_quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's t, by Newton's method from the normal quantile.

    For a probability above one half, that start lies between 0 and the root, so no step overshoots."""
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    tail = 1 - probability
    log_height = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - log(freedom * pi) / 2
    value = _STANDARD_NORMAL.inv_cdf(probability)
    for _ in range(200):
        squared = value * value
        above = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + squared)) / 2
        height = exp(log_height - (freedom + 1) / 2 * log1p(squared / freedom))
        step = (above - tail) / height
        value += step
        if abs(step) <= 1e-12 * max(1.0, value):
            break
    return value


@lru_cache(maxsize=1024)
def binomial_quantile(probability: float, trials: int, share: float) -> int:
    """Return the least number of hits k with P(hits <= k) >= probability."""
    spread = sqrt(trials * share * (1 - share))
    guess = int(trials * share + spread * _STANDARD_NORMAL.inv_cdf(probability))
    low, high, step = guess, guess, 1
    # From the normal guess outwards to a bracket, then bisect it: low fails, high suffices.
    while low >= 0 and binomial_cdf(low, trials, share) >= probability:
        low, step = low - step, step * 2
    step = 1
    while high < trials and binomial_cdf(high, trials, share) < probability:
        high, step = high + step, step * 2
    low, high = max(low, -1), min(high, trials)
    while high - low > 1:
        middle = (low + high) // 2
        if binomial_cdf(middle, trials, share) >= probability:
            high = middle
        else:
            low = middle
    return high


def binomial_cdf(hits: int, trials: int, share: float) -> float:
    """Return P(at most `hits` hits)."""
    if hits < 0:
        return 0.0
    if hits >= trials:
        return 1.0
    return incomplete_beta(trials - hits, hits + 1, 1 - share)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularized incomplete beta function, I_x(a, b)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    # The continued fraction converges fast below the mean of the beta distribution.
    mirrored = x > (a + 1) / (a + b + 2)
    if mirrored:
        a, b, x = b, a, 1 - x
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    value = front * _beta_fraction(a, b, x)
    return 1 - value if mirrored else value


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of `incomplete_beta`, by Lentz's method: about √max(a, b) terms."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d or tiny)
    value = d
    for m in range(1, 200 + 10 * isqrt(int(max(a, b)))):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value
