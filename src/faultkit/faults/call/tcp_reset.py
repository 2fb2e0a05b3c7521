"""TCP reset: the connection of the call ends by RST, before any byte of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Disconnect, Transport, Verdict
from faultkit.faults.call_replies import always
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class TcpReset(CallFault):
    kind: ClassVar[str] = "tcp_reset"
    summary: ClassVar[str] = "The connection is reset (RST) while the call is under way."
    main: ClassVar[str] = "delay_ms"
    transports: ClassVar[tuple[Transport, ...]] = ("http",)
    instead: ClassVar[str] = "use disconnect: a pipe knows no reset"

    delay_ms: float = setting(
        0.0, "So long after the call, or after the reply if the server is called.", unit="ms", minimum=0
    )
    call_upstream: bool = setting(False, "Let the server do its work first.")

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        end = Disconnect(reset=True, after_s=self.delay_ms / 1000)
        return Verdict(ask=self.call_upstream, frames=always(end), effect=self.kind)
