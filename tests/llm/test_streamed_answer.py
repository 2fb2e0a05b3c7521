"""Answers of models as a careful client reads them: whole in every dialect, and cut at any byte."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultkit.faults.dialects.dialect import LlmRequest, headers_for
from faultkit.faults.dialects.dialect_table import read_request
from faultkit.faults.dialects.json_members import write_json
from faultkit.faults.dialects.turn import ToolCall, Turn
from faultkit.llm.conversation import Completion, Conversation, OfferedTool
from faultkit.llm.failure import FailureKind, ProviderFailure
from faultkit.llm.request_bodies import streamed_request
from faultkit.llm.streamed_answer import StreamedAnswer

ASKED = [{"role": "user", "content": "Hello"}]
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "openai_chat": ("/v1/chat/completions", {"model": "m", "messages": ASKED}),
    "openai_responses": ("/v1/responses", {"model": "m", "input": "Hello"}),
    "anthropic_messages": ("/v1/messages", {"model": "m", "messages": ASKED}),
    "ollama": ("/api/chat", {"model": "m", "messages": ASKED}),
    "gemini": ("/v1beta/models/m:streamGenerateContent?alt=sse", {"contents": [{"parts": [{"text": "x"}]}]}),
}
TURN = Turn("m", "1", ("Let me", " see."), (ToolCall("search", {"q": "tea"}, "call_1"),), "tool_calls")


def request_of(name: str, *, streamed: bool = True) -> LlmRequest:
    path, body = REQUESTS[name]
    request = read_request(path, json.dumps({**body, "stream": streamed}).encode())
    assert request is not None
    return request


def read(request: LlmRequest, data: bytes, how: str = "end", size: int = 7) -> Completion:
    answer = StreamedAnswer(request)
    answer.begin(200, headers_for(request.framing))
    for start in range(0, len(data), size):
        answer.feed(data[start : start + size])
    return answer.completion(how)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_streamed_answer_is_its_turn_again(name: str) -> None:
    request = request_of(name)
    found = read(request, b"".join(request.dialect.stream_of(TURN, request)))
    assert found.text == "Let me see."
    assert [(call.name, call.arguments, call.problem) for call in found.calls] == [
        ("search", {"q": "tea"}, "")
    ]
    assert (found.end, found.model) == ("done", "m")


@pytest.mark.parametrize("name", ["openai_chat", "anthropic_messages"])
def test_an_answer_that_ends_before_its_reason_is_never_whole(name: str) -> None:
    request = request_of(name)
    units = request.dialect.stream_of(TURN, request)
    # Only the last word may be missing: [DONE], or message_stop.
    for count in range(len(units) - 1):
        with pytest.raises(ProviderFailure, match="connection"):
            read(request, b"".join(units[:count]))
    read(request, b"".join(units[:-1]))


@pytest.mark.parametrize(
    ("data", "how", "kind", "detail"),
    [
        (b'data: {"choices":[{"delta":{"con\n\n', "end", "garbage", "an event of the answer is no JSON"),
        (b'data: {"error":{"message":"busy"}}\n\n', "end", "server", "busy"),
        (b"", "cut", "connection", "the connection was closed in the middle of the answer"),
    ],
)
def test_a_broken_answer_is_a_failure_of_its_kind(
    data: bytes, how: str, kind: FailureKind, detail: str
) -> None:
    with pytest.raises(ProviderFailure) as raised:
        read(request_of("openai_chat"), data, how)
    assert (raised.value.kind, raised.value.detail) == (kind, detail)


@pytest.mark.parametrize("name", ["openai_chat", "anthropic_messages"])
def test_a_refusal_has_its_reason_and_its_wait(name: str) -> None:
    request = request_of(name)
    refusal = request.dialect.refusal("rate_limit", "too many", "m", 2.0)
    answer = StreamedAnswer(request)
    answer.begin(refusal.status, refusal.headers)
    answer.feed(write_json(refusal.document))
    with pytest.raises(ProviderFailure) as raised:
        answer.completion()
    assert (raised.value.kind, raised.value.status, raised.value.after_s) == ("rate", 429, 2.0)
    assert "too many" in raised.value.detail


@pytest.mark.parametrize("client", ["openai", "anthropic"])
def test_what_the_model_said_goes_back_to_it_in_the_next_request(client: Any) -> None:
    conversation = Conversation("m", "Hello", "Be kind.", (OfferedTool("search", "search"),))
    request = streamed_request(conversation, client)
    assert (request.model, request.tools, request.is_streamed) == ("m", ("search",), True)
    said = read(request, b"".join(request.dialect.stream_of(TURN, request)))
    later = streamed_request(conversation.after(said, ()), client)
    before = {"openai": 2, "anthropic": 1}[client]
    assert len(later.body["messages"]) == before + 1
    assert "search" in json.dumps(later.body["messages"][-1])
