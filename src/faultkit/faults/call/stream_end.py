"""Stream end: the HTTP response begins and ends in good order, but contains no reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, EndStream, Transport, Verdict
from faultkit.faults.call_replies import always
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class StreamEnd(CallFault):
    kind: ClassVar[str] = "stream_end"
    summary: ClassVar[str] = "The stream of the answer ends without a reply."
    transports: ClassVar[tuple[Transport, ...]] = ("http",)
    instead: ClassVar[str] = "use lost_reply, or disconnect to end the pipes"

    call_upstream: bool = setting(True, "Let the server do its work first.")

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        return Verdict(ask=self.call_upstream, frames=always(EndStream()), effect=self.kind)
