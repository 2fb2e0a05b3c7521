"""Helpers for tests of call faults: sample calls and replies, and what a fault makes of them."""

from __future__ import annotations

from typing import Any

from faultkit.base.rng import Rng
from faultkit.faults.call_fault import Call, CallFault, Circumstances, Frame, Message, Verdict

CALL = Call("tools/call", "search", {"name": "search", "arguments": {"q": "x"}}, 7)
MODERN = Call("tools/call", "search", {"name": "search"}, "a", era="modern", transport="http")
REPLY: Message = {"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "two words"}]}}
REFUSED: Message = {"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "no"}}


def given(seed: object = 1, memory: dict[str, Any] | None = None, schema: Any = None) -> Circumstances:
    return Circumstances(Rng.keyed("test", seed), {} if memory is None else memory, schema)


def judged(fault: CallFault, call: Call = CALL, seed: object = 1) -> Verdict:
    return fault.judge(call, given(seed))


def frames(fault: CallFault, reply: Message | None = REPLY, call: Call = CALL) -> tuple[Frame, ...]:
    verdict = judged(fault, call)
    assert verdict.frames is not None
    return verdict.frames(reply if verdict.ask else None)


def result(value: Any, id: str | int = 7) -> Message:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def error(code: int, message: str, id: str | int = 7, **more: Any) -> Message:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **more}}
