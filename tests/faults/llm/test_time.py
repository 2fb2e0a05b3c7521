"""Faults of time: when each part of an answer comes."""

from __future__ import annotations

import pytest

from faultkit.faults.dialects.llm_events import End
from faultkit.faults.llm.llm_keep_alive_only import LlmKeepAliveOnly
from faultkit.faults.llm.slow_first_token import SlowFirstToken
from faultkit.faults.llm.token_rate import TokenRate
from faultkit.faults.llm.token_stall import TokenStall
from tests.faults.llm.answers import asked, through

CHAT = asked("openai_chat")
WHOLE = asked("openai_chat", streamed=False)
# The stream: role, One, two, three, four, finish, [DONE]; a second apart.


def test_the_first_token_is_late_and_what_follows_keeps_its_pace() -> None:
    seen = through(SlowFirstToken(delay_ms=2500), CHAT)
    assert (seen.head.at, seen.times, seen.end) == (0.0, [1, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5], End(7.0 + 2.5))
    assert seen.notes == [("delay_ms", 2500.0)]


def test_a_whole_answer_is_late_with_its_head() -> None:
    seen = through(SlowFirstToken(delay_ms=2500), WHOLE)
    assert (seen.head.at, seen.times) == (2.5, [3.5])


def test_tokens_come_at_a_rate() -> None:
    seen = through(TokenRate(tokens_per_s=0.5), CHAT)
    assert seen.times == [1, 2, 4, 6, 8, 8, 8]
    assert through(TokenRate(tokens_per_s=2), CHAT).times == [1, 2, 3, 4, 5, 6, 7]  # slower than that already


def test_a_whole_answer_comes_when_its_last_token_would() -> None:
    seen = through(TokenRate(tokens_per_s=0.5), WHOLE)
    assert (seen.head.at, seen.times) == (7.0, [7.0])  # Three gaps, as in the stream.


def test_jitter_is_seeded_and_bounded() -> None:
    fault = TokenRate(tokens_per_s=0.25, jitter=0.5)
    gaps = [
        b - a for a, b in zip(through(fault, CHAT).times[1:4], through(fault, CHAT).times[2:5], strict=True)
    ]
    assert all(2 <= gap <= 6 for gap in gaps)
    assert len(set(gaps)) == 3
    assert through(fault, CHAT, seed=1).times != through(fault, CHAT, seed=2).times


def test_the_stream_stalls_once() -> None:
    seen = through(TokenStall(stall_ms=10_000, after_tokens=2), CHAT)
    assert seen.times == [1, 2, 3, 14, 14, 14, 14]
    assert through(TokenStall(stall_ms=1500, after_tokens=2), CHAT).times == [1, 2, 3, 5.5, 5.5, 6, 7]
    assert through(TokenStall(after_tokens=9), CHAT).notes == []


@pytest.mark.parametrize(
    ("name", "silence"),
    [
        ("openai_chat", b": keep-alive\n\n"),
        ("openai_responses", b": keep-alive\n\n"),
        ("anthropic_messages", b'event: ping\ndata: {"type": "ping"}\n\n'),
        ("gemini", b"\n"),
        ("ollama", b"\n"),
    ],
)
def test_only_keep_alives_come_and_then_the_connection_closes(name: str, silence: bytes) -> None:
    fault = LlmKeepAliveOnly(every_ms=500, limit_s=2, after_events=1)
    seen = through(fault, asked(name))
    assert [chunk.raw for chunk in seen.chunks[-4:]] == [silence] * 4
    assert seen.text == "One"
    last = seen.chunks[-1].at
    assert (seen.end, seen.times[-4]) == (End(last, "cut"), last - 1.5)


def test_a_whole_answer_never_comes() -> None:
    seen = through(LlmKeepAliveOnly(every_ms=1000, limit_s=3), WHOLE)
    assert seen.events[1:] == [*seen.chunks, End(4.0, "cut")]
    assert (seen.raw, seen.times) == (b"   ", [2, 3, 4])
