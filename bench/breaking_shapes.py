"""Simulated services whose breaking point is known, for `bench.breaking_point`. Pure.

Times are in milliseconds, the level is an injected latency, and the objective is that 95 % of the requests
are answered within 300 ms. `bad_share` is exact, so the truth is a root of it and no estimate.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, log
from random import Random
from statistics import NormalDist

LIMIT_MS = 300.0
SHARE = 0.95
HIGHEST_MS = 400.0
_NORMAL = NormalDist()


class Draws:
    """The requests of one simulated run, in the order of their starts."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self.is_slow = False
        """The state of a service that is slow for whole stretches."""

    def lognormal(self, median: float, sigma: float) -> float:
        return self.random.lognormvariate(log(median), sigma)


@dataclass(frozen=True, slots=True)
class Shape:
    """A service under an injected latency."""

    name: str
    what: str
    draw: Callable[[Draws, float], float]
    """One response time at a level; infinite for a failed request."""
    bad_share: Callable[[float], float]
    """The exact share of bad requests at a level."""
    truth: float = field(init=False)

    def __post_init__(self) -> None:
        low, high = 0.0, HIGHEST_MS
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.bad_share(middle) <= 1 - SHARE else (low, middle)
        object.__setattr__(self, "truth", (low + high) / 2)

    def times(self, draws: Draws, level: float, requests: int) -> list[float]:
        return [self.draw(draws, level) for _ in range(requests)]


def _above(value: float, median: float, sigma: float) -> float:
    """Return the probability that a lognormal time is above a value."""
    return 1.0 if value <= 0 else 1 - _NORMAL.cdf((log(value) - log(median)) / sigma)


# --- one slow path of six percent ------------------------------------------------------------


def _draw_bimodal(draws: Draws, level: float) -> float:
    slow = draws.random.random() < 0.06
    return level + (draws.random.gauss(150, 15) if slow else draws.lognormal(40, 0.3))


def _bad_bimodal(level: float) -> float:
    slow = 1 - NormalDist(150, 15).cdf(LIMIT_MS - level)
    return 0.06 * slow + 0.94 * _above(LIMIT_MS - level, 40, 0.3)


# --- a time-out of 200 ms with one retry -----------------------------------------------------


def _draw_cliff(draws: Draws, level: float) -> float:
    first = level + draws.lognormal(20, 0.2)
    if first <= 200:
        return first
    second = level + draws.lognormal(20, 0.2)
    return 200 + second if second <= 200 else inf


def _bad_cliff(level: float) -> float:
    return _above(200 - level, 20, 0.2) * _above(LIMIT_MS - 200 - level, 20, 0.2)


# --- slow for whole stretches ----------------------------------------------------------------

_TO_SLOW, _TO_FAST = 0.007, 0.02
_SLOW = _TO_SLOW / (_TO_SLOW + _TO_FAST)


def _draw_dependent(draws: Draws, level: float) -> float:
    if draws.random.random() < (_TO_FAST if draws.is_slow else _TO_SLOW):
        draws.is_slow = not draws.is_slow
    return level + draws.lognormal(120 if draws.is_slow else 50, 0.2)


def _bad_dependent(level: float) -> float:
    return _SLOW * _above(LIMIT_MS - level, 120, 0.2) + (1 - _SLOW) * _above(LIMIT_MS - level, 50, 0.2)


SHAPES: Sequence[Shape] = (
    Shape(
        "smooth",
        "lognormal times, all later by the level",
        lambda draws, level: level + draws.lognormal(60, 0.35),
        lambda level: _above(LIMIT_MS - level, 60, 0.35),
    ),
    Shape("bimodal", "6 % of the requests take a slow path", _draw_bimodal, _bad_bimodal),
    Shape("cliff", "a time-out of 200 ms and one retry", _draw_cliff, _bad_cliff),
    Shape(
        "plateau",
        "no effect up to 180 ms, which other work takes meanwhile",
        lambda draws, level: max(180.0, level) + draws.lognormal(30, 0.3),
        lambda level: _above(LIMIT_MS - max(180.0, level), 30, 0.3),
    ),
    Shape(
        "heavy tail",
        "Pareto times with the exponent 1.7",
        lambda draws, level: level + 20 * draws.random.paretovariate(1.7),
        lambda level: 1.0 if LIMIT_MS - level <= 20 else (20 / (LIMIT_MS - level)) ** 1.7,
    ),
    Shape(
        "dependent",
        "slow for stretches of 50 requests, a quarter of the time",
        _draw_dependent,
        _bad_dependent,
    ),
)


def asked_seeds(module: str, what: str, words: Sequence[str]) -> int:
    """Return how many runs of each method on each service the command line asks for."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=what)
    parser.add_argument("--seeds", type=int, default=50, help="runs of each method on each service")
    return int(parser.parse_args(words).seeds)
