"""Keep-alive only: the SSE stream sends comments, and never a reply."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, KeepAlive, Transport, Verdict
from faultkit.faults.call_replies import LIMIT_HELP, LIMIT_S, always, unresponsive
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class KeepAliveOnly(CallFault):
    kind: ClassVar[str] = "keep_alive_only"
    summary: ClassVar[str] = "The SSE stream sends comments to stay alive, and no reply."
    main: ClassVar[str] = "every_ms"
    transports: ClassVar[tuple[Transport, ...]] = ("http",)
    instead: ClassVar[str] = "use hang, or progress_storm to keep the client waiting"

    every_ms: float = setting(1000.0, "Time between the comments.", unit="ms", minimum=1, maximum=86_400_000)
    limit_s: float = setting(LIMIT_S, LIMIT_HELP, unit="s", minimum=0, maximum=86_400)

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        end = replace(unresponsive(call, self.limit_s), after_s=0.0)
        alive = KeepAlive(self.every_ms / 1000, self.limit_s)
        return Verdict(ask=False, frames=always(alive, end), effect=self.kind)
