from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from faultkit.load.clock_offset import FEWEST, MOST, MOST_UNCERTAIN_S, ClockOffset, measure_offset


class Clocks:
    """Two clocks `apart` seconds from each other; the way there and back takes the next pair of times."""

    def __init__(self, apart: float, trips: list[tuple[float, float]]) -> None:
        self.now = 1000.0
        self.apart = apart
        self.trips = trips
        self.exchanges = 0

    def ours(self) -> float:
        return self.now

    def theirs(self) -> float:
        there, back = self.trips[self.exchanges % len(self.trips)]
        self.exchanges += 1
        self.now += there
        read = self.now + self.apart
        self.now += back
        return read


@given(
    st.floats(-1e6, 1e6),
    st.lists(st.tuples(st.floats(0.0001, 0.1), st.floats(0.0001, 0.1)), min_size=1, max_size=10),
)
def test_the_true_offset_is_within_the_uncertainty(apart: float, trips: list[tuple[float, float]]) -> None:
    found = measure_offset((clocks := Clocks(apart, trips)).theirs, clocks.ours)
    assert abs(found.offset_s - apart) <= found.uncertain_s + 1e-6


def test_exchanges_bound_the_offset_together() -> None:
    clocks = Clocks(5.0, [(0.03, 0.001), (0.003, 0.05), (0.2, 0.2), (0.1, 0.1), (0.1, 0.1)])
    found = measure_offset(clocks.theirs, clocks.ours)
    # It is between 1 ms less, by the first, and 3 ms more, by the second.
    assert (round(found.offset_s, 6), round(found.uncertain_s, 6)) == (5.001, 0.002)
    assert clocks.exchanges == FEWEST


def test_a_clock_that_is_set_meanwhile_is_not_usable() -> None:
    clocks = Clocks(5.0, [(0.001, 0.001)])

    def theirs() -> float:
        clocks.apart += 1.0
        return clocks.theirs()

    assert measure_offset(theirs, clocks.ours).uncertain_s == inf


def test_slow_answers_are_asked_for_again_up_to_a_limit() -> None:
    later = Clocks(0.0, [(0.05, 0.05)] * 7 + [(0.001, 0.001)])
    assert measure_offset(later.theirs, later.ours).usable
    assert later.exchanges == 8
    never = Clocks(0.0, [(0.0101, 0.0101)])
    assert not measure_offset(never.theirs, never.ours).usable
    assert never.exchanges == MOST


def test_the_limit_itself_is_usable() -> None:
    assert ClockOffset(0.0, MOST_UNCERTAIN_S).usable
    assert not ClockOffset(0.0, MOST_UNCERTAIN_S + 1e-9).usable
