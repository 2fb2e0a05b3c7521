"""Stale value: the answer to the same question as before, as if nothing had changed since.

The server is asked all the same, so that writes happen and only the reading is old.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.call.call import Call, CallFault, Circumstances, Message, Verdict
from faultkit.faults.call.reply import changed
from faultkit.faults.fault import setting

_MOST_QUESTIONS = 10_000
"""What is asked beyond these is answered truly: memory has an end."""


@dataclass(frozen=True)
class StaleValue(CallFault):
    kind: ClassVar[str] = "stale_value"
    summary: ClassVar[str] = "Later calls with the same arguments get the answer of an earlier one."
    main: ClassVar[str] = "fresh"

    fresh: int = setting(
        1,
        "So many calls with the same arguments are answered truly; later ones get the last of these.",
        minimum=1,
    )

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        seen: dict[str, int] = given.memory.setdefault("seen", {})
        results: dict[str, Any] = given.memory.setdefault("results", {})
        question = _question(call)
        if question not in seen and len(seen) >= _MOST_QUESTIONS:
            return Verdict()
        asked = seen.get(question, 0)
        seen[question] = asked + 1
        if asked < self.fresh:
            return Verdict(frames=changed(lambda reply: _kept(reply, results, question)))
        return Verdict(frames=changed(lambda reply: _old(reply, results, question)), effect=self.kind)


def _question(call: Call) -> str:
    params = {key: value for key, value in call.params.items() if key != "_meta"}
    return json.dumps([call.method, call.name, params], sort_keys=True)


def _kept(reply: Message, results: dict[str, Any], question: str) -> Message:
    if "result" in reply:
        results[question] = reply["result"]
    return reply


def _old(reply: Message, results: dict[str, Any], question: str) -> Message:
    """As it came where the earlier answer is not there yet, or was an error."""
    if question not in results or "result" not in reply:
        return reply
    return {**reply, "result": results[question]}
