"""Which segments are lost: Markov chains, walked by whole stays and gaps instead of segment by segment.

It knows segments by number only. `packet_loss` computes the cost of a loss.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.base.rng import Rng


@dataclass(frozen=True, slots=True)
class LossChain:
    """A channel with states. Before each segment but the first it moves, then it loses or not."""

    loss: tuple[float, ...]
    """The probability of a loss in each state."""
    moves: tuple[tuple[float, ...], ...]
    """moves[a][b] is the probability of a move from state a to state b."""
    start: tuple[float, ...]
    """The probability of each state for the first segment."""
    mean_loss: float
    """The long-run share of lost segments."""


def independent(rate: float) -> LossChain:
    """Return a chain with one state: each segment is lost with the same probability."""
    return LossChain(loss=(rate,), moves=((1.0,),), start=(1.0,), mean_loss=rate)


def gilbert_elliott(good_to_bad: float, bad_to_good: float, good_loss: float, bad_loss: float) -> LossChain:
    """Return a chain of two states.

    It starts in its long-run distribution, so that short connections see the long-run loss too."""
    moving = good_to_bad + bad_to_good
    bad_share = good_to_bad / moving if moving else 0.0
    return LossChain(
        loss=(good_loss, bad_loss),
        moves=((1 - good_to_bad, good_to_bad), (bad_to_good, 1 - bad_to_good)),
        start=(1 - bad_share, bad_share),
        mean_loss=bad_share * bad_loss + (1 - bad_share) * good_loss,
    )


FIVE_STATE = LossChain(
    loss=(0.0, 0.1, 0.3, 0.6, 0.9),
    moves=(
        (0.90, 0.10, 0.00, 0.00, 0.00),
        (0.05, 0.90, 0.05, 0.00, 0.00),
        (0.00, 0.10, 0.80, 0.10, 0.00),
        (0.00, 0.00, 0.20, 0.70, 0.10),
        (0.00, 0.00, 0.00, 0.30, 0.70),
    ),
    start=(0.05, 0.90, 0.05, 0.00, 0.00),
    mean_loss=5.7 / 28,
)
"""The fixed chain of the `fault` tool: excellent, good, fair, poor, bad. It begins one move after good."""


class LossWalk:
    """One walk over a chain. Which segments are lost depends on the stream of numbers alone."""

    __slots__ = ("_chain", "_next_loss", "_rng", "_state", "_stay_end")

    def __init__(self, chain: LossChain, rng: Rng) -> None:
        self._chain = chain
        self._rng = rng
        self._enter(_pick(chain.start, rng), 0)

    def lost_before(self, limit: int) -> list[int]:
        """Return the lost segments below `limit` that were not returned before."""
        lost: list[int] = []
        loss = self._chain.loss
        while True:
            stop = min(limit, self._stay_end)
            while self._next_loss < stop:
                lost.append(self._next_loss)
                self._next_loss += 1 + self._rng.gap(loss[self._state])
            # Never look further than asked: a chain that hardly loses would be walked for ever.
            if self._stay_end >= limit:
                return lost
            moves = self._chain.moves[self._state]
            others = tuple(0.0 if state == self._state else move for state, move in enumerate(moves))
            self._enter(_pick(others, self._rng), self._stay_end)

    def _enter(self, state: int, segment: int) -> None:
        self._state = state
        self._stay_end = segment + 1 + self._rng.gap(1 - self._chain.moves[state][state])
        self._next_loss = segment + self._rng.gap(self._chain.loss[state])


def _pick(weights: tuple[float, ...], rng: Rng) -> int:
    """Draw a state by weight. A single possible one takes no number of the stream."""
    possible = [state for state, weight in enumerate(weights) if weight > 0]
    if len(possible) == 1:
        return possible[0]
    left = rng.uniform() * sum(weights)
    for state in possible:
        left -= weights[state]
        if left < 0:
            return state
    return possible[-1]
