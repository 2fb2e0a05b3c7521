from __future__ import annotations

from statistics import fmean

import pytest

from faultkit.base.rng import Rng
from faultkit.faults.events import Data, Eof
from faultkit.faults.stream.jitter import Jitter
from faultkit.testing import run_filter


def window_delay_s(window: int, amplitude_ms: float = 20.0) -> float:
    return Rng.keyed(0).child(window).between(0, amplitude_ms) / 1000


def test_bytes_wait_the_delay_of_the_window_in_which_they_arrive() -> None:
    arrivals = [8.0, 8.125, 8.25, 9.5]
    out = run_filter(Jitter(frequency_hz=4), *(Data(at, b"x") for at in arrivals), at=8.0)
    windows = [0, 0, 1, 6]
    assert [event.at for event in out] == [
        at + window_delay_s(window) for at, window in zip(arrivals, windows, strict=True)
    ]


def test_the_delay_of_a_window_does_not_depend_on_earlier_traffic() -> None:
    busy = run_filter(Jitter(), *(Data(tenth / 10, b"x") for tenth in range(50)), Data(7.1, b"a"))
    assert busy[-1] == run_filter(Jitter(), Data(7.1, b"a"))[0]


def test_frequency_0_keeps_one_delay_for_ever() -> None:
    out = run_filter(Jitter(frequency_hz=0), Data(0.0, b"a"), Data(1000.0, b"b"))
    assert [event.at for event in out] == [window_delay_s(0), 1000.0 + window_delay_s(0)]


def test_order_is_kept_when_the_next_delay_is_shorter() -> None:
    out = run_filter(
        Jitter(amplitude_ms=1000, frequency_hz=100),
        *(Data(n / 100, bytes((n,))) for n in range(100)),
        Eof(1.0),
    )
    assert [event.at for event in out] == sorted(event.at for event in out)
    assert [event.payload[0] for event in out if isinstance(event, Data)] == list(range(100))
    assert out[-1] == Eof(out[-2].at)


def test_delays_are_uniform_up_to_the_amplitude_and_are_noted() -> None:
    notes: list[tuple[str, float]] = []
    run_filter(
        Jitter(amplitude_ms=50, frequency_hz=10), *(Data(n / 10, b"x") for n in range(2000)), notes=notes
    )
    delays_ms = [value for effect, value in notes if effect == "delay_ms"]
    assert len(delays_ms) == 2000
    assert 0 <= min(delays_ms) < 0.5
    assert 49.5 < max(delays_ms) < 50
    assert fmean(delays_ms) == pytest.approx(25, abs=4 * 50 / (12 * 2000) ** 0.5)


def test_amplitude_0_lets_everything_pass_at_once() -> None:
    assert run_filter(Jitter(amplitude_ms=0), Data(1.0, b"a"), Eof(1.0)) == [Data(1.0, b"a"), Eof(1.0)]
