"""Progress storm: many progress notifications precede the reply and keep the client waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Frame, Message, Send, Verdict
from faultkit.faults.call_replies import spaced
from faultkit.faults.fault import setting

UNASKED = "faultkit"
"""The token where the client asked for no progress."""


@dataclass(frozen=True)
class ProgressStorm(CallFault):
    kind: ClassVar[str] = "progress_storm"
    summary: ClassVar[str] = "Very many progress notifications are sent before the reply."
    main: ClassVar[str] = "count"

    count: int = setting(1000, "How many.", minimum=1, maximum=100_000)
    every_ms: float = setting(0.0, "Time between them.", unit="ms", minimum=0, maximum=86_400_000)

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        meta = call.params.get("_meta")
        token = meta.get("progressToken", UNASKED) if isinstance(meta, dict) else UNASKED

        def storm(reply: Message | None) -> tuple[Frame, ...]:
            reports = (self._report(token, number) for number in range(1, self.count + 1))
            frames = spaced(reports, self.every_ms / 1000)
            return frames if reply is None else (*frames, Send(reply))

        return Verdict(frames=storm, effect=self.kind, amount=float(self.count))

    def _report(self, token: Any, number: int) -> Message:
        params = {"progressToken": token, "progress": number, "total": self.count}
        return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
