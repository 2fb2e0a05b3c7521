"""The generator gives what Go's gives, and its draws have the shapes they promise."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.rng import NEVER, Rng, fnv1a_64

GOLDEN: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "golden" / "flaky.json").read_text("utf-8")
)["golden"]
DRAWS = 20_000


def test_the_first_numbers_are_those_of_go_s_pcg_with_seeds_1_and_2() -> None:
    rng = Rng("any", 1, 2)
    assert [rng.uint64() for _ in range(2)] == [0xC4F5A58656EEF510, 0x9DCEC3AD077DEC6C]


@pytest.mark.parametrize(("text", "value"), [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C)])
def test_fnv1a_gives_the_published_values(text: str, value: int) -> None:
    assert fnv1a_64(text) == value


def test_half_of_a_surrogate_pair_is_a_key_like_any_other() -> None:
    assert Rng.keyed("\ud800").uint64() != Rng.keyed("\ud801").uint64()


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['seed']}-{case['call_id']}")
def test_a_roll_is_the_one_of_go_to_the_bit(case: dict[str, Any]) -> None:
    key = f"{case['seed']}|{case['call_id']}"
    assert fnv1a_64(key) == int(case["pcg_seed1"], 16)
    assert fnv1a_64("salt|" + key) == int(case["pcg_seed2"], 16)
    roll = Rng.keyed(case["seed"], case["call_id"]).uniform()
    assert struct.pack(">d", roll).hex() == case["roll_bits"].removeprefix("0x")


def test_a_child_does_not_depend_on_how_far_its_parent_was_read() -> None:
    fresh, read = Rng.keyed("seed"), Rng.keyed("seed")
    read.uint64()
    assert fresh.child("a", 1).uint64() == read.child("a", 1).uint64()


def test_children_of_other_names_are_other_streams() -> None:
    rng = Rng.keyed("seed")
    assert len({rng.child(name).uint64() for name in range(100)}) == 100


def test_uniform_draws_have_the_mean_and_spread_of_the_unit_interval() -> None:
    rng = Rng.keyed("uniform")
    draws = [rng.uniform() for _ in range(DRAWS)]
    assert 0 <= min(draws) < 0.001
    assert 0.999 < max(draws) < 1
    assert fmean(draws) == pytest.approx(0.5, abs=4 / math.sqrt(12 * DRAWS))
    assert pstdev(draws) == pytest.approx(1 / math.sqrt(12), rel=0.02)


def test_below_gives_each_number_about_as_often() -> None:
    rng = Rng.keyed("below")
    counts = [0] * 10
    for _ in range(DRAWS):
        counts[rng.below(10)] += 1
    expected = DRAWS / 10
    chi_squared = sum((count - expected) ** 2 / expected for count in counts)
    assert chi_squared < 27.9, "nine degrees of freedom, 99.9 %"


@given(st.integers(1, 1 << 40), st.integers())
def test_below_stays_below(limit: int, seed: int) -> None:
    assert 0 <= Rng.keyed(seed).below(limit) < limit


def test_normal_draws_have_the_mean_spread_and_quantiles_asked_for() -> None:
    rng = Rng.keyed("normal")
    draws = [rng.normal(100, 15) for _ in range(DRAWS)]
    assert fmean(draws) == pytest.approx(100, abs=4 * 15 / math.sqrt(DRAWS))
    assert pstdev(draws) == pytest.approx(15, rel=0.03)
    within_one = sum(85 <= draw <= 115 for draw in draws) / DRAWS
    assert within_one == pytest.approx(0.6827, abs=0.014)


def test_pareto_draws_have_the_least_value_mean_and_tail_asked_for() -> None:
    rng = Rng.keyed("pareto")
    draws = [rng.pareto(10, 5) for _ in range(DRAWS)]
    assert 10 <= min(draws) < 10.01
    assert fmean(draws) == pytest.approx(12.5, abs=4 * 3.23 / math.sqrt(DRAWS))
    beyond_twice = sum(draw > 20 for draw in draws) / DRAWS
    assert beyond_twice == pytest.approx(2**-5, abs=0.005)


def test_pareto_with_a_very_heavy_tail_is_a_number_all_the_same() -> None:
    rng = Rng.keyed("heavy")
    assert all(math.isfinite(rng.pareto(10, 0.001)) for _ in range(100))


@pytest.mark.parametrize("probability", [0.5, 0.1, 0.01])
def test_gaps_have_the_mean_of_the_geometric_distribution(probability: float) -> None:
    rng = Rng.keyed("gap", probability)
    mean = (1 - probability) / probability
    spread = math.sqrt(1 - probability) / probability
    draws = [rng.gap(probability) for _ in range(DRAWS)]
    assert fmean(draws) == pytest.approx(mean, abs=4 * spread / math.sqrt(DRAWS))
    assert draws.count(0) / DRAWS == pytest.approx(probability, abs=4 * math.sqrt(probability / DRAWS))


@pytest.mark.parametrize(("probability", "gap"), [(0.0, NEVER), (1.0, 0), (1e-300, NEVER)])
def test_gaps_at_the_edges(probability: float, gap: int) -> None:
    assert Rng.keyed("edge").gap(probability) == gap


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_a_chance_of_0_never_comes_and_of_1_always(probability: float) -> None:
    rng = Rng.keyed("chance")
    assert {rng.chance(probability) for _ in range(1000)} == {bool(probability)}


@pytest.mark.parametrize(
    "key", ["", "a", "a|b", "a|b|c", "7|rule|web|123|trigger", "a|b|c|", "||||", "7|ü\udc80|x|ÿ"]
)
def test_a_stream_is_seeded_by_the_hashes_of_its_key_and_of_the_salted_key(key: str) -> None:
    seeded = Rng(key, fnv1a_64(key), fnv1a_64("salt|" + key))
    drawn = Rng(key)
    assert [drawn.uint64() for _ in range(3)] == [seeded.uint64() for _ in range(3)]
