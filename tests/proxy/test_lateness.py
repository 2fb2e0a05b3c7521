from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.proxy.lateness import Lateness


def lateness_of(micros: list[float]) -> Lateness:
    lateness = Lateness()
    for each in micros:
        lateness.record(each / 1e6)
    return lateness


@pytest.mark.parametrize(
    ("limit_us", "share"), [(0, 0.75), (150, 0.5), (2000, 0.25), (4600, 0.25), (5000, 0.0)]
)
def test_the_share_of_later_releases(limit_us: float, share: float) -> None:
    assert lateness_of([0, 100, 1000, 5000]).share_above(limit_us) == share


def test_of_no_releases_none_is_late() -> None:
    assert Lateness().share_above(0) == 0.0


@given(st.lists(st.floats(0, 1e7), min_size=1, max_size=50), st.floats(0, 1e7))
def test_it_is_off_by_no_more_than_the_width_of_a_bucket(micros: list[float], limit_us: float) -> None:
    share = lateness_of(micros).share_above(limit_us) * len(micros)
    assert sum(each > limit_us * 17 / 16 + 1.001 for each in micros) <= round(share)
    assert round(share) <= sum(each >= limit_us - 0.001 for each in micros)
