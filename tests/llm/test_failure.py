"""Pauses after a failed call: exact values of seeded draws, and waits that providers ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.rng import Rng
from faultkit.llm.failure import (
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    FailureKind,
    ProviderFailure,
    after_s,
    pause_s,
)


def test_pauses_double_and_the_same_seed_draws_the_same() -> None:
    failure = ProviderFailure("server")
    first, second = ([pause_s(failure, tried, rng) for tried in range(1, 8)] for rng in _twins())
    assert first == second
    assert all(
        full / 2 <= (pause or 0) <= full for pause, full in zip(first, [0.5, 1, 2, 4, 8, 16, 20], strict=True)
    )


def _twins() -> tuple[Rng, Rng]:
    return Rng.keyed("test"), Rng.keyed("test")


@given(st.integers(1, 10_000))
def test_no_pause_is_longer_than_the_longest(tried: int) -> None:
    pause = pause_s(ProviderFailure("rate"), tried, Rng.keyed(tried))
    assert pause is not None
    assert FIRST_PAUSE_S / 2 <= pause <= LONGEST_PAUSE_S


@pytest.mark.parametrize("kind", ["key", "model", "credit", "timeout", "rejected", "garbage"])
def test_what_does_not_pass_is_not_tried_again(kind: FailureKind) -> None:
    assert pause_s(ProviderFailure(kind), 1, Rng.keyed(1)) is None


def test_the_provider_decides_up_to_a_minute() -> None:
    assert pause_s(ProviderFailure("rate", after_s=60), 1, Rng.keyed(1)) == 60
    assert pause_s(ProviderFailure("rate", after_s=60.5), 1, Rng.keyed(1)) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Wed, 01 Jul 2026 10:00:30 GMT", "date": "Wed, 01 Jul 2026 10:00:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 01 Jul 2026 10:00:00 GMT", "date": "Wed, 01 Jul 2026 10:00:30 GMT"}, 0.0),
        ({"retry-after": "Wed, 01 Jul 2026 10:00:30 GMT"}, None),
    ],
)
def test_retry_after_is_understood(headers: dict[str, str], seconds: float | None) -> None:
    assert after_s(headers) == seconds
