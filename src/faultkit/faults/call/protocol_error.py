"""Protocol error: a JSON-RPC error in place of the result."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Send, Verdict
from faultkit.faults.call_replies import INTERNAL_ERROR, always, error_of
from faultkit.faults.fault import setting

_MOST = 2**53 - 1
"""The largest whole number that every JSON reader keeps."""


@dataclass(frozen=True)
class ProtocolError(CallFault):
    kind: ClassVar[str] = "protocol_error"
    summary: ClassVar[str] = "A JSON-RPC error in place of the result."
    main: ClassVar[str] = "code"

    code: int = setting(INTERNAL_ERROR, "Code of the error.", minimum=-_MOST, maximum=_MOST)
    message: str = setting("injected protocol error", "Message of the error.")
    data: str | None = setting(None, "Data of the error, as JSON text; none if not given.")
    call_upstream: bool = setting(False, "Let the server do its work, then throw its reply away.")

    def check(self) -> None:
        if self.data is not None:
            try:
                json.loads(self.data)
            except (ValueError, RecursionError):
                raise ValueError(f"data: expected JSON text, got {self.data!r}") from None

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        data = None if self.data is None else json.loads(self.data)
        error = error_of(call, self.code, self.message, data)
        return Verdict(
            ask=self.call_upstream,
            frames=always(Send(error)),
            effect=self.kind,
            amount=float(self.code),
        )
