"""Recordings of exchanges with models: masked, written, read again, and looked up."""

from __future__ import annotations

import json

import pytest

from faultkit.base.errors import InputError
from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.dialect_table import read_request
from faultkit.faults.dialects.recording import (
    HEADER,
    LlmReplay,
    RecordedExchange,
    exchange_of,
    line_of,
    parse_recording,
)
from tests.faults.dialects.recorded import STREAMS, Recorded

KEY = "sk-proj-Zk3vQ9wLx7Rt2Yb8Nc5Mf1Hd6Jg4Ps0A"


def asked(content: str, **more: object) -> LlmRequest:
    body = {"model": "m", "messages": [{"role": "user", "content": content}], **more}
    found = read_request("/v1/chat/completions", json.dumps(body).encode())
    assert found is not None
    return found


def recorded(request: LlmRequest, *parts: bytes) -> RecordedExchange:
    timed = [(float(at), part) for at, part in enumerate(parts)]
    made = exchange_of(request, 200, "text/event-stream", timed)
    assert made is not None
    return made


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_a_recorded_stream_is_read_again_byte_for_byte(stream: Recorded) -> None:
    answer = stream.answer
    # Cut at every seventh byte: in the middle of characters, too.
    parts = [answer[n : n + 7] for n in range(0, len(answer), 7)]
    made = exchange_of(stream.request, 200, stream.content_type, [(0.5, part) for part in parts])
    assert made is not None
    (read,) = parse_recording(f"{HEADER}\n{line_of(made)}\n", "x.jsonl")
    assert read == made
    assert "".join(part for _, part in read.units).encode() == answer
    assert LlmReplay([read]).answer_to(stream.request) is read


def test_secrets_are_masked_and_still_found() -> None:
    request = asked(f"my\u2028key is {KEY}")
    line = line_of(recorded(request, f"data: it was {KEY}\n\n".encode()))
    assert KEY not in line
    replay = LlmReplay(parse_recording(f"{HEADER}\n{line}", "x"))
    assert replay.answer_to(request) is not None


def test_a_secret_that_is_spread_over_deltas_is_masked() -> None:
    event = 'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n'
    pieces = ["It is ", KEY[:4], KEY[4:12], KEY[12:], "."]
    made = recorded(asked("hi"), *((event % piece).encode() for piece in pieces))
    line = line_of(made)
    assert not any(piece in line for piece in pieces[2:4])
    assert "It is [redacted]." in line
    assert len(made.units) == 5


def test_equal_requests_get_their_answers_in_order_and_the_last_again() -> None:
    request = asked("hi")
    replay = LlmReplay([recorded(request, b"1"), recorded(request, b"2")])
    found = [replay.answer_to(request) for _ in range(3)]
    assert [each and each.units[0][1] for each in found] == ["1", "2", "2"]
    assert replay.missed == 0


def test_a_request_that_was_not_recorded_is_explained() -> None:
    replay = LlmReplay([recorded(asked("hi"), b"1")])
    other = asked("hello", temperature=1)
    assert replay.answer_to(other) is None
    assert replay.missed == 1
    assert replay.why_not(other) == (
        "the recording is stale, or of other requests: the nearest one differs in messages[0].content, "
        "temperature; record it again with fault run llm --record"
    )
    found = read_request("/v1/messages", b'{"model": "m", "messages": []}')
    assert found is not None
    assert replay.why_not(found) == (
        "the recording has no request to /v1/messages (it has /v1/chat/completions)"
    )


def test_an_answer_that_is_not_utf_8_is_not_recorded() -> None:
    assert exchange_of(asked("hi"), 200, "", [(0.0, b"\xff\xfe")]) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "f: expected a recording of fault run llm --record, got another file"),
        ('{"a": 1}', "f: expected a recording of fault run llm --record, got another file"),
        (
            '{"faultkit_llm_recording": 9}',
            "f: expected a recording of version 1, got version 9: record it again",
        ),
        (HEADER, "f: expected at least one recorded exchange, got none"),
        (f'{HEADER}\n{{"path": "/v1', "f:2: expected a recorded exchange, got a line that is none"),
        (
            HEADER + '\n{"path": "/x", "request": {}, "status": 200, "content_type": "", "answer": []}',
            "f:2: expected a request of a known LLM API, got one to /x",
        ),
    ],
)
def test_a_file_that_is_no_recording_is_named(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_recording(text, "f")
    assert str(caught.value) == problem
