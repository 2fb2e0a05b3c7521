"""Truncated reply: the line, the event or the body ends in its middle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Cut, Frame, Message, Verdict
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class TruncatedReply(CallFault):
    kind: ClassVar[str] = "truncated_reply"
    summary: ClassVar[str] = "The reply is cut off in the middle."
    main: ClassVar[str] = "share"

    share: float = setting(0.5, "How much of it arrives.", minimum=0, maximum=1)

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        if self.share == 1:
            return Verdict()  # A whole reply is no fault, and must not count as an injection.

        def cut(reply: Message | None) -> tuple[Frame, ...]:
            return () if reply is None else (Cut(reply, self.share),)

        return Verdict(frames=cut, effect=self.kind, amount=self.share)
