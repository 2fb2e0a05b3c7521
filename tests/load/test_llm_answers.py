"""Answers of models under load: exact figures with a clock of the test, and counts against the mock."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import pytest

from faultkit.faults.dialects.dialect import LlmRequest, headers_for
from faultkit.faults.dialects.dialect_table import read_request
from faultkit.faults.dialects.json_members import write_json
from faultkit.faults.dialects.turn import ToolCall, Turn, token_pieces
from faultkit.llm.mock.mock_answers import MockAnswers, ScriptedTurn
from faultkit.load.item_figures import FigureRecorder
from faultkit.load.item_summary import LlmSummary
from faultkit.load.llm_answers import LlmEngine, TokenReader
from faultkit.load.load import Load, Target
from faultkit.load.response import Failure
from faultkit.load.tally import Tally
from faultkit.proxy.event_loop import Loop
from tests.llm.mock.served_mock import mock
from tests.load.servers import Run

ASKED = [{"role": "user", "content": "Hello"}]
CONTENTS = [{"role": "user", "parts": [{"text": "Hello"}]}]
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "openai_chat": ("/v1/chat/completions", {"model": "m", "messages": ASKED}),
    "openai_responses": ("/v1/responses", {"model": "m", "input": "Hello"}),
    "anthropic_messages": ("/v1/messages", {"model": "m", "max_tokens": 9, "messages": ASKED}),
    "gemini": ("/v1beta/models/m:generateContent", {"contents": CONTENTS}),
    "ollama": ("/api/chat", {"model": "m", "messages": ASKED}),
}
TEXT = "One two three four five."
"""Six tokens."""


def call_of(name: str, *, streamed: bool) -> tuple[str, bytes]:
    path, body = CALLS[name]
    if name == "gemini":
        path = path.replace(":generateContent", ":streamGenerateContent?alt=sse") if streamed else path
    else:
        body = {**body, "stream": streamed}
    return path, json.dumps(body).encode()


class _Clock:
    """A loop with the time of the test."""

    now = 0.0

    def clock(self) -> float:
        return self.now

    def call_at(self, at: float, callback: Callable[[float], None], owner: object) -> None:
        pass


class _Answer:
    """An answer that is fed to a reader at the times of the test."""

    def __init__(self, request: LlmRequest, started: float = 0.0) -> None:
        self.clock = _Clock()
        self.clock.now = started
        self.figures = FigureRecorder("llm", 0.0)
        loop, engine = cast(Loop, self.clock), cast(LlmEngine, None)
        self.reader = TokenReader(request, loop, self.figures, engine)
        kind = dict(headers_for(request.framing))["content-type"]
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert not self.reader.feed(head.encode())

    def feed(self, data: bytes, at: float) -> bool:
        self.clock.now = at
        return self.reader.feed(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> Failure:
        assert self.reader.feed(b"0\r\n\r\n")
        self.reader.end_body()
        return self.reader.failure()


def request_of(name: str, *, streamed: bool) -> LlmRequest:
    request = read_request(*call_of(name, streamed=streamed))
    assert request is not None
    assert request.is_streamed == streamed
    return request


@pytest.mark.parametrize("name", CALLS)
def test_the_tokens_and_times_of_a_streamed_answer_are_exact(name: str) -> None:
    request = request_of(name, streamed=True)
    answer = _Answer(request)
    units = request.dialect.stream_of(Turn("m", "1", tuple(token_pieces(TEXT))), request)
    seen: list[float] = []
    for number, unit in enumerate(units):
        at, before = 1.0 + number / 4, answer.reader.events
        answer.feed(unit, at)
        seen += [at] * (answer.reader.events - before)
    assert answer.end() is Failure.NONE
    reader = answer.reader
    assert (reader.tokens, reader.events) == (6, 6)
    assert reader.first_token == seen[0]
    assert reader.token_time(0.0) == 0.25
    gaps = answer.figures.take().total().gaps
    assert gaps.count == 5
    assert gaps.sum_s == pytest.approx(1.25, rel=1e-3)


@pytest.mark.parametrize("name", CALLS)
def test_an_answer_that_comes_whole_has_a_time_of_its_tokens_and_no_gaps(name: str) -> None:
    request = request_of(name, streamed=False)
    answer = _Answer(request)
    turn = Turn("m", "1", tuple(token_pieces(TEXT)))
    answer.feed(write_json(request.dialect.whole_of(turn, request)), 3.0)
    assert answer.end() is Failure.NONE
    assert (answer.reader.tokens, answer.reader.first_token) == (6, 3.0)
    assert answer.reader.token_time(0.0) == 0.5
    assert answer.figures.take().total().gaps.count == 0


def test_the_arguments_of_a_call_are_tokens_of_an_answer() -> None:
    request = request_of("anthropic_messages", streamed=True)
    answer = _Answer(request)
    turn = Turn("m", "1", (), (ToolCall("search", {"q": "tea"}, "1"),), "tool_calls")
    for unit in request.dialect.stream_of(turn, request):
        answer.feed(unit, 1.0)
    assert answer.end() is Failure.NONE
    assert answer.reader.tokens == turn.output_tokens


@pytest.mark.parametrize(
    ("units", "failure"),
    [
        ([b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'], Failure.EARLY_END),
        ([b'data: {"choices":[{"delta":{"cont\n\n', b"data: [DONE]\n\n"], Failure.MALFORMED_EVENT),
        ([b'data: {"error":{"message":"overloaded"}}\n\n'], Failure.MODEL_ERROR),
        ([b": ping\n\n", b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'], Failure.NONE),
        ([b"data: [DONE]\n\n"], Failure.NONE),
    ],
    ids=["early end", "no JSON", "error event", "no DONE", "no reason"],
)
def test_an_answer_is_whole_only_if_it_says_so(units: list[bytes], failure: Failure) -> None:
    answer = _Answer(request_of("openai_chat", streamed=True))
    for unit in units:
        answer.feed(unit, 1.0)
    assert answer.end() is failure


# --- against the mock ---------------------------------------------------------------------------------


def run_of(url: str, name: str, *, streamed: bool, requests: int = 3, timeout_s: float = 20.0) -> LlmSummary:
    path, body = call_of(name, streamed=streamed)
    headers = (("content-type", "application/json"),)
    target = Target("POST", url + path, headers, body, timeout_s, llm=True)
    run = Run(target, Load(requests / 50, 50.0))
    tally = Tally()
    tally.add(run.samples)
    summary = tally.summary(None, total_s=run.end.total_s)
    assert summary.requests == requests
    assert summary.llm is not None
    return summary.llm


ANSWERS = MockAnswers("script", (ScriptedTurn(TEXT),))


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
def test_every_dialect_of_the_mock_is_counted_to_the_token(streamed: bool) -> None:
    with mock(ANSWERS, tokens_per_s=500.0) as url:
        for name in CALLS:
            found = run_of(url, name, streamed=streamed, requests=2)
            assert (found.answers, found.tokens, found.early_ends, found.refusals) == (2, 12, 0, 0), name
            assert found.first_token.count == 2
            assert found.gaps.count == (10 if streamed else 0)
            # A token is never early: six take 12 ms, of which an answer that comes whole shows the sum.
            assert found.first_token.min_ms >= (2.0 if streamed else 12.0)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"fault": "clean_end", "trigger": {"first": 1}}, (3, 1, 0)),
        ({"fault": "answer_cut", "trigger": {"first": 1}}, (3, 1, 0)),
        ({"fault": "error_event", "trigger": {"first": 2}}, (3, 2, 0)),
        ({"fault": "llm_rate_limit", "trigger": {"first": 2}}, (1, 0, 2)),
        ({"fault": "done_without_end", "trigger": {"first": 1}}, (3, 0, 0)),
    ],
    ids=lambda value: value.get("fault") if isinstance(value, dict) else "",
)
def test_early_ends_and_refusals_are_counted(rule: dict[str, Any], expected: tuple[int, int, int]) -> None:
    with mock(ANSWERS, rule) as url:
        found = run_of(url, "openai_chat", streamed=True)
    assert (found.answers, found.early_ends, found.refusals) == expected
