"""The outcome of a call as its caller observes it, from a fault's verdict and the caller's patience. Pure.

The frames of a verdict are read as a client reads them: a frame that is no reply to this call is ignored, and
the caller gives up once its patience is used up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from faultkit.agents.suite.agent_interface import ToolOutcome
from faultkit.faults.call_fault import (
    Call,
    Cut,
    Disconnect,
    Drip,
    EndStream,
    Frame,
    KeepAlive,
    Message,
    Send,
    Status,
    Verdict,
)
from faultkit.mcp.interpreter import MOST_OVERTAKEN_S

LOST_IN_MIDDLE = ToolOutcome("lost", "the answer ended in its middle")
_NO_REPLY = ToolOutcome("protocol_error", "the answer has no reply to this call")
_RESULT_TYPES = ("complete", "input_required", None)


@dataclass(frozen=True, slots=True)
class ObservedOutcome:
    """An outcome, and when the caller knew it."""

    outcome: ToolOutcome
    took_ms: float
    """From the start of the call until the caller knew the outcome."""
    is_unchanged: bool = False
    """The fault let the reply through as it came: it had nothing to change."""


def observe(call: Call, verdict: Verdict, reply: Message | None, patience_ms: float) -> ObservedOutcome:
    """Return what the caller observes.

    `reply` is the server's reply, which takes no time; None if the server was not called.
    """
    at_ms = verdict.delay_s * 1000
    if verdict.overtaken_by:
        # The calls of a toolbox follow one another, so there is no later reply that could overtake this one.
        longest_s = verdict.overtaken_for_s
        at_ms += (MOST_OVERTAKEN_S if longest_s is None else longest_s) * 1000
    if verdict.freezes_session:
        frames: Sequence[Frame] = ()
    elif verdict.frames is not None:
        frames = verdict.frames(reply)
    else:
        frames = () if reply is None else (Send(reply),)
    is_unchanged = changes_nothing(verdict, reply, frames)
    for frame in frames:
        at_ms += frame.after_s * 1000 + duration_ms(frame)
        if at_ms >= patience_ms:
            break
        outcome = outcome_of_frame(call, frame)
        if outcome is not None:
            return ObservedOutcome(outcome, at_ms, is_unchanged)
    if call.transport == "http" and frames and at_ms < patience_ms:
        # The response ends with its last frame, so the caller need not wait for its patience to end.
        return ObservedOutcome(LOST_IN_MIDDLE if isinstance(frames[-1], Cut) else _NO_REPLY, at_ms)
    return ObservedOutcome(timeout_outcome(call.name, patience_ms), patience_ms)


def changes_nothing(verdict: Verdict, reply: Message | None, frames: Sequence[Frame]) -> bool:
    """Return whether these frames of a verdict are the server's reply as it came, and come at once.

    So it is with a fault that found nothing to change: no earlier answer, no text in the result.
    """
    has_waited = verdict.delay_s > 0 or verdict.overtaken_by > 0
    return reply is not None and not has_waited and list(map(_at_once, frames)) == [Send(reply)]


def _at_once(frame: Frame) -> Frame:
    """Return the frame; as one piece, if it drips in one piece."""
    return Send(frame.message) if isinstance(frame, Drip) and not duration_ms(frame) else frame


def timeout_outcome(tool: str, patience_ms: float) -> ToolOutcome:
    """Return the outcome of a call that was given up, in the wording of mcptest."""
    return ToolOutcome(
        "timeout", f"injected fault: tool `{tool}` did not respond within {patience_ms:.0f} ms"
    )


def outcome_of_reply(reply: Message) -> ToolOutcome:
    """Return the outcome that a reply stands for."""
    return replace(_read_reply(reply), reply=reply)


def _read_reply(reply: Message) -> ToolOutcome:
    error, result = reply.get("error"), reply.get("result")
    if isinstance(error, Mapping):
        data = error.get("data")
        return ToolOutcome(
            "protocol_error",
            str(error.get("message", "")),
            error_code=error.get("code") if isinstance(error.get("code"), int) else None,
            retry_after_ms=_retry_after_ms(data.get("retryAfter") if isinstance(data, Mapping) else None),
        )
    if not isinstance(result, Mapping):
        return ToolOutcome("protocol_error", f"expected a result, got {json.dumps(result)[:80]}")
    if result.get("resultType") not in _RESULT_TYPES:
        return ToolOutcome("protocol_error", f"unknown resultType {json.dumps(result['resultType'])[:80]}")
    return ToolOutcome(
        "tool_error" if result.get("isError") is True else "ok",
        "\n".join(text_blocks(result)),
        structured=result.get("structuredContent"),
    )


def text_blocks(result: Mapping[str, Any]) -> list[str]:
    """Return the texts of a result's content blocks."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    return [str(block.get("text", "")) for block in blocks if isinstance(block, Mapping) and "text" in block]


def duration_ms(frame: Frame) -> float:
    """Return the milliseconds between the first byte of a frame and its last."""
    if isinstance(frame, KeepAlive):
        return frame.for_s * 1000
    if isinstance(frame, Drip):
        message = frame.message
        raw = message if isinstance(message, bytes) else json.dumps(message, separators=(",", ":")).encode()
        pieces = -(-len(raw) // frame.chunk_bytes)
        return max(0, pieces - 1) * frame.every_s * 1000
    return 0.0


def outcome_of_frame(call: Call, frame: Frame) -> ToolOutcome | None:
    """Return the outcome that a frame means for the caller; None if the caller ignores it."""
    if isinstance(frame, Send | Drip):
        message = _parsed(frame.message)
        # In JSON, the ids 1, "1" and true differ; in Python, 1 == True.
        is_reply = (
            message is not None and message.get("id") == call.id and type(message["id"]) is type(call.id)
        )
        return outcome_of_reply(message) if is_reply and message is not None else None
    if isinstance(frame, Disconnect):
        return ToolOutcome("lost", "the connection was closed before the answer")
    if isinstance(frame, EndStream):
        return ToolOutcome("lost", "the answer ended before the reply")
    if isinstance(frame, Status):
        headers = {name.lower(): value for name, value in frame.headers}
        return ToolOutcome(
            "protocol_error",
            f"HTTP {frame.status}",
            error_code=frame.status,
            retry_after_ms=_retry_after_ms(headers.get("retry-after")),
        )
    return None


def _parsed(message: Message | bytes) -> Message | None:
    if not isinstance(message, bytes):
        return message
    try:
        parsed = json.loads(message)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _retry_after_ms(value: object) -> float | None:
    """Return the milliseconds of seconds, given as a finite number or as digits; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        wait_ms = max(0.0, float(value)) * 1000
    except (ValueError, OverflowError):
        return None
    return wait_ms if isfinite(wait_ms) else None
