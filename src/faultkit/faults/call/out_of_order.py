"""Out of order: later replies of the session overtake this one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Verdict
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class OutOfOrder(CallFault):
    kind: ClassVar[str] = "out_of_order"
    summary: ClassVar[str] = "The reply waits until later ones have passed it, for a few seconds at most."
    main: ClassVar[str] = "behind"

    behind: int = setting(1, "So many later replies pass it.", minimum=1, maximum=1000)

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        return Verdict(overtaken_by=self.behind, effect=self.kind, amount=float(self.behind))
