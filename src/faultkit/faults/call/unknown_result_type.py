"""Unknown result type: the result has a type that a client must not treat as complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Era, Verdict
from faultkit.faults.call_replies import changed_result
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class UnknownResultType(CallFault):
    kind: ClassVar[str] = "unknown_result_type"
    summary: ClassVar[str] = "The result has a resultType that the protocol does not define."
    main: ClassVar[str] = "type"
    eras: ClassVar[tuple[Era, ...]] = ("modern",)
    instead: ClassVar[str] = "results have no type in the legacy era; use empty_result or malformed_json"

    type: str = setting("faultkit/unknown", "The type.")

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        return Verdict(
            frames=changed_result(lambda result: {**result, "resultType": self.type}), effect=self.kind
        )
