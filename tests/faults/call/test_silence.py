"""Call faults that leave calls unanswered, or answer late or in pieces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from faultkit.faults.call.frozen import Frozen
from faultkit.faults.call.hang import Hang
from faultkit.faults.call.keep_alive_only import KeepAliveOnly
from faultkit.faults.call.lost_reply import LostReply
from faultkit.faults.call.recover_after import RecoverAfter
from faultkit.faults.call.slow import Slow
from faultkit.faults.call.slow_drip import SlowDrip
from faultkit.faults.call.wedged import Wedged
from faultkit.faults.call_fault import CallFault, Drip, KeepAlive, Send, Verdict
from faultkit.faults.stream.latency import Latency
from tests.faults.call.judged import CALL, REPLY, error, frames, given, judged

TEXT = "server unresponsive (fault injected): call to `search` got no reply for 600 s"
SENTINEL = error(-31001, TEXT)


@pytest.mark.parametrize(
    ("fault", "effect", "ask", "freeze"),
    [
        (Hang(), "hang", False, False),
        (Wedged(), "wedged", False, False),
        (Frozen(), "frozen", False, True),
        (LostReply(), "lost_reply", True, False),
    ],
)
def test_a_call_without_a_reply_ends_after_ten_minutes_with_a_sentinel(
    fault: CallFault, effect: str, ask: bool, freeze: bool
) -> None:
    verdict = judged(fault)
    assert frames(fault) == (Send(SENTINEL, after_s=600.0),)
    assert (verdict.effect, verdict.ask, verdict.freezes_session) == (effect, ask, freeze)
    assert (verdict.delay_s, verdict.ignores_cancel, verdict.overtaken_by) == (0.0, False, 0)


def test_a_hang_may_end_sooner() -> None:
    (frame,) = frames(Hang(limit_s=2.5))
    assert frame.after_s == 2.5


def test_a_call_about_nothing_is_named_by_its_method() -> None:
    (frame,) = frames(Hang(), call=replace(CALL, method="ping", name=""))
    assert isinstance(frame, Send)
    assert "call to `ping` got no reply" in str(frame.message)


@pytest.mark.parametrize(("ordinal", "hangs"), [(0, True), (1, True), (2, False), (3, False)])
def test_after_so_many_hung_calls_the_server_recovers(ordinal: int, hangs: bool) -> None:
    verdict = judged(RecoverAfter(failures=2), replace(CALL, ordinal=ordinal))
    assert verdict.effect == ("hang" if hangs else "")
    assert verdict.idle is not hangs


def test_a_delay_of_zero_is_not_an_injection() -> None:
    assert judged(Slow(delay_ms=0)).idle


def test_a_slow_call_is_asked_later_and_its_reply_is_left_alone() -> None:
    assert judged(Slow(delay_ms=500)) == Verdict(delay_s=0.5, effect="delay_ms", amount=500.0)


@pytest.mark.parametrize(
    "drawn",
    [
        {"distribution": "normal", "stddev_ms": 30.0},
        {"distribution": "uniform", "min_ms": 10.0, "max_ms": 20.0},
        {"distribution": "pareto", "shape": 2.0, "scale_ms": 100.0},
        {"distribution": "pareto-normal", "shape": 2.0, "scale_ms": 100.0, "stddev_ms": 30.0},
    ],
)
def test_delays_are_drawn_as_those_of_latency_are(drawn: dict[str, Any]) -> None:
    latency = Latency(mean_ms=300, **drawn)
    assert judged(Slow(delay_ms=300, **drawn)).amount == latency.draw_ms(given().rng)


def test_no_drawn_delay_is_longer_than_a_day() -> None:
    assert judged(Slow(distribution="pareto", shape=0.001, scale_ms=1e9)).delay_s == 86_400


def test_a_distribution_needs_its_settings() -> None:
    with pytest.raises(ValueError, match="max_ms: expected a number above 0 for uniform, got 0"):
        Slow(distribution="uniform")


def test_a_reply_may_come_a_few_bytes_at_a_time() -> None:
    assert frames(SlowDrip(chunk_bytes=3, every_ms=50)) == (Drip(REPLY, 3, 0.05),)


def test_pieces_without_a_wait_are_no_fault() -> None:
    assert judged(SlowDrip(every_ms=0)).idle


def test_a_stream_that_only_keeps_itself_alive_ends_with_the_sentinel() -> None:
    assert frames(KeepAliveOnly(every_ms=250)) == (KeepAlive(0.25, 600.0), Send(SENTINEL))
    assert not judged(KeepAliveOnly()).ask
