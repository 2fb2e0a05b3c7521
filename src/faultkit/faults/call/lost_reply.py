"""Lost reply: the server does its work, and its reply is dropped. A retry makes it do the work twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call_replies import LIMIT_HELP, LIMIT_S, always, unresponsive
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class LostReply(CallFault):
    kind: ClassVar[str] = "lost_reply"
    summary: ClassVar[str] = "The server does its work, but the reply never arrives."
    main: ClassVar[str] = "limit_s"

    limit_s: float = setting(LIMIT_S, LIMIT_HELP, unit="s", minimum=0, maximum=86_400)

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        return Verdict(frames=always(unresponsive(call, self.limit_s)), effect=self.kind)
