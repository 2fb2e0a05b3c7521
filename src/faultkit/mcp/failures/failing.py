"""`error`, `slow` and `flaky`: the three that seed 001 is about."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any

from faultkit.base.rng import Rng
from faultkit.mcp.failures.go_json import go_text
from faultkit.mcp.failures.outcome import Outcome, ProtocolError, Structured, ToolError
from faultkit.mcp.failures.tool import Argument, Caller, FailureTool

MOST_SLOW_MS = 60_000
USUAL_CATEGORY = "protocol"
CODES = {"protocol": -32603, "tool": -31000, "timeout": -31001, "auth": -31003}
"""JSON-RPC codes of the categories; any other category has that of an internal error. Not -32600 or others
that MCP has a use for: over HTTP, their status would not be 200."""
FLAKY_CODE = -31002
"""Like most of the above outside of what JSON-RPC and MCP have reserved."""


def error(given: Mapping[str, Any], caller: Caller) -> Outcome:
    message, category = given["message"] or "synthetic error", given["category"] or ""
    if given["as_tool"]:
        return ToolError(message, {"triggered": True}, category)
    known = category or USUAL_CATEGORY
    data = {"message": message, "category": known}
    return ProtocolError(CODES.get(known, CODES[USUAL_CATEGORY]), message, data, category)


async def slow(given: Mapping[str, Any], caller: Caller) -> Outcome:
    seconds = min(max(given["milliseconds"], 0), MOST_SLOW_MS) / 1000
    loop = asyncio.get_running_loop()
    began = loop.time()
    await asyncio.sleep(seconds)
    return Structured({"slept_ms": round((loop.time() - began) * 1000) if seconds else 0})


def flaky(given: Mapping[str, Any], caller: Caller) -> Outcome:
    rate = float(min(max(given["fail_rate"], 0), 1))
    seed, call_id = given["seed"] or "", given["call_id"] or 0
    roll = roll_of(seed, call_id)
    if roll < rate:
        text = f"flaky failure (roll={roll:.4f} < rate={rate:.4f})"
        data = {"failed": True, "roll": roll, "rate": rate, "seed": seed, "call_id": call_id}
        return ProtocolError(FLAKY_CODE, text, data)
    return Structured({"failed": False, "roll": roll, "fail_rate": rate})


def roll_of(seed: str, call_id: int) -> float:
    """In [0, 1): the same for the same seed and call id, everywhere and always. Without a seed, by chance."""
    if not seed:
        return Rng("", secrets.randbits(64), secrets.randbits(64)).uniform()
    return Rng.keyed(go_text(seed), call_id).uniform()


FAILING = (
    FailureTool(
        "error",
        "failure",
        "Fails with your message and category: as a result with isError, or as a JSON-RPC error.",
        error,
        {
            "message": Argument("string", "what the error says; `synthetic error` if left out"),
            "category": Argument("string", "protocol, tool, timeout or auth: for filters of the audit log"),
            "as_tool": Argument("boolean", "true: a result with isError; false: a JSON-RPC error"),
        },
        {"triggered": "boolean"},
    ),
    FailureTool(
        "slow",
        "failure",
        "Answers after so many milliseconds. Cancelled, it ends at once.",
        slow,
        {"milliseconds": Argument("integer", "how long to wait; at most 60000", required=True)},
        {"slept_ms": "integer"},
    ),
    FailureTool(
        "flaky",
        "failure",
        "Fails with the probability that you name. The same seed and call_id always come to the same.",
        flaky,
        {
            "fail_rate": Argument("number", "probability of a failure, from 0 to 1", required=True),
            "seed": Argument("string", "makes the outcome the same every time"),
            "call_id": Argument("integer", "which call of the seed this is; 0 if left out"),
        },
        {"failed": "boolean", "roll": "number", "fail_rate": "number"},
    ),
)
