"""The statistics of the benchmarks: pure functions on samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least `percent` of the values do not exceed (nearest rank)."""
    if not values:
        raise ValueError("values: expected at least one, got none")
    ordered = sorted(values)
    # The epsilon undoes binary noise: 99.9 % of 1000 is rank 999, not 999.0000000000001 rounded up.
    rank = math.ceil(percent / 100 * len(ordered) - 1e-9)
    return ordered[max(rank, 1) - 1]


def median(values: Sequence[float]) -> float:
    """Return the median; the mean of the two middle values if their number is even."""
    if not values:
        raise ValueError("values: expected at least one, got none")
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def normal_cdf(x: float, mean: float, stddev: float) -> float:
    return 0.5 * (1 + math.erf((x - mean) / (stddev * math.sqrt(2))))


def ks_distance(values: Sequence[float], cdf: Callable[[float], float]) -> float:
    """Return Kolmogorov and Smirnov's D: the largest gap between the samples' CDF and the given one."""
    count = len(values)
    gap = 0.0
    for index, value in enumerate(sorted(values)):
        expected = cdf(value)
        gap = max(gap, expected - index / count, (index + 1) / count - expected)
    return gap


def _binomial_tail(hits: int, trials: int, chance: float) -> float:
    """Return P(at most `hits`) of `trials` independent draws."""
    if chance <= 0:
        return 1.0
    if chance >= 1:
        return 1.0 if hits >= trials else 0.0
    log_chance, log_rest = math.log(chance), math.log1p(-chance)
    log_all = math.lgamma(trials + 1)
    return math.fsum(
        math.exp(
            log_all
            - math.lgamma(k + 1)
            - math.lgamma(trials - k + 1)
            + k * log_chance
            + (trials - k) * log_rest
        )
        for k in range(hits + 1)
    )


def binomial_interval(hits: int, trials: int, confidence: float) -> tuple[float, float]:
    """Return Clopper and Pearson's exact interval of the probability, from `hits` out of `trials`."""
    if not 0 <= hits <= trials or trials == 0:
        raise ValueError(f"hits: expected 0 to {trials} (and at least one trial), got {hits}")
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _solve(lambda p: 1 - _binomial_tail(hits - 1, trials, p) - tail)
    high = 1.0 if hits == trials else _solve(lambda p: tail - _binomial_tail(hits, trials, p))
    return low, high


def _solve(rising: Callable[[float], float]) -> float:
    """Return the point where a rising function on [0, 1] crosses zero."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def largest_window(at_s: Sequence[float], amounts: Sequence[float], width_s: float) -> float:
    """Return the largest sum of amounts within any half-open window of `width_s`."""
    first, total, largest = 0, 0.0, 0.0
    for index, at in enumerate(at_s):
        total += amounts[index]
        while at - at_s[first] >= width_s:
            total -= amounts[first]
            first += 1
        largest = max(largest, total)
    return largest


def rate_between(at_s: Sequence[float], amounts: Sequence[float]) -> float:
    """Return the rate from the first arrival to the last: what came with the first was sent before it."""
    return sum(amounts[1:]) / (at_s[-1] - at_s[0])


def amount_before(at_s: Sequence[float], amounts: Sequence[float], end_s: float) -> float:
    return math.fsum(amount for at, amount in zip(at_s, amounts, strict=True) if at < end_s)


def count_levels(values: Sequence[float], flat_within: float, at_least: int) -> int:
    """Return how many levels a series of plateaus and ramps has.

    A plateau is a run of `at_least` values within `flat_within` of its first one. Two plateaus of the same
    height in a row are one level, so that a single late value does not make a new one.
    """
    levels = 0
    level = math.inf
    begin = 0
    for index in range(1, len(values) + 1):
        if index < len(values) and abs(values[index] - values[begin]) <= flat_within:
            continue
        if index - begin >= at_least and abs(values[begin] - level) > 2 * flat_within:
            levels += 1
            level = values[begin]
        begin = index
    return levels
