"""Answers that dialects write are those that they read; requests are told apart by path and shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultkit.faults.dialects.dialect import AnswerReader, LlmRequest, framing_of
from faultkit.faults.dialects.dialect_table import DIALECTS, read_request
from faultkit.faults.dialects.frames import ArrayJoiner
from faultkit.faults.dialects.json_members import REMOVED, with_members
from faultkit.faults.dialects.llm_events import Chunk
from faultkit.faults.dialects.turn import ToolCall, Turn, count_tokens, first_tokens, token_pieces
from tests.faults.dialects.recorded import STREAMS

ASKED = [{"role": "user", "content": "Hi"}]
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "openai_chat": ("/v1/chat/completions", {"model": "m", "messages": ASKED}),
    "openai_responses": ("/v1/responses", {"model": "m", "input": "Hi"}),
    "anthropic_messages": ("/v1/messages", {"model": "m", "messages": ASKED}),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    ),
    "ollama": ("/api/chat", {"model": "m", "messages": ASKED, "stream": False}),
}
CALLS = (ToolCall("search", {"city": "Łódź", "days": 2}, "call_1"), ToolCall("book", {}, "call_2"))


def request(name: str, *, streamed: bool = False, **more: Any) -> LlmRequest:
    target, body = REQUESTS[name]
    if streamed:
        target = target.replace(":generate", ":streamGenerate")
        body = {**body, "stream": True}
    found = read_request(target, json.dumps({**body, **more}).encode())
    assert found is not None
    return found


def said(chunks: list[Chunk]) -> tuple[str, list[str], str]:
    parts = [part for chunk in chunks for part in chunk.parts]
    text = "".join(part.value for part in parts if part.kind == "text")
    names = [part.value for part in parts if part.kind == "call_name"]
    return text, list(dict.fromkeys(names)), "".join(part.value for part in parts if part.kind == "finish")


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("calls", [(), CALLS], ids=["text", "calls"])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_an_answer_is_read_as_it_was_written(name: str, calls: tuple[ToolCall, ...], streamed: bool) -> None:
    asked = request(name, streamed=streamed)
    turn = Turn("m", "1", ("Hel", "lo ", "🌍"), calls, "tool_calls" if calls else "stop", 3)
    dialect = asked.dialect
    if streamed:
        units = dialect.stream_of(turn, asked)
    else:
        units = [json.dumps(dialect.whole_of(turn, asked)).encode()]
    reader = AnswerReader(asked, 200, "text/event-stream" if asked.framing == "sse" else "application/json")
    chunks = [chunk for unit in units for chunk in reader.feed(unit, 0.0)] + reader.end(0.0)
    text, names, finish = said(chunks)
    assert (text, names) == ("Hello 🌍", [call.name for call in calls])
    assert finish == dialect.finishes[turn.finish]
    assert (len(chunks) == 1) is not streamed
    assert any(chunk.has("usage") for chunk in chunks) or name == "openai_chat"


@pytest.mark.parametrize("name", DIALECTS)
def test_the_user_and_the_model_are_known(name: str) -> None:
    asked = request(name)
    assert (asked.dialect.name, asked.model, asked.is_streamed, asked.uses_tools) == (name, "m", False, False)
    assert asked.dialect.user_text(asked.body) == "Hi"
    changed = asked.dialect.with_instruction(asked.body, "Be brief.")
    assert sorted(asked.dialect.prompts(changed).values()) == ["Be brief.", "Hi"]


@pytest.mark.parametrize(
    ("target", "body", "model", "streamed", "tools"),
    [
        ("/openai/deployments/d/chat/completions?api-version=1", {"messages": []}, "d", False, ()),
        ("/v1beta/openai/chat/completions", {"model": "g", "messages": [], "stream": True}, "g", True, ()),
        ("/v1/chat/completions", {"messages": [], "functions": [{"name": "f"}]}, "", False, ("f",)),
        ("/v1/messages", {"model": "c", "messages": [], "tools": [{"name": "f"}]}, "c", False, ("f",)),
        ("/api/generate", {"model": "o", "prompt": "x"}, "o", True, ()),
        (
            "/v1beta/models/g-2.5:streamGenerateContent",
            {"contents": [], "tools": [{"functionDeclarations": [{"name": "f"}]}]},
            "g-2.5",
            True,
            ("f",),
        ),
    ],
)
def test_a_request_says_what_it_asks_for(
    target: str, body: dict[str, Any], model: str, streamed: bool, tools: tuple[str, ...]
) -> None:
    found = read_request(target, json.dumps(body).encode())
    assert found is not None
    assert (found.model, found.is_streamed, found.tools) == (model, streamed, tools)
    assert found.uses_tools is bool(tools)


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/v1/chat/completions", b"not JSON"),
        ("/v1/chat/completions", b"[]"),
        ("/v1/chat/completions", b'{"messages": "x"}'),
        ("/v1/threads/t/messages", b'{"role": "user", "content": "x"}'),
        ("/v1/embeddings", b'{"model": "m", "input": "x"}'),
        ("/v1beta/models/m:embedContent", b'{"contents": []}'),
        ("/api/tags", b"{}"),
        ("/v1/chat/completions", b"\xff\xfe\x00"),
    ],
)
def test_other_requests_are_none_to_a_model(target: str, body: bytes) -> None:
    assert read_request(target, body) is None


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("openai_chat", {"messages": [{"role": "tool", "content": "1", "tool_call_id": "x"}]}),
        ("openai_responses", {"input": [{"type": "function_call_output", "call_id": "x", "output": "1"}]}),
        ("anthropic_messages", {"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}),
        ("gemini", {"contents": [{"parts": [{"functionResponse": {"name": "f"}}]}]}),
        ("ollama", {"messages": [{"role": "tool", "content": "1"}]}),
    ],
)
def test_results_of_tools_count_as_tool_use(name: str, body: dict[str, Any]) -> None:
    assert request(name, **body).uses_tools


def test_the_answer_says_how_it_is_split() -> None:
    lines, sse = STREAMS["ollama-chat"].request, STREAMS["chat"].request
    assert framing_of(lines, 200, "application/x-ndjson") == "lines"
    assert framing_of(lines, 200, "") == "lines"
    assert framing_of(lines, 404, "application/json") == "whole"
    assert framing_of(sse, 200, "Text/Event-Stream; charset=utf-8") == "sse"
    assert framing_of(sse, 200, "application/json") == "whole"


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("Hello, world!", ["Hello", ",", " world", "!"]),
        ("a  b \n", ["a", "  b \n"]),
        ("  ", ["  "]),
    ],
)
def test_a_token_is_a_word_or_a_mark(text: str, pieces: list[str]) -> None:
    assert token_pieces(text) == pieces
    assert "".join(token_pieces(text)) == text
    assert count_tokens(text) == len([piece for piece in pieces if piece.strip()])


def test_the_first_tokens_of_a_text() -> None:
    assert first_tokens("one two, three", 3) == "one two,"


def test_members_are_set_and_removed_without_a_change_of_the_document() -> None:
    document = {"a": [{"b": 1}, {"b": 2}, {"b": 3}], "c": None}
    changes: dict[tuple[str | int, ...], Any] = {
        ("a", 0): REMOVED,
        ("a", 2, "b"): 4,
        ("c",): REMOVED,
        ("d",): 5,
    }
    assert with_members(document, changes) == {"a": [{"b": 2}, {"b": 4}], "d": 5}
    assert document["c"] is None


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ((0, 1, 2, 3), b'[{"a":1}\r\n,\r\n{"a":2}\r\n,{"a":3}\n]'),
        ((1, 3), b'[\r\n\r\n{"a":2}\n]'),
        ((0, 0, 3), b'[{"a":1},{"a":1}\n]'),
        ((2, 0, 3), b'[\r\n{"a":3},{"a":1}\n]'),
        ((3,), b"[\n]"),
    ],
)
def test_an_array_stays_one_if_objects_are_dropped_added_or_moved(
    kept: tuple[int, ...], expected: bytes
) -> None:
    reader = AnswerReader(STREAMS["gemini-array"].request, 200, "application/json")
    body = b'[{"a":1}\r\n,\r\n{"a":2}\r\n,{"a":3}\n]'
    chunks = reader.feed(body, 0.0) + reader.end(0.0)
    joiner = ArrayJoiner()
    raw = b"".join(
        joiner.join(chunks[index].raw, chunks[index].start, is_object=bool(chunks[index].payload))
        for index in kept
    )
    assert raw == expected
    json.loads(raw)
