"""Hang: the call is received and never answered; everything else is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call_replies import LIMIT_HELP, LIMIT_S, hanging
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class Hang(CallFault):
    kind: ClassVar[str] = "hang"
    summary: ClassVar[str] = "The call is never answered; everything else is."
    main: ClassVar[str] = "limit_s"

    limit_s: float = setting(LIMIT_S, LIMIT_HELP, unit="s", minimum=0, maximum=86_400)

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        return hanging(call, self.kind, self.limit_s)
