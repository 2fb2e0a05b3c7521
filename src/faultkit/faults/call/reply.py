"""Replies as faults make them and change them: pure, and what is given is never altered.

What a JSON-RPC reply of MCP looks like in both eras is known here, so that each fault says only what is wrong
with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from faultkit.base.rng import Rng
from faultkit.faults.call.call import Call, Frame, Message, Rewrite, Send

LIMIT_S = 600.0
"""Ten minutes: far beyond any timeout of a client, and still an end."""
UNRESPONSIVE = -31001
"""The code of our own errors, outside the range that JSON-RPC keeps for itself."""
INTERNAL_ERROR = -32603
_FRAME_OF_RESULTS = ("_meta", "resultType", "ttlMs", "cacheScope", "nextCursor")


def text_of(message: object) -> str:
    """JSON in ASCII, so that it is bytes of any encoding, and on one line."""
    return json.dumps(message, separators=(",", ":"))


def result_of(call: Call, result: dict[str, Any]) -> Message:
    """A reply with this result; the modern era wants its type said."""
    if call.era == "modern":
        result = {"resultType": "complete", **result}
    return {"jsonrpc": "2.0", "id": call.id, "result": result}


def error_of(call: Call, code: int, message: str, data: object = None) -> Message:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": call.id, "error": error}


def tool_error_of(call: Call, text: str) -> Message:
    """What a tool answers that has failed: a result, which a model gets to see."""
    return result_of(call, {"content": [{"type": "text", "text": text}], "isError": True})


def failure_of(call: Call, text: str) -> Message:
    """The plainest failure that the method knows."""
    return tool_error_of(call, text) if call.method == "tools/call" else error_of(call, INTERNAL_ERROR, text)


def subject_of(call: Call) -> str:
    """What a message may call it."""
    return f"call to `{call.name or call.method}`"


def unresponsive(call: Call, limit_s: float) -> Send:
    """The end of a call that got no reply: so late that to any client it is none."""
    text = f"server unresponsive (fault injected): {subject_of(call)} got no reply for {limit_s:g} s"
    return Send(error_of(call, UNRESPONSIVE, text), after_s=limit_s)


def always(*frames: Frame) -> Rewrite:
    """These frames, whatever the reply."""
    return lambda _reply: frames


def changed(change: Callable[[Message], Message]) -> Rewrite:
    """The reply after a change."""

    def rewrite(reply: Message | None) -> tuple[Frame, ...]:
        return () if reply is None else (Send(change(reply)),)

    return rewrite


def changed_result(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Rewrite:
    """The reply with another result; an error of the server stays as it is."""

    def change_reply(reply: Message) -> Message:
        result = reply.get("result")
        return {**reply, "result": change(result)} if isinstance(result, dict) else reply

    return changed(change_reply)


def frame_of_result(result: dict[str, Any]) -> dict[str, Any]:
    """What a result has besides what was asked for."""
    return {key: result[key] for key in _FRAME_OF_RESULTS if key in result}


def with_text(call: Call, result: dict[str, Any], text: str, *, first: bool = False) -> dict[str, Any]:
    """The result with one more piece of text, where results of this method have texts."""
    block: dict[str, Any] = {"type": "text", "text": text}
    key, piece = {
        "tools/call": ("content", block),
        "prompts/get": ("messages", {"role": "user", "content": block}),
        "resources/read": ("contents", {"uri": call.name, "mimeType": "text/plain", "text": text}),
    }[call.method]
    before = items(result, key)
    return {**result, key: [piece, *before] if first else [*before, piece]}


WITH_TEXT = ("tools/call", "prompts/get", "resources/read")
"""The methods whose results `with_text` knows."""


def items(result: dict[str, Any], key: str) -> list[Any]:
    """A list of a result, or none if there is no list."""
    found = result.get(key)
    return found if isinstance(found, list) else []


def marker_from(rng: Rng) -> str:
    """A text that no other call of any seed has."""
    return f"canary-{rng.uint64() >> 16:012x}"


def spaced(messages: Iterable[Message], every_s: float) -> tuple[Send, ...]:
    """One frame a message, at this distance."""
    return tuple(Send(message, after_s=every_s) for message in messages)
