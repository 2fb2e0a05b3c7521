"""Disconnect: the connection ends in the middle of a call; over stdio, the pipes do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call_fault import Disconnect as DisconnectFrame
from faultkit.faults.call_replies import always
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class Disconnect(CallFault):
    kind: ClassVar[str] = "disconnect"
    summary: ClassVar[str] = "The connection ends while the call is under way; over stdio, the pipes close."
    main: ClassVar[str] = "delay_ms"

    delay_ms: float = setting(
        0.0, "So long after the call, or after the reply if the server is called.", unit="ms", minimum=0
    )
    call_upstream: bool = setting(False, "Let the server do its work first.")

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        end = DisconnectFrame(after_s=self.delay_ms / 1000)
        return Verdict(ask=self.call_upstream, frames=always(end), effect=self.kind)
