"""Input required loop: each attempt is answered with a request for more input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Era, Send, Verdict
from faultkit.faults.call_replies import always, result_of

_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_STATE = "faultkit-round-"
_LONGEST_ROUND = 9


@dataclass(frozen=True)
class InputRequiredLoop(CallFault):
    kind: ClassVar[str] = "input_required_loop"
    summary: ClassVar[str] = "The server asks for more input each time, and never gives a result."
    eras: ClassVar[tuple[Era, ...]] = ("modern",)
    only: ClassVar[tuple[str, ...]] = ("tools/call", "prompts/get", "resources/read")
    instead: ClassVar[str] = "use tool_error or hang; only tools/call, prompts/get and resources/read may ask"

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        number = round_of(call.params) + 1
        result: dict[str, Any] = {"resultType": "input_required", "requestState": f"{_STATE}{number}"}
        if _elicits(call.params):
            result["inputRequests"] = {"answer": _question(number)}
        return Verdict(
            ask=False,
            frames=always(Send(result_of(call, result))),
            effect=self.kind,
            amount=float(number),
        )


def round_of(params: Mapping[str, Any]) -> int:
    """Return the number of rounds so far, from the state that the client sends back."""
    state = params.get("requestState")
    digits = state.removeprefix(_STATE) if isinstance(state, str) else ""
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST_ROUND else 0


def _elicits(params: Mapping[str, Any]) -> bool:
    """Return whether the client can answer questions. A server may send the state alone to any client."""
    meta = params.get("_meta")
    capabilities = meta.get(_CAPABILITIES_KEY) if isinstance(meta, dict) else None
    return isinstance(capabilities, dict) and "elicitation" in capabilities


def _question(number: int) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    message = f"One more answer is needed (fault injected, round {number})."
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": schema},
    }
