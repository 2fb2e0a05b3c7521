"""Hang: the call is taken and never answered, while everything else goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call.call import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call.reply import LIMIT_S, always, unresponsive
from faultkit.faults.fault import setting

LIMIT_HELP = "After this time the call ends with an error, so that nothing waits for ever."


def hanging(call: Call, effect: str, limit_s: float) -> Verdict:
    """Return the verdict for a call that gets no reply for so long; the server is not asked."""
    return Verdict(ask=False, frames=always(unresponsive(call, limit_s)), effect=effect)


@dataclass(frozen=True)
class Hang(CallFault):
    kind: ClassVar[str] = "hang"
    summary: ClassVar[str] = "The call is never answered; everything else is."
    main: ClassVar[str] = "limit_s"

    limit_s: float = setting(LIMIT_S, LIMIT_HELP, unit="s", minimum=0, maximum=86_400)

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        return hanging(call, self.kind, self.limit_s)
