"""Replies that faults create and change. Pure; arguments are never altered.

It owns the form of a JSON-RPC reply of MCP in both eras, so that a fault holds only its deviation from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from faultkit.base.rng import Rng
from faultkit.faults.call_fault import Call, Frame, Message, Rewrite, Send, Status, Verdict

LIMIT_S = 600.0
"""Ten minutes: longer than the timeout of any client, but finite."""
LIMIT_HELP = "After this time the call ends with an error, so that nothing waits for ever."
"""Help of the setting that limits a hang."""
UNRESPONSIVE = -31001
"""The code of our own errors, outside the range that JSON-RPC keeps for itself."""
INTERNAL_ERROR = -32603
_FRAME_OF_RESULTS = ("_meta", "resultType", "ttlMs", "cacheScope", "nextCursor")


def text_of(message: object) -> str:
    """Return JSON on one line in ASCII, which has the same bytes in any usual encoding."""
    return json.dumps(message, separators=(",", ":"))


def result_of(call: Call, result: dict[str, Any]) -> Message:
    """Return a reply with this result; in the modern era with its result type."""
    if call.era == "modern":
        result = {"resultType": "complete", **result}
    return {"jsonrpc": "2.0", "id": call.id, "result": result}


def error_of(call: Call, code: int, message: str, data: object = None) -> Message:
    """Return the JSON-RPC error response to a call."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": call.id, "error": error}


def tool_error_of(call: Call, text: str) -> Message:
    """Return the reply of a failed tool: a result, which the model sees, instead of a protocol error."""
    return result_of(call, {"content": [{"type": "text", "text": text}], "isError": True})


def failure_of(call: Call, text: str) -> Message:
    """Return the simplest failure of the method: a tool error or a protocol error."""
    return tool_error_of(call, text) if call.method == "tools/call" else error_of(call, INTERNAL_ERROR, text)


def subject_of(call: Call) -> str:
    """Return the subject of a call for messages."""
    return f"call to `{call.name or call.method}`"


def unresponsive(call: Call, limit_s: float) -> Send:
    """Return the end of a call without a reply, which comes after any timeout of a client."""
    text = f"server unresponsive (fault injected): {subject_of(call)} got no reply for {limit_s:g} s"
    return Send(error_of(call, UNRESPONSIVE, text), after_s=limit_s)


def hanging(call: Call, effect: str, limit_s: float) -> Verdict:
    """Return the verdict for a call that gets no reply for so long; the server is not asked."""
    return Verdict(ask=False, frames=always(unresponsive(call, limit_s)), effect=effect)


def always(*frames: Frame) -> Rewrite:
    """Return a response of these frames for any reply."""
    return lambda _reply: frames


def changed(change: Callable[[Message], Message]) -> Rewrite:
    """Return the response that is the reply after a change."""

    def rewrite(reply: Message | None) -> tuple[Frame, ...]:
        return () if reply is None else (Send(change(reply)),)

    return rewrite


def changed_result(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Rewrite:
    """Return the response that is the reply with another result; an error of the server stays unchanged."""

    def change_reply(reply: Message) -> Message:
        result = reply.get("result")
        return {**reply, "result": change(result)} if isinstance(result, dict) else reply

    return changed(change_reply)


def frame_of_result(result: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a result that are not its content."""
    return {key: result[key] for key in _FRAME_OF_RESULTS if key in result}


def with_text(call: Call, result: dict[str, Any], text: str, *, first: bool = False) -> dict[str, Any]:
    """Return the result with one more text, if results of this method have texts."""
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
    """Return a list of a result, or an empty one if it has none."""
    found = result.get(key)
    return found if isinstance(found, list) else []


def marker_from(rng: Rng) -> str:
    """Return a text that is unique to this call and seed."""
    return f"canary-{rng.uint64() >> 16:012x}"


def spaced(messages: Iterable[Message], every_s: float) -> tuple[Send, ...]:
    """Return one frame for each message, at this interval."""
    return tuple(Send(message, after_s=every_s) for message in messages)


def refusal(
    status: int, body: Message | bytes, retry_after_s: int | None = None, *, challenge: bool = False
) -> Status:
    """Return an HTTP response without a JSON-RPC reply, with the headers that belong to its status."""
    kind = "text/plain; charset=utf-8" if isinstance(body, bytes) else "application/json"
    headers = [("Content-Type", kind)] if body else []
    if retry_after_s is not None:
        headers.append(("Retry-After", str(retry_after_s)))
    if challenge:
        headers.append(("WWW-Authenticate", 'Bearer error="invalid_token"'))
    return Status(status, tuple(headers), body)
