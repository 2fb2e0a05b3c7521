"""Changes to a whole file, which stays as it is."""

from __future__ import annotations

import math
import time

from faultkit.advice.answers import ChangeAnswer
from faultkit.advice.proof.prove import Proof, ProofSettings, prove
from faultkit.servers.tool import ToolCall, ToolResult
from faultkit.servers.tools.asking import asking
from faultkit.servers.tools.naming import about
from faultkit.servers.tools.written import as_json


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
