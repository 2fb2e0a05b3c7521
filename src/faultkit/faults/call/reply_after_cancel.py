"""Reply after cancel: the server ignores that the call was cancelled, and answers late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import (
    Call,
    CallFault,
    Circumstances,
    Era,
    Frame,
    Message,
    Send,
    Transport,
    Verdict,
)
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class ReplyAfterCancel(CallFault):
    kind: ClassVar[str] = "reply_after_cancel"
    summary: ClassVar[str] = "The reply comes late, even if the client has cancelled the call by then."
    main: ClassVar[str] = "delay_ms"
    instead: ClassVar[str] = "use slow: over HTTP in the modern era, a client cancels by closing the stream"

    delay_ms: float = setting(
        1000.0, "How late, after the server's own reply.", unit="ms", minimum=0, maximum=86_400_000
    )

    def fits(self, transport: Transport, era: Era) -> bool:
        return (transport, era) != ("http", "modern")

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        def late(reply: Message | None) -> tuple[Frame, ...]:
            return () if reply is None else (Send(reply, after_s=self.delay_ms / 1000),)

        return Verdict(frames=late, ignores_cancel=True, effect=self.kind, amount=self.delay_ms)
