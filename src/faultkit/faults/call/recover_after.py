"""Recover after: the first calls hang, then the server is well again. What retries are made for.

The calls are counted over all that the rule covers, whatever their names: it is the server that recovers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call.call import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call.hang import LIMIT_HELP, hanging
from faultkit.faults.call.reply import LIMIT_S
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
