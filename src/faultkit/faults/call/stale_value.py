"""Stale value: later calls with the same arguments get the result of an earlier one.

The server is called each time, so writes happen and only the result is old.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Message, Verdict
from faultkit.faults.call_replies import changed
from faultkit.faults.fault import setting

_MOST_QUESTIONS = 10_000
"""Different calls that are remembered; further ones get their own result. This bounds memory."""


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
        counts: dict[str, int] = given.memory.setdefault("counts", {})
        results: dict[str, Any] = given.memory.setdefault("results", {})
        question = _question(call)
        if question not in counts and len(counts) >= _MOST_QUESTIONS:
            return Verdict()
        count = counts.get(question, 0)
        counts[question] = count + 1
        if count < self.fresh:
            return Verdict(frames=changed(lambda reply: _remember(reply, results, question)))
        return Verdict(
            frames=changed(lambda reply: _with_old_result(reply, results, question)), effect=self.kind
        )


def _question(call: Call) -> str:
    params = {key: value for key, value in call.params.items() if key != "_meta"}
    return json.dumps([call.method, call.name, params], sort_keys=True)


def _remember(reply: Message, results: dict[str, Any], question: str) -> Message:
    if "result" in reply:
        results[question] = reply["result"]
    return reply


def _with_old_result(reply: Message, results: dict[str, Any], question: str) -> Message:
    """Return the earlier result; the reply itself if there is none yet, or if either is an error."""
    if question not in results or "result" not in reply:
        return reply
    return {**reply, "result": results[question]}
