"""Tools that say much: before their answer, or in it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from faultkit.mcp.failures.outcome import Blocks, Outcome, Structured
from faultkit.mcp.failures.tool import Argument, Caller, FailureTool

_DIGITS = "abcdefghij"
_CHATTY = (
    "first block: short",
    "second block: a slightly longer string with multiple words",
    "third block: numbers 1 2 3 4 5",
    "fourth block: unicode; café résumé naïve",
)


async def progress(given: Mapping[str, Any], caller: Caller) -> Outcome:
    steps = _bounded(given["steps"], usual=5, most=100)
    pause_s = _bounded(given["step_ms"], usual=200, most=5000) / 1000
    token = caller.progress_token
    for step in range(1, steps + 1):
        if token is not None:
            told = {
                "progressToken": token,
                "progress": step,
                "total": steps,
                "message": f"step {step}/{steps}",
            }
            caller.note("notifications/progress", told)
        await asyncio.sleep(pause_s)
    return Structured({"steps": steps, "notified": token is not None, "done": True})


def long_output(given: Mapping[str, Any], caller: Caller) -> Outcome:
    blocks = _bounded(given["blocks"], usual=3, most=50)
    chars = _bounded(given["chars"], usual=256, most=65536)
    filler = _DIGITS * (chars // len(_DIGITS) + 1)
    return Blocks(tuple(f"[block {number}] {filler}"[:chars] for number in range(blocks)))


def chatty(given: Mapping[str, Any], caller: Caller) -> Outcome:
    return Blocks(_CHATTY)


def _bounded(value: int | None, *, usual: int, most: int) -> int:
    return usual if value is None or value <= 0 else min(value, most)


STREAMING = (
    FailureTool(
        "progress",
        "streaming",
        "Sends notifications of its progress, one a step, if the call names a progressToken in _meta.",
        progress,
        {
            "steps": Argument("integer", "how many; 5 if left out or 0, at most 100", required_in_go=True),
            "step_ms": Argument(
                "integer", "between them; 200 if left out or 0, at most 5000", required_in_go=True
            ),
        },
        {"steps": "integer", "notified": "boolean", "done": "boolean"},
    ),
    FailureTool(
        "long_output",
        "streaming",
        "Many blocks of text, each of so many characters.",
        long_output,
        {
            "blocks": Argument("integer", "how many; 3 if left out or 0, at most 50", required_in_go=True),
            "chars": Argument(
                "integer", "of each block; 256 if left out or 0, at most 65536", required_in_go=True
            ),
        },
        read_only=True,
    ),
    FailureTool("chatty", "streaming", "Four blocks of text, all unlike.", chatty, read_only=True),
)
