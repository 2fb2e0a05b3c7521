"""Oversized result: the reply is right, and far too large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call_replies import WITH_TEXT, changed_result, with_text
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class OversizedResult(CallFault):
    kind: ClassVar[str] = "oversized_result"
    summary: ClassVar[str] = "The result is larger than it should be by a number of bytes."
    main: ClassVar[str] = "bytes"

    bytes: int = setting(
        10_000_000, "How many bytes of text are added.", unit="bytes", minimum=1, maximum=1_000_000_000
    )

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        def padded(result: dict[str, Any]) -> dict[str, Any]:
            if call.method in WITH_TEXT:
                return with_text(call, result, "x" * self.bytes)
            meta = result.get("_meta")
            kept = meta if isinstance(meta, dict) else {}
            return {**result, "_meta": {**kept, "faultkit/padding": "x" * self.bytes}}

        return Verdict(frames=changed_result(padded), effect=self.kind, amount=float(self.bytes))
