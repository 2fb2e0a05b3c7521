"""`python -m bench.frontier`: how often a map of two settings is right, by simulation.

The services of `bench.breaking_shapes`, with a second setting: segments are lost, and each loss of the same
one costs a retransmission timer, which doubles. Beside ours: each pair of the map with the same number of
requests, decided by their share.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from statistics import median

from bench.breaking_shapes import HIGHEST_MS, LIMIT_MS, SHAPES, SHARE, Draws, Shape, asked_seeds
from bench.tables import Table, markdown
from faultkit.load.search.frontier import Frontier, find_frontier, grid_of
from faultkit.load.search.scale import Scale
from faultkit.load.search.search_values import Goal, Measured
from faultkit.load.search.share_evidence import Decision

BUDGET = 30_000
"""Requests of a search."""
GOAL = Goal(SHARE, LIMIT_MS)
GRID = grid_of(Scale(0.0, HIGHEST_MS, resolution=1.0), Scale(0.0, 0.32))
_TIMER_MS = 200.0
_MOST_LOSSES = 16


def cost_ms(losses: int) -> float:
    """Return what so many losses of the same segment cost."""
    return _TIMER_MS * (2.0**losses - 1)


@cache
def bad_share(shape: int, level: float, loss: float) -> float:
    """Return the exact share of bad requests of a shape at a pair."""
    service = SHAPES[shape]
    return sum(
        loss**losses * (1 - loss) * service.bad_share(level + cost_ms(losses))
        for losses in range(_MOST_LOSSES)
    )


def times(shape: Shape, draws: Draws, values: tuple[float, float], requests: int) -> list[float]:
    """Return the times of requests at a pair."""
    level, loss = values
    found = []
    for _ in range(requests):
        losses = 0
        while losses < _MOST_LOSSES and draws.random.random() < loss:
            losses += 1
        found.append(shape.draw(draws, level + cost_ms(losses)))
    return found


@dataclass(frozen=True, slots=True)
class Answer:
    """What one run of a method said."""

    wrong: int
    """Pairs whose decision is wrong."""
    undecided: int
    requests: int
    is_conclusive: bool = True


def search(shape: Shape, seed: int) -> Frontier:
    """Run our search on a simulated service."""
    draws = Draws(f"{shape.name} {seed}")
    run = find_frontier(GRID, [GOAL], BUDGET)
    block = next(run)
    while True:
        measured = times(shape, draws, block.values, block.requests)
        try:
            block = run.send(Measured((measured,), block.requests))
        except StopIteration as end:
            found: Frontier = end.value
            return found


def is_wrong(shape: int, values: tuple[float, float], decision: Decision) -> bool:
    """Return whether a decision is not the truth; undecided never is."""
    is_bad = bad_share(shape, *values) > 1 - SHARE
    return (decision == "held" and is_bad) or (decision == "broken" and not is_bad)


def ours(shape: int, seed: int) -> Answer:
    """Answer by our search."""
    found = search(SHAPES[shape], seed)
    pairs = [pair for row in found.rows for pair in row]
    return Answer(
        sum(is_wrong(shape, pair.values, pair.decision) for pair in pairs),
        sum(pair.decision == "undecided" for pair in pairs),
        found.requests,
        found.outcome != "inconclusive",
    )


def evenly(shape: int, seed: int) -> Answer:
    """Answer by the share of good requests at each pair, with the budget divided evenly."""
    draws, each, wrong = Draws(f"{SHAPES[shape].name} {seed}"), BUDGET // GRID.pairs, 0
    for row in GRID.rows():
        for cell in row:
            values = GRID.values(cell)
            good = sum(map(GOAL.is_good, times(SHAPES[shape], draws, values, each)))
            wrong += is_wrong(shape, values, "held" if good >= SHARE * each else "broken")
    return Answer(wrong, 0, each * GRID.pairs)


METHODS: dict[str, Callable[[int, int], Answer]] = {
    "ours": ours,
    f"evenly, {BUDGET // GRID.pairs} a pair": evenly,
}


@dataclass(frozen=True, slots=True)
class Row:
    """All runs of a method on one shape."""

    shape: Shape
    method: str
    answers: Sequence[Answer]


def measure(seeds: int) -> list[Row]:
    """Run all methods on all shapes."""
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return [
            Row(shape, name, list(pool.map(partial(method, number), range(seeds), chunksize=2)))
            for number, shape in enumerate(SHAPES)
            for name, method in METHODS.items()
        ]


def table(rows: Iterable[Row]) -> Table:
    """Return the table of a measurement."""
    heads = ("service", "method", "maps without an error", "wrong pairs", "undecided pairs", "requests")
    return heads, [
        (
            f"{row.shape.name}: {row.shape.what}" if row.method == "ours" else "",
            row.method,
            _right(row.answers),
            f"{median(each.wrong for each in row.answers):.0f}",
            f"{median(each.undecided for each in row.answers):.0f} of {GRID.pairs}",
            f"{median(each.requests for each in row.answers):,.0f}",
        )
        for row in rows
    ]


def _right(answers: Sequence[Answer]) -> str:
    known = [each for each in answers if each.is_conclusive]
    right = f"{100 * sum(not each.wrong for each in known) / max(len(known), 1):.1f} %"
    return right if len(known) == len(answers) else f"{right} of {len(known)}"


def main(words: Sequence[str]) -> int:
    print(markdown(*table(measure(asked_seeds("bench.frontier", __doc__ or "", words)))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
