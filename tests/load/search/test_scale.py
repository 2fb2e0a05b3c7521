"""The range of a setting that is searched."""

from __future__ import annotations

import pytest

from faultkit.load.search.scale import Scale


def test_positions_run_from_the_harmless_to_the_harmful_end() -> None:
    scale = Scale(0, 400)
    assert [scale.value(each) for each in (0, scale.steps / 2, scale.steps)] == [0, 200, 400]


def test_a_range_may_be_searched_downwards() -> None:
    scale = Scale(1000, 10)
    assert scale.value(0) == 1000
    assert scale.value(scale.steps) == 10
    assert scale.value(10) > scale.value(11)


def test_a_logarithmic_range_has_equal_ratios() -> None:
    scale = Scale(1, 10_000, spacing="log")
    assert scale.value(scale.steps / 2) == pytest.approx(100)
    assert scale.value(scale.steps / 4) == pytest.approx(10)


def test_a_bracket_is_never_narrower_than_the_resolution() -> None:
    scale = Scale(0, 400, resolution=30)
    assert scale.value(1) >= 28
    assert Scale(0, 10, resolution=50).steps == 1


def test_whole_numbers_stay_whole() -> None:
    scale = Scale(0, 10, whole=True)
    assert [scale.value(each) for each in range(scale.steps + 1)] == list(range(11))
    assert {scale.value(each) % 1 for each in (0.3, 2.5, 7.7)} == {0}
    down = Scale(1000, 1, spacing="log", whole=True)
    assert down.value(down.steps / 2) == 32


def test_values_have_no_digits_that_mean_nothing() -> None:
    assert Scale(0, 1000).value(85.333333333) == 333.33
    assert Scale(0, 0.5).value(7) == 0.01367


@pytest.mark.parametrize(
    ("ends", "settings", "problem"),
    [
        ((5, 5), {}, "range: expected two different numbers, got 5..5"),
        ((0, float("inf")), {}, "range: expected two different numbers, got 0..inf"),
        ((0, 5), {"spacing": "log"}, "range: expected numbers above 0 for a log scale, got 0..5"),
        ((0, 1.5), {"whole": True}, "range: expected whole numbers, got 0..1.5"),
        ((0, 9), {"whole": True, "resolution": 0.5}, "resolution: expected at least 1"),
    ],
)
def test_a_range_that_cannot_be_searched_is_refused(
    ends: tuple[float, float], settings: dict[str, object], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem.replace(".", r"\.")):
        Scale(*ends, **settings)  # type: ignore[arg-type]
