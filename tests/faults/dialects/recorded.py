"""Answers in the shapes that the providers document, with line ends, comments and members as they send them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.dialect_table import read_request


@dataclass(frozen=True)
class Recorded:
    """One exchange: the request, and the body of the answer."""

    target: str
    body: dict[str, Any]
    answer: bytes
    content_type: str
    kinds: tuple[str, ...]
    """The kinds of the parts of each chunk, joined by blanks."""
    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    """Name and arguments of each call."""
    finish: str = "stop"
    model: str = ""

    @property
    def request(self) -> LlmRequest:
        found = read_request(self.target, json.dumps(self.body).encode())
        assert found is not None
        return found


def sse(*events: str, end: str = "\n") -> bytes:
    """Return events of one or more lines each, separated by blank lines."""
    return "".join(event.replace("\n", end) + end + end for event in events).encode()


ASKED = [{"role": "user", "content": "What is the weather in Kraków?"}]

CHAT = Recorded(
    "/v1/chat/completions",
    {"model": "gpt-5-mini", "messages": ASKED, "stream": True, "stream_options": {"include_usage": True}},
    sse(
        'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini-2025",'
        '"service_tier":"default","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},'
        '"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x1"}',
        'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini-2025",'
        '"choices":[{"index":0,"delta":{"content":"Krak\\u00f3w"},"finish_reason":null}],"usage":null}',
        'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini-2025",'
        '"choices":[{"index":0,"delta":{"content":": 7 °C 🌧"},"finish_reason":null}],"usage":null}',
        'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini-2025",'
        '"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}',
        'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini-2025",'
        '"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":6,"total_tokens":15}}',
        "data: [DONE]",
    ),
    "text/event-stream; charset=utf-8",
    ("start model text", "model text", "model text", "model finish", "model usage", "end"),
    text="Kraków: 7 °C 🌧",
    model="gpt-5-mini-2025",
)

OPEN_ROUTER = Recorded(
    "/api/v1/chat/completions",
    {"model": "google/gemma-3-27b-it", "messages": ASKED, "stream": True},
    sse(
        ": OPENROUTER PROCESSING",
        ": OPENROUTER PROCESSING",
        'data: {"id":"gen-1","provider":"X","model":"google/gemma-3-27b-it","object":"chat.completion.chunk",'
        '"created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null,'
        '"native_finish_reason":null}]}',
        'data: {"error":{"code":502,"message":"Upstream failed","metadata":{}}}',
    )
    + b'data: {"half',
    "text/event-stream",
    ("keep_alive", "keep_alive", "start model text", "error", ""),
    text="Hi",
    finish="",
    model="google/gemma-3-27b-it",
)

CHAT_TOOLS = Recorded(
    "/openai/deployments/mini/chat/completions?api-version=2024-10-21",
    {"messages": ASKED, "stream": True, "tools": [{"type": "function", "function": {"name": "get_weather"}}]},
    b"\xef\xbb\xbf"
    + sse(
        'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,'
        '"id":"call_a","type":"function","function":{"name":"get_weather","arguments":""}}]}}],"model":"m"}',
        'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\\"city\\":"}}]}'
        "}]}",
        'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\\"Oslo\\"}"}}]}'
        "}]}",
        'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}',
        "data: [DONE]",
        end="\r",
    ),
    "text/event-stream",
    ("start model call_id call_name arguments", "arguments", "arguments", "finish", "end"),
    calls=(("get_weather", '{"city":"Oslo"}'),),
    finish="tool_calls",
    model="m",
)

RESPONSES = Recorded(
    "/v1/responses",
    {"model": "gpt-5", "input": "Hi", "stream": True},
    sse(
        'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1",'
        '"object":"response","status":"in_progress","model":"gpt-5-2025","output":[],"usage":null}}',
        'event: response.output_item.added\ndata: {"type":"response.output_item.added","sequence_number":1,'
        '"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[]}}',
        'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":2,'
        '"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hel","logprobs":[]}',
        'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":3,'
        '"item_id":"msg_1","output_index":0,"content_index":0,"delta":"lo","logprobs":[]}',
        'event: response.output_text.done\ndata: {"type":"response.output_text.done","sequence_number":4,'
        '"item_id":"msg_1","output_index":0,"content_index":0,"text":"Hello"}',
        'event: response.output_item.added\ndata: {"type":"response.output_item.added","sequence_number":5,'
        '"output_index":1,"item":{"id":"fc_1","type":"function_call","arguments":"","call_id":"call_a",'
        '"name":"f"}}',
        'event: response.function_call_arguments.delta\ndata: {"type":"response.function_call_arguments.delta",'
        '"sequence_number":6,"item_id":"fc_1","output_index":1,"delta":"{}"}',
        'event: response.completed\ndata: {"type":"response.completed","sequence_number":7,"response":{"id":'
        '"resp_1","status":"completed","model":"gpt-5-2025","output":[{"type":"message","content":[{"type":'
        '"output_text","text":"Hello"}]},{"type":"function_call","call_id":"call_a","name":"f","arguments":"{}"}],'
        '"usage":{"input_tokens":1,"output_tokens":2}}}',
    ),
    "text/event-stream",
    (
        "start model",
        "",
        "text",
        "text",
        "text_copy",
        "call_id call_name",
        "arguments",
        "model text_copy call_id call_name arguments_copy finish usage end",
    ),
    text="Hello",
    calls=(("f", "{}"),),
    finish="completed",
    model="gpt-5-2025",
)

ANTHROPIC = Recorded(
    "/v1/messages",
    {"model": "claude-x", "max_tokens": 9, "messages": ASKED, "stream": True, "tools": [{"name": "f"}]},
    sse(
        'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message",'
        '"role":"assistant","model":"claude-x-1","content":[],"stop_reason":null,"usage":{"input_tokens":5,'
        '"output_tokens":1}}}',
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":'
        '{"type":"text","text":""}}',
        'event: ping\ndata: {"type": "ping"}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta",'
        '"text":"Let me"}}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta",'
        '"text":" see"}}',
        'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}',
        'event: content_block_start\ndata: {"type":"content_block_start","index":1,"content_block":'
        '{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":1,"delta":'
        '{"type":"input_json_delta","partial_json":"{\\"a\\": "}}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":1,"delta":'
        '{"type":"input_json_delta","partial_json":"1}"}}',
        'event: content_block_stop\ndata: {"type":"content_block_stop","index":1}',
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":'
        'null},"usage":{"output_tokens":20}}',
        'event: message_stop\ndata: {"type":"message_stop"}',
    ),
    "text/event-stream; charset=utf-8",
    (
        "start model usage",
        "text",
        "keep_alive",
        "text",
        "text",
        "block_end",
        "call_id call_name",
        "arguments",
        "arguments",
        "block_end",
        "finish usage",
        "end",
    ),
    text="Let me see",
    calls=(("f", '{"a": 1}'),),
    finish="tool_use",
    model="claude-x-1",
)

_GEMINI_ASKED = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
_GEMINI_1 = (
    '{"candidates": [{"content": {"parts": [{"text": "Think","thought": true},{"text": "Hel[l}"}],"role": "model"},'
    '"index": 0}],"usageMetadata": {"promptTokenCount": 4},"modelVersion": "gemini-x","responseId": "r"}'
)
_GEMINI_2 = (
    '{"candidates": [{"content": {"parts": [{"functionCall": {"name": "f","args": {"q": "a\\"]b"}}}],'
    '"role": "model"},"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 4,'
    '"candidatesTokenCount": 3},"modelVersion": "gemini-x","responseId": "r"}'
)
_GEMINI_KINDS = ("start model text usage", "start model call_name arguments finish usage")

GEMINI_SSE = Recorded(
    "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
    _GEMINI_ASKED,
    sse(f"data: {_GEMINI_1}", f"data: {_GEMINI_2}", end="\r\n"),
    "text/event-stream",
    _GEMINI_KINDS,
    text="Hel[l}",
    calls=(("f", '{"q":"a\\"]b"}'),),
    finish="STOP",
    model="gemini-x",
)

GEMINI_ARRAY = Recorded(
    "/v1/projects/p/locations/l/publishers/google/models/gemini-x:streamGenerateContent",
    _GEMINI_ASKED,
    f"[{_GEMINI_1}\r\n,\r\n{_GEMINI_2}\r\n]\r\n".encode(),
    "application/json; charset=UTF-8",
    (*_GEMINI_KINDS, ""),
    text="Hel[l}",
    calls=(("f", '{"q":"a\\"]b"}'),),
    finish="STOP",
    model="gemini-x",
)

OLLAMA_CHAT = Recorded(
    "/api/chat",
    {"model": "gemma3:4b", "messages": ASKED},
    b'{"model":"gemma3:4b","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"The"},'
    b'"done":false}\n'
    b'{"model":"gemma3:4b","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"",'
    b'"tool_calls":[{"function":{"name":"f","arguments":{"n":1}}}]},"done":false}\n'
    b'{"model":"gemma3:4b","created_at":"2026-01-01T00:00:01Z","message":{"role":"assistant","content":" sky"},'
    b'"done_reason":"stop","done":true,"prompt_eval_count":26,"eval_count":2,"eval_duration":9}\n',
    "application/x-ndjson",
    (
        "start model text",
        "start model text call_name arguments",
        "start model text finish usage usage end",
    ),
    text="The sky",
    calls=(("f", '{"n":1}'),),
    model="gemma3:4b",
)

OLLAMA_GENERATE = Recorded(
    "/api/generate",
    {"model": "gemma3:4b", "prompt": "Why?"},
    b'{"model":"gemma3:4b","created_at":"2026-01-01T00:00:00Z","response":"The","done":false}\r\n'
    b"\n"
    b'{"error":"the runner has stopped"}',
    "application/x-ndjson",
    ("start model text", "keep_alive", "error"),
    text="The",
    finish="",
    model="gemma3:4b",
)

STREAMS = {
    "chat": CHAT,
    "open-router": OPEN_ROUTER,
    "chat-tools": CHAT_TOOLS,
    "responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini-sse": GEMINI_SSE,
    "gemini-array": GEMINI_ARRAY,
    "ollama-chat": OLLAMA_CHAT,
    "ollama-generate": OLLAMA_GENERATE,
}
