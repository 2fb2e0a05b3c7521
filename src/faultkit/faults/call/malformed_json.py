"""Malformed JSON: the reply cannot be parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Frame, Message, Send, Verdict
from faultkit.faults.call_replies import text_of
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class MalformedJson(CallFault):
    kind: ClassVar[str] = "malformed_json"
    summary: ClassVar[str] = "The reply is not valid JSON."
    main: ClassVar[str] = "text"

    text: str | None = setting(
        None, "What comes in place of the reply; if not given, the reply without its last brace."
    )

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        def break_off(reply: Message | None) -> tuple[Frame, ...]:
            if self.text is not None:
                return (Send(self.text.encode(errors="replace")),)
            return () if reply is None else (Send(text_of(reply)[:-1].encode()),)

        return Verdict(frames=break_off, effect=self.kind)
