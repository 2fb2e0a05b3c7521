"""Changes to a whole file, which stays as it is."""

from __future__ import annotations

import math
import time

from faultkit.agent_tools.tool import ToolCall, ToolResult
from faultkit.agent_tools.tools.asking import asking
from faultkit.agent_tools.tools.naming import about
from faultkit.agent_tools.tools.written import as_json
from faultkit.code.advice.answers import ChangeAnswer
from faultkit.code.proof.prove import Proof, ProofSettings, prove


def change_file(call: ToolCall) -> ToolResult:
    values, began = call.values, time.monotonic()
    with about("file", values["file"]):
        with asking(call):
            answer = call.services.advisor(values["file"]).change_file(
                values["file"],
                target_score=values["target_score"],
                language=values["lang"],
                cancel=call.cancelled,
            )
        document = answer.document()
        if values["verify"] and answer.diff:
            document["proof"] = _proof(call, answer, time.monotonic() - began).document()
    return ToolResult(as_json(document), document)


def _proof(call: ToolCall, answer: ChangeAnswer, asked_s: float) -> Proof:
    """Both versions under faults; cancelled, nothing of them is left."""
    # Progress may only grow, and while a model was asked it counted seconds.
    before = math.ceil(asked_s)

    def watch(what: str, step: int, of: int) -> None:
        call.progress(before + step, before + of + 1, what)

    return prove(call.values["file"], answer.old, answer.new, ProofSettings(), watch, call.cancelled)
