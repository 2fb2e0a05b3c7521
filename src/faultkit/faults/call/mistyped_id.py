"""Mistyped id: the right id in another JSON type, as from a server that keeps ids as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call_replies import changed

_LONGEST_NUMBER = 15


def mistyped(id: str | int) -> object:
    """Return an id in another type: a number as text, digits as a number, any other text within a list."""
    if isinstance(id, int):
        return str(id)
    if id.isascii() and id.isdecimal() and len(id) <= _LONGEST_NUMBER:
        return int(id)
    return [id]


@dataclass(frozen=True)
class MistypedId(CallFault):
    kind: ClassVar[str] = "mistyped_id"
    summary: ClassVar[str] = "The reply has the right id in another JSON type."

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        return Verdict(frames=changed(lambda reply: {**reply, "id": mistyped(call.id)}), effect=self.kind)
