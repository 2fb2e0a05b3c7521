"""The behaviour of a client under one fault, in words that are equal for equal behaviour."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

TIMEOUT_S = 0.5
"""Timeout of the caller in seconds."""
_LONGEST = 90


@dataclass(frozen=True)
class Observation:
    saw: str
    """What the caller got: a result, or an exception."""
    when: str
    told: str
    """How the server was notified: `cancelled`, `closed`, or empty."""
    asked: str
    """Number of requests and of calls, if they differ: `2 for 1`."""
    then: str
    """Outcome of the next call, which no fault acts on."""
    left: str
    """Outcome of closing the client, if it was not normal."""


def moment(elapsed_s: float) -> str:
    """Return when the call ended, in terms of the caller's timeout."""
    if elapsed_s < 0.75 * TIMEOUT_S:
        return "before its timeout"
    return "at its timeout" if elapsed_s < 3 * TIMEOUT_S else "long after its timeout"


def shortened(text: str) -> str:
    """Return the text on one line, without random parts and port numbers."""
    line = " ".join(text.split())
    line = re.sub(r"canary-[0-9a-f]{12}", "canary-…", line)
    line = re.sub(r"received \d+ bytes, expected \d+", "received … bytes, expected …", line)
    line = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1", line)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def raised(error: BaseException) -> str:
    """Return an exception in words; of a group, those in it."""
    if isinstance(error, BaseExceptionGroup):
        inner = sorted({raised(each) for each in error.exceptions})
        return f"{type(error).__name__}({', '.join(inner)})"
    if isinstance(error, asyncio.CancelledError):
        return "CancelledError"
    name = type(error).__name__
    module = type(error).__module__.partition(".")[0]
    known = name if module in ("builtins", "mcp", "asyncio", "mcp_types") else f"{module}.{name}"
    code = getattr(getattr(error, "error", error), "code", None)
    said = shortened(str(error))
    head = f"{known} {code}" if isinstance(code, int) else known
    return f"{head}: {said}" if said else head
