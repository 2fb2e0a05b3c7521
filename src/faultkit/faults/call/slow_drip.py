"""Slow drip: the reply comes a few bytes at a time, so a timeout between two bytes never fires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Drip, Frame, Message, Verdict
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class SlowDrip(CallFault):
    kind: ClassVar[str] = "slow_drip"
    summary: ClassVar[str] = "The reply is sent a few bytes at a time."
    main: ClassVar[str] = "every_ms"

    every_ms: float = setting(100.0, "Time between the pieces.", unit="ms", minimum=0, maximum=86_400_000)
    chunk_bytes: int = setting(16, "Size of a piece.", unit="bytes", minimum=1, maximum=1_000_000)

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        if not self.every_ms:
            return Verdict()  # Pieces without waits are the whole reply, and must not count as an injection.

        def drip(reply: Message | None) -> tuple[Frame, ...]:
            return () if reply is None else (Drip(reply, self.chunk_bytes, self.every_ms / 1000),)

        return Verdict(frames=drip, effect=self.kind)
