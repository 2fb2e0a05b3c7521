"""`python -m bench.breaking_point`: how often a search for the breaking point is right, by simulation.

Each method searches services whose breaking point is known (`bench.breaking_shapes`). Beside ours: bisection
with a fixed number of requests a level, which most tools do, and a logistic curve fitted to evenly spaced
levels.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import exp, log, sqrt
from statistics import median

from bench.breaking_shapes import HIGHEST_MS, LIMIT_MS, SHAPES, SHARE, Draws, Shape, asked_seeds
from bench.tables import Table, markdown
from faultkit.load.search.breaking_point import find_breaking_point
from faultkit.load.search.scale import Scale
from faultkit.load.search.search_values import BreakingPoint, Goal, Measured

BUDGET = 20_000
"""Requests of a search of ours."""
GOAL = Goal(SHARE, LIMIT_MS)
SCALE = Scale(0.0, HIGHEST_MS, resolution=0.5)
_BISECTION = 400
"""Requests a level."""
_LEVELS = 10
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Claim:
    """Bounds that a method claimed for the breaking point."""

    low: float
    high: float

    def holds(self, truth: float) -> bool:
        return self.low <= truth <= self.high

    @property
    def width(self) -> float:
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Answer:
    """What one run of a method said."""

    claim: Claim | None
    """None: no answer."""
    requests: int
    estimate: Claim | None = None
    """The narrower interval of an estimate."""
    is_cliff: bool = False


def search(shape: Shape, seed: int) -> BreakingPoint:
    """Run our search on a simulated service."""
    draws = Draws(f"{shape.name} {seed}")
    run = find_breaking_point(SCALE, [GOAL], BUDGET, seed)
    block = next(run)
    while True:
        times = shape.times(draws, block.value, block.requests)
        try:
            block = run.send(Measured((times,), block.requests))
        except StopIteration as end:
            found: BreakingPoint = end.value
            return found


def ours(shape: Shape, seed: int) -> Answer:
    """Answer by our search; no answer if it is inconclusive."""
    found = search(shape, seed)
    if found.outcome != "found" or found.held is None or found.broken is None:
        return Answer(None, found.requests)
    estimate = None if found.estimate is None else Claim(*found.estimate.interval)
    return Answer(Claim(found.held, found.broken), found.requests, estimate, found.is_cliff)


def bisection(shape: Shape, seed: int) -> Answer:
    """Answer by halving, each level decided by the percentile of a fixed number of requests."""
    draws, low, high, requests = Draws(f"{shape.name} {seed}"), 0.0, HIGHEST_MS, 0
    while high - low > HIGHEST_MS / 128:
        middle = (low + high) / 2
        times = shape.times(draws, middle, _BISECTION)
        requests += _BISECTION
        good = sum(GOAL.is_good(time) for time in times)
        low, high = (middle, high) if good >= SHARE * _BISECTION else (low, middle)
    return Answer(Claim(low, high), requests)


def logistic(shape: Shape, seed: int) -> Answer:
    """Answer by a logistic curve through the shares of good requests at evenly spaced levels."""
    draws, each = Draws(f"{shape.name} {seed}"), BUDGET // 5 // _LEVELS
    points = []
    for number in range(_LEVELS):
        level = HIGHEST_MS * number / (_LEVELS - 1)
        good = sum(GOAL.is_good(time) for time in shape.times(draws, level, each))
        points.append((level / HIGHEST_MS, good, each))
    claim = _fitted(points)
    return Answer(claim, each * _LEVELS)


def _fitted(points: Sequence[tuple[float, int, int]]) -> Claim | None:
    """Return the crossing with its interval (delta method); None if the fit does not converge."""
    intercept, slope = 0.0, 0.0
    for _ in range(60):
        gradient, curvature = [0.0, 0.0], [[1e-9, 0.0], [0.0, 1e-9]]
        for x, good, count in points:
            share = 1 / (1 + exp(-max(-35.0, min(35.0, intercept + slope * x))))
            weight = count * share * (1 - share)
            for row, left in enumerate((1.0, x)):
                gradient[row] += (good - count * share) * left
                for column, right in enumerate((1.0, x)):
                    curvature[row][column] += weight * left * right
        (a, b), (c, d) = curvature
        determinant = a * d - b * c
        if determinant <= 0:
            return None
        steps = (
            (d * gradient[0] - b * gradient[1]) / determinant,
            (a * gradient[1] - c * gradient[0]) / determinant,
        )
        intercept, slope = intercept + steps[0], slope + steps[1]
        if max(map(abs, steps)) < 1e-9:
            break
    if slope >= 0:
        return None
    wanted = log(SHARE / (1 - SHARE))
    at = (wanted - intercept) / slope
    by_intercept, by_slope = -1 / slope, -at / slope
    variance = (by_intercept**2 * d - 2 * by_intercept * by_slope * b + by_slope**2 * a) / determinant
    half = _Z * sqrt(max(variance, 0.0))
    return Claim((at - half) * HIGHEST_MS, (at + half) * HIGHEST_MS)


METHODS: dict[str, Callable[[Shape, int], Answer]] = {
    "ours": ours,
    f"bisection, {_BISECTION} a level": bisection,
    "logistic fit": logistic,
}


@dataclass(frozen=True, slots=True)
class Row:
    """All runs of a method on one shape."""

    shape: Shape
    method: str
    answers: Sequence[Answer]

    @property
    def claims(self) -> list[Claim]:
        return [each.claim for each in self.answers if each.claim is not None]

    @property
    def estimates(self) -> list[Claim]:
        return [each.estimate for each in self.answers if each.estimate is not None]


def measure(seeds: int) -> list[Row]:
    """Run all methods on all shapes."""
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return [
            Row(shape, name, list(pool.map(partial(_answer, number, name), range(seeds), chunksize=5)))
            for number, shape in enumerate(SHAPES)
            for name in METHODS
        ]


def _answer(shape: int, method: str, seed: int) -> Answer:
    # By its number, because a shape has functions without a name, which cannot be sent to a process.
    return METHODS[method](SHAPES[shape], seed)


def table(rows: Iterable[Row]) -> Table:
    """Return the table of a measurement."""
    return (
        (
            "service",
            "breaks at",
            "method",
            "bounds hold it",
            "width",
            "estimate holds it",
            "width",
            "requests",
        ),
        [
            (
                f"{row.shape.name}: {row.shape.what}" if row.method == "ours" else "",
                f"{row.shape.truth:.1f} ms" if row.method == "ours" else "",
                row.method,
                _held(row.claims, row.shape.truth, len(row.answers)),
                _width(row.claims),
                _estimates(row),
                _width(row.estimates),
                f"{median(each.requests for each in row.answers):,.0f}",
            )
            for row in rows
        ],
    )


def _held(claims: Sequence[Claim], truth: float, runs: int) -> str:
    held = f"{100 * sum(each.holds(truth) for each in claims) / max(len(claims), 1):.1f} %"
    return held if len(claims) == runs else f"{held} of {len(claims)}"


def _estimates(row: Row) -> str:
    if row.estimates:
        return _held(row.estimates, row.shape.truth, len(row.answers))
    cliffs = sum(each.is_cliff for each in row.answers)
    return f"none: a cliff in {cliffs} of {len(row.answers)}" if cliffs else ""


def _width(claims: Sequence[Claim]) -> str:
    return f"{median(each.width for each in claims):.1f} ms" if claims else ""


def main(words: Sequence[str]) -> int:
    print(markdown(*table(measure(asked_seeds("bench.breaking_point", __doc__ or "", words)))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
