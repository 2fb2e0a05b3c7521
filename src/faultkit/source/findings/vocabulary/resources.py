"""Things that must be closed, and whether somebody closes them or takes them over."""

from __future__ import annotations

import re

from faultkit.source.findings.facts import Call, Facts
from faultkit.source.syntax import Span

_CLOSES = frozenset(
    (
        "close", "aclose", "Close", "closeSync", "shutdown", "destroy", "end", "terminate", "release",
        "disconnect", "quit", "Shutdown", "dispose", "closeQuietly", "wait_closed", "stop", "cancel",
        "discard",
    )
)  # fmt: skip
_TAKES = frozenset(
    (
        "closing", "contextlib.closing", "contextlib.aclosing", "enter_context", "enter_async_context",
        "push_async_exit", "callback", "register", "addCleanup",
    )
)  # fmt: skip


def is_kept(call: Call, facts: Facts) -> bool:
    """Whether what a call opened is closed, or handed to somebody who may close it."""
    if call.is_managed or call.is_returned or call.is_argument or call.is_deferred:
        return True
    if any(each.method in _CLOSES for each in facts.calls_on(call)):
        return True
    if not call.assigned:
        return False
    name = call.assigned[0]
    if "." in name or "[" in name or "{" in name:
        return True
    function = facts.function_of(call)
    if function is None:
        return True
    if facts.language == "go" and any(
        each.call is call and each.operator == "=" for each in facts.assignments
    ):
        # A variable of somebody else, such as a named result.
        return True
    return _closed_by_name(name, function.body, facts) or _escapes(name, call, function.body, facts)


def _closed_by_name(name: str, body: Span, facts: Facts) -> bool:
    for each in facts.within(facts.calls, body):
        owner = each.written.partition(".")[0]
        if owner == name and each.method in _CLOSES:
            return True
        if (each.method in _CLOSES or each.method in _TAKES) and any(
            argument.value.text == name for argument in each.arguments
        ):
            return True
    return any(each.written == name and each.is_managed for each, _ in facts.managed)


def _escapes(name: str, call: Call, body: Span, facts: Facts) -> bool:
    """The variable itself is returned, stored or given to another function."""
    word = re.compile(rf"(?<![\w.\"']){re.escape(name)}(?![\w.(\[\"'])")
    for step in facts.within(facts.steps, body):
        if step.kind in ("return", "yield") and word.search(facts.text(step.span)):
            return True
    for each in facts.within(facts.assignments, body):
        value = None if each.call is call else each.value
        if value is not None and value.shape in ("name", "object", "list") and word.search(value.text):
            return True
    for other in facts.within(facts.calls, body):
        # A descriptor is given to `fs` to read and write with it, not to keep.
        if (
            other is not call
            and not other.name.startswith("fs.")
            and any(argument.value.text in (name, f"&{name}", f"*{name}") for argument in other.arguments)
        ):
            return True
    return False
