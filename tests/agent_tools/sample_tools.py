"""Small tools for tests, and records of their calls. Their functions are imported by name, as real ones."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict

from faultkit.agent_tools.argument_kinds import number, text, whole
from faultkit.agent_tools.tool import READS, Argument, Tool, ToolCall, ToolResult
from faultkit.base.errors import InputError, RunError

PATIENCE_S = 10.0
_HERE = "tests.agent_tools.sample_tools"

began: defaultdict[str, threading.Event] = defaultdict(threading.Event)
ended: defaultdict[str, threading.Event] = defaultdict(threading.Event)
release: defaultdict[str, threading.Event] = defaultdict(threading.Event)
"""Records by the `key` of a call."""


def echo(call: ToolCall) -> ToolResult:
    values = dict(call.values)
    return ToolResult(values["word"], {"values": values})


def count(call: ToolCall) -> ToolResult:
    """Report progress as fast as possible, with some values that decrease."""
    total = call.values["times"]
    for done in range(1, total + 1):
        call.progress(done, total, f"{done} of {total}")
        call.progress(done - 1, total, "backwards")
        call.progress(float("nan"), None, "nothing")
    return ToolResult("counted", {"times": total})


def wait(call: ToolCall) -> ToolResult:
    """Wait until the call is cancelled, and then take a while to end."""
    key = call.values["key"]
    call.progress(1, None, "waiting")
    began[key].set()
    if not call.cancelled.wait(PATIENCE_S):
        return ToolResult("it was not cancelled", {"key": key})
    call.progress(2, None, "tidying up")
    ended[key].set()
    raise RunError("cancelled as asked")


def deaf(call: ToolCall) -> ToolResult:
    """Ignore cancellation until the test releases it."""
    key = call.values["key"]
    began[key].set()
    release[key].wait(PATIENCE_S)
    ended[key].set()
    return ToolResult("let go", {"key": key})


def crash(call: ToolCall) -> ToolResult:
    raise KeyError("a secret place\nin the code")


def leave(call: ToolCall) -> ToolResult:
    sys.exit(7)


def refuse(call: ToolCall) -> ToolResult:
    raise InputError("key", "expected better, got this")


def odd(call: ToolCall) -> ToolResult:
    """Return a lone surrogate, as Python makes it of a file name that is not UTF-8."""
    return ToolResult("caf\udce9", {"names": ("caf\udce9",)})


def infinite(call: ToolCall) -> ToolResult:
    return ToolResult("much", {"number": float("inf")})


def chatty(call: ToolCall) -> ToolResult:
    print("a stray print")  # noqa: T201
    return ToolResult("said", {})


_KEY = text("key", "Which call this is.", default="", example='"a"')


def _tool(name: str, arguments: tuple[Argument, ...] = (_KEY,), ignored: tuple[str, ...] = ()) -> Tool:
    return Tool(
        name, name.title(), f"Tool {name}.", arguments, {"type": "object"}, READS, f"{_HERE}:{name}",
        ignored=ignored,
    )  # fmt: skip


SAMPLES: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        _tool(
            "echo",
            (
                text("word", "Any word.", example='"hello"'),
                number("ratio", "A ratio.", default=0.5, minimum=0, maximum=1, example="0.5"),
                whole("count", "How many.", default=None, minimum=1, example="3"),
            ),
            ignored=("superfluous",),
        ),
        _tool("count", (whole("times", "How often.", default=100),)),
        *map(_tool, ("wait", "deaf", "crash", "leave", "refuse", "odd", "infinite", "chatty")),
    )
}
