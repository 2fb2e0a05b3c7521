"""Duplicate reply: the same reply more than once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Frame, Message, Send, Verdict
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class DuplicateReply(CallFault):
    kind: ClassVar[str] = "duplicate_reply"
    summary: ClassVar[str] = "The reply is sent more than once."
    main: ClassVar[str] = "copies"

    copies: int = setting(2, "Number of replies in total.", minimum=2, maximum=1000)
    every_ms: float = setting(0.0, "Time between the copies.", unit="ms", minimum=0, maximum=86_400_000)

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        def repeat(reply: Message | None) -> tuple[Frame, ...]:
            if reply is None:
                return ()
            again = Send(reply, after_s=self.every_ms / 1000)
            return (Send(reply), *(again for _ in range(self.copies - 1)))

        return Verdict(frames=repeat, effect=self.kind, amount=float(self.copies))
