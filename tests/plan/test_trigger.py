"""Trigger: which of the counted units are hit."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.base.rng import Rng
from faultkit.plan.trigger import Trigger


def hits(trigger: Trigger, units: int = 10) -> list[int]:
    return [ordinal for ordinal in range(units) if trigger.fires(ordinal, Rng.keyed("test", ordinal))]


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        (Trigger(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (Trigger(first=3), [0, 1, 2]),
        (Trigger(after=7), [7, 8, 9]),
        (Trigger(every=3), [2, 5, 8]),
        (Trigger(after=2, first=3), [2, 3, 4]),
        (Trigger(after=1, every=4), [4, 8]),
        (Trigger(after=1, first=5, every=2), [2, 4]),
        (Trigger(first=1, every=2), []),
        (Trigger(probability=0), []),
    ],
)
def test_units_are_hit_by_count(trigger: Trigger, expected: list[int]) -> None:
    assert hits(trigger) == expected


def test_chance_decides_among_the_units_that_the_counts_leave() -> None:
    chosen = hits(Trigger(probability=0.5, after=10, every=2), units=200)
    eligible = list(range(11, 200, 2))
    assert chosen == [o for o in eligible if Rng.keyed("test", o).chance(0.5)]
    assert 0 < len(chosen) < len(eligible)


def test_no_random_number_is_drawn_when_chance_has_no_say() -> None:
    rng = Rng.keyed("same")
    Trigger(after=1).fires(0, rng)
    Trigger(after=1).fires(1, rng)
    Trigger(after=1, probability=0.5).fires(0, rng)
    assert rng.uint64() == Rng.keyed("same").uint64()


@pytest.mark.parametrize(
    ("trigger", "always"),
    [
        (Trigger(), True),
        (Trigger(probability=0.99), False),
        (Trigger(first=1), False),
        (Trigger(after=1), False),
        (Trigger(every=2), False),
    ],
)
def test_always_means_that_every_unit_is_hit(trigger: Trigger, always: bool) -> None:
    assert trigger.always is always


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"probability": 1.5}, "probability: expected a number from 0 to 1, got 1.5"),
        ({"probability": -0.1}, "probability: expected a number from 0 to 1, got -0.1"),
        ({"probability": float("nan")}, "probability: expected a number from 0 to 1, got nan"),
        ({"first": 0}, "first: expected a whole number of at least 1, got 0"),
        ({"after": -1}, "after: expected a whole number of at least 0, got -1"),
        ({"every": 0}, "every: expected a whole number of at least 1, got 0"),
        ({"burst": 0}, "burst: expected a whole number from 1 to 1000, got 0"),
        ({"burst": 1001}, "burst: expected a whole number from 1 to 1000, got 1001"),
    ],
)
def test_a_trigger_that_makes_no_sense_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        Trigger(**fields)
    assert str(caught.value) == problem


def episodes(trigger: Trigger, units: int) -> list[int]:
    line = Rng.keyed("line")
    return [ordinal for ordinal in range(units) if trigger.in_episode(ordinal, line)]


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        (Trigger(every=5, burst=2), [4, 5, 9, 10]),
        (Trigger(first=1, burst=3), [0, 1, 2]),
        (Trigger(after=8, burst=3), [8, 9, 10, 11]),
        (Trigger(after=2, first=2, burst=2), [2, 3, 4]),
        (Trigger(probability=0, burst=9), []),
        (Trigger(every=3), [2, 5, 8, 11]),
    ],
)
def test_an_episode_hits_so_many_units_in_a_row(trigger: Trigger, expected: list[int]) -> None:
    assert episodes(trigger, 12) == expected


def test_a_unit_is_hit_if_an_episode_began_at_it_or_shortly_before() -> None:
    trigger, line = Trigger(probability=0.05, burst=4), Rng.keyed("line")
    began = [unit for unit in range(200) if line.child(unit).chance(0.05)]
    assert episodes(trigger, 200) == sorted({b + k for b in began for k in range(4) if b + k < 200})
    assert 0 < len(began) < 30


def test_units_may_be_asked_in_any_order() -> None:
    trigger, line = Trigger(probability=0.1, burst=3), Rng.keyed("line")
    backwards = [unit for unit in reversed(range(100)) if trigger.in_episode(unit, line)]
    assert backwards[::-1] == episodes(trigger, 100)
