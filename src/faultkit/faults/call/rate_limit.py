"""Rate limit: the server refuses the call for now, in one of the four forms that real servers use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Era, Frame, Send, Transport, Verdict
from faultkit.faults.call_replies import always, error_of, refusal, result_of, text_of, tool_error_of
from faultkit.faults.fault import setting

_OF_TOOLS = ("tool_error", "hidden")


@dataclass(frozen=True)
class RateLimit(CallFault):
    kind: ClassVar[str] = "rate_limit"
    summary: ClassVar[str] = "The server refuses the call because of a rate limit, in one of four forms."
    main: ClassVar[str] = "form"
    instead: ClassVar[str] = (
        "form jsonrpc fits everywhere, http only over HTTP, the other two only tools/call"
    )

    form: Literal["http", "jsonrpc", "tool_error", "hidden"] = setting(
        "jsonrpc",
        "HTTP 429 with Retry-After, a JSON-RPC error, an error of the tool, or hidden in a usual result.",
        choices=("http", "jsonrpc", "tool_error", "hidden"),
    )
    retry_after_s: int = setting(30, "Seconds until the client may try again.", unit="s", minimum=0)
    code: int = setting(-32000, "Code of the error (jsonrpc).", minimum=-(2**31), maximum=2**31 - 1)

    def fits(self, transport: Transport, era: Era) -> bool:
        return transport == "http" or self.form != "http"

    def fitting_methods(self) -> tuple[str, ...]:
        return ("tools/call",) if self.form in _OF_TOOLS else ()

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        return Verdict(
            ask=False,
            frames=always(self._answer(call)),
            effect=self.kind,
            amount=float(self.retry_after_s),
        )

    def _answer(self, call: Call) -> Frame:
        text = f"rate limit exceeded: try again in {self.retry_after_s} s"
        if self.form == "http":
            return refusal(429, text.encode(), self.retry_after_s)
        if self.form == "tool_error":
            return Send(tool_error_of(call, text))
        if self.form == "hidden":
            body = {"status": 429, "error": "rate_limited", "retry_after": self.retry_after_s}
            return Send(result_of(call, {"content": [{"type": "text", "text": text_of(body)}]}))
        return Send(error_of(call, self.code, text, {"retryAfter": self.retry_after_s}))
