"""Wrong id: the reply has the id of a request that was never made; the real request stays open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call_replies import changed
from faultkit.faults.fault import setting

_FAR = 1_000_003


@dataclass(frozen=True)
class WrongId(CallFault):
    kind: ClassVar[str] = "wrong_id"
    summary: ClassVar[str] = "The reply has an id that no request had."
    main: ClassVar[str] = "id"

    id: str | None = setting(
        None, "The id; if not given (or if it is the right one), one like the request's."
    )

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        wrong: str | int = call.id + _FAR if isinstance(call.id, int) else f"{call.id}-{_FAR}"
        chosen = wrong if self.id is None or self.id == call.id else self.id
        return Verdict(frames=changed(lambda reply: {**reply, "id": chosen}), effect=self.kind)
