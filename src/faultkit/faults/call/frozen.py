"""Frozen: from the first call that is hit, nothing of the session is answered, not even pings and lists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call_replies import LIMIT_S, hanging


@dataclass(frozen=True)
class Frozen(CallFault):
    kind: ClassVar[str] = "frozen"
    summary: ClassVar[str] = (
        "From this call on nothing of the session is answered, pings and lists included; over modern HTTP, "
        "which has no sessions, nothing of any client."
    )

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        return replace(hanging(call, self.kind, LIMIT_S), freezes_session=True)
