"""Small tools that tests call, and what they leave behind. Loaded by name, as the real ones are."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict

from faultkit.agent_tools.framework.argument_kinds import number, text, whole
from faultkit.agent_tools.framework.tool import READS, Argument, Tool, ToolCall, ToolResult
from faultkit.base.errors import InputError, RunError

PATIENCE_S = 10.0
_HERE = "tests.agent_tools.sample_tools"

began: defaultdict[str, threading.Event] = defaultdict(threading.Event)
ended: defaultdict[str, threading.Event] = defaultdict(threading.Event)
release: defaultdict[str, threading.Event] = defaultdict(threading.Event)
"""By the `key` of a call."""


def echo(call: ToolCall) -> ToolResult:
    values = dict(call.values)
    return ToolResult(values["word"], {"values": values})


def count(call: ToolCall) -> ToolResult:
    """Reports as fast as it can, and some of it backwards."""
    total = call.values["times"]
    for done in range(1, total + 1):
        call.progress(done, total, f"{done} of {total}")
        call.progress(done - 1, total, "backwards")
        call.progress(float("nan"), None, "nothing")
    return ToolResult("counted", {"times": total})


def wait(call: ToolCall) -> ToolResult:
    """Until it is cancelled; then it takes its time to tidy up."""
    key = call.values["key"]
    call.progress(1, None, "waiting")
    began[key].set()
    if not call.cancelled.wait(PATIENCE_S):
        return ToolResult("nobody cancelled it", {"key": key})
    call.progress(2, None, "tidying up")
    ended[key].set()
    raise RunError("cancelled as asked")


def deaf(call: ToolCall) -> ToolResult:
    """Hears nothing until the test lets it go."""
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
    """As the name of a file that is no UTF-8 comes from the system."""
    return ToolResult("caf\udce9", {"names": ("caf\udce9",)})


def infinite(call: ToolCall) -> ToolResult:
    return ToolResult("much", {"number": float("inf")})


def chatty(call: ToolCall) -> ToolResult:
    print("a print that nobody asked for")  # noqa: T201
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
