"""What a client made of one fault, in words that are the same whenever it does the same."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

TIMEOUT_S = 0.5
"""What the caller is ready to wait."""
_LONGEST = 90


@dataclass(frozen=True)
class Observed:
    saw: str
    """By whoever made the call: a result, or an exception."""
    when: str
    told: str
    """What the server was told of it."""
    asked: str
    """How often the server was asked for how many calls, if these differ: `2 for 1`."""
    then: str
    """What became of the next call, which nothing acts on."""
    left: str
    """What became of leaving the client, if it was not plain."""


def moment(elapsed_s: float) -> str:
    """When the caller got to know, by its own patience."""
    if elapsed_s < 0.75 * TIMEOUT_S:
        return "before its timeout"
    return "at its timeout" if elapsed_s < 3 * TIMEOUT_S else "long after its timeout"


def shortened(text: str) -> str:
    """Without what chance or a port puts in."""
    line = " ".join(text.split())
    line = re.sub(r"canary-[0-9a-f]{12}", "canary-…", line)
    line = re.sub(r"received \d+ bytes, expected \d+", "received … bytes, expected …", line)
    line = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1", line)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def raised(error: BaseException) -> str:
    """An exception; of a group, those in it."""
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
