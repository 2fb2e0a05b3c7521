"""Recover after: the first calls hang, then the server works again, so that retries succeed.

All calls that the rule covers are counted together, whatever their names, because it is the server that
recovers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call_replies import LIMIT_HELP, LIMIT_S, hanging
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class RecoverAfter(CallFault):
    kind: ClassVar[str] = "recover_after"
    summary: ClassVar[str] = "The first calls hang, all later ones are answered."
    main: ClassVar[str] = "failures"

    failures: int = setting(1, "So many calls hang.", minimum=0)
    limit_s: float = setting(LIMIT_S, LIMIT_HELP, unit="s", minimum=0, maximum=86_400)

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        return hanging(call, "hang", self.limit_s) if call.ordinal < self.failures else Verdict()
