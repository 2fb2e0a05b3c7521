"""Empty result: the reply is a success, and its result is empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call_replies import changed_result, frame_of_result

_EMPTY: dict[str, str] = {
    "tools/call": "content",
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "resources/read": "contents",
    "prompts/list": "prompts",
    "prompts/get": "messages",
}
"""The list that a result of each method must have, even if it is empty."""


@dataclass(frozen=True)
class EmptyResult(CallFault):
    kind: ClassVar[str] = "empty_result"
    summary: ClassVar[str] = "The reply is a success with nothing in it."

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        def emptied(result: dict[str, Any]) -> dict[str, Any]:
            kept = {key: value for key, value in frame_of_result(result).items() if key != "nextCursor"}
            return kept | ({_EMPTY[call.method]: []} if call.method in _EMPTY else {})

        return Verdict(frames=changed_result(emptied), effect=self.kind)
