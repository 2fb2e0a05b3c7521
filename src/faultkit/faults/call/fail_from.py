"""Fail from: the first calls are answered, all later ones fail: a server that goes down while in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Send, Verdict
from faultkit.faults.call_replies import always, failure_of, subject_of
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class FailFrom(CallFault):
    kind: ClassVar[str] = "fail_from"
    summary: ClassVar[str] = "From the n-th call on, every call fails."
    main: ClassVar[str] = "number"

    number: int = setting(2, "The first call that fails, counted from 1.", minimum=1)

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        if call.ordinal + 1 < self.number:
            return Verdict()
        text = f"injected failure: {subject_of(call)} fails from call {self.number} on"
        return Verdict(ask=False, frames=always(Send(failure_of(call, text))), effect=self.kind)
