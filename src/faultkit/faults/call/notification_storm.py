"""Notification storm: very many log messages precede the reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Frame, Message, Send, Verdict
from faultkit.faults.call_replies import spaced
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class NotificationStorm(CallFault):
    kind: ClassVar[str] = "notification_storm"
    summary: ClassVar[str] = "Very many notifications are sent before the reply."
    main: ClassVar[str] = "count"

    count: int = setting(1000, "How many.", minimum=1, maximum=100_000)
    every_ms: float = setting(0.0, "Time between them.", unit="ms", minimum=0, maximum=86_400_000)

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        def storm(reply: Message | None) -> tuple[Frame, ...]:
            notices = (self._notice(number) for number in range(1, self.count + 1))
            frames = spaced(notices, self.every_ms / 1000)
            return frames if reply is None else (*frames, Send(reply))

        return Verdict(frames=storm, effect=self.kind, amount=float(self.count))

    def _notice(self, number: int) -> Message:
        params = {"level": "info", "logger": "faultkit", "data": f"storm {number} of {self.count}"}
        return {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
