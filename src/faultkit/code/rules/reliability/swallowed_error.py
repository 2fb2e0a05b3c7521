"""Finds handlers that drop an error."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts, Handler, Try, is_within
from faultkit.code.rules.rule import CERTAIN, GO, JAVA, JAVASCRIPT, LIKELY, POSSIBLE, PYTHON, Hit, Rule

_EXPECTED = frozenset(
    {
        "KeyError",
        "IndexError",
        "StopIteration",
        "StopAsyncIteration",
        "FileNotFoundError",
        "FileExistsError",
        "ImportError",
        "ModuleNotFoundError",
        "AttributeError",
        "ProcessLookupError",
        "KeyboardInterrupt",
        "BrokenPipeError",
        "queue.Empty",
        "queue.Full",
        "asyncio.QueueEmpty",
        "asyncio.CancelledError",
        "NotImplementedError",
        "ValueError",
        "TypeError",
        "UnicodeDecodeError",
        "OSError",
        "InterruptedException",
        "NumberFormatException",
        "EOFError",
        "BlockingIOError",
        "InterruptedError",
        "RecursionError",
        "SSLWantReadError",
        "SSLWantWriteError",
        "TimeoutExpired",
        "TimeoutError",
        "LookupError",
        "ConnectionResetError",
        "CancelledError",
        "Empty",
        "Full",
        "DoesNotExist",
        "PackageNotFoundError",
        "NotADirectoryError",
        "IsADirectoryError",
        "UnicodeError",
        "UnicodeEncodeError",
        "ReferenceError",
        "binascii.Error",
    }
)
"""Errors that often answer a question instead of reporting a failure: `except KeyError: pass`."""
_LATE = re.compile(
    r"(NotFound|Exists|Finished|Closed\w*|InvalidState|BrokenResource|Disconnect\w*)(Error|Exception)?$"
)
"""Errors that mean that the work is done already, or that the peer has closed."""
_PROBES = ("get_running_loop", "get_event_loop", "current_task")
"""Functions that raise if there is no loop or task: the error is an answer."""
_ENDS = (
    "close",
    "aclose",
    "shutdown",
    "stop",
    "kill",
    "unlink",
    "remove",
    "terminate",
    "disconnect",
    "cancel",
    "abort",
)

_FALLBACKS = ("=>null", "=>undefined", "=>void0")


def _check(facts: Facts) -> Iterator[Hit]:
    for each in facts.tries:
        for handler in each.handlers:
            if handler.is_empty and not _is_harmless(each, handler, facts):
                if _explains(handler, facts) or _has_fallback(each, handler, facts):
                    yield Hit(handler.head, _message(handler, facts), POSSIBLE, "medium")
                elif handler.is_broad:
                    yield Hit(handler.head, _message(handler, facts), CERTAIN)
                else:
                    yield Hit(handler.head, _message(handler, facts), POSSIBLE, "medium")
            elif _only_prints(handler, facts) and not _is_harmless(each, handler, facts):
                what = f"{', '.join(handler.types)} is only printed to the console, and then dropped"
                yield Hit(handler.head, what, LIKELY, "medium")
    if facts.language in JAVASCRIPT:
        yield from _promises(facts)


def _has_fallback(each: Try, handler: Handler, facts: Facts) -> bool:
    """Return whether a slower way follows: `try: return quick() except Exception: pass`."""
    gives = any(step.kind == "return" and step.text for step in facts.within(facts.steps, each.body))
    return gives and "return" not in facts.text(handler.body)


def _only_prints(handler: Handler, facts: Facts) -> bool:
    """Return whether a Java handler only calls `e.printStackTrace()`. A program that ends may do so."""
    if facts.language != "java":
        return False
    calls = list(facts.within(facts.calls, handler.body))
    scope = facts.named_function_of(handler)
    return (
        bool(calls)
        and all(call.method == "printStackTrace" and not call.arguments for call in calls)
        and not handler.raises
        and not any(facts.within(facts.assignments, handler.body))
        and (scope is None or scope.short_name != "main")
    )


def _is_harmless(each: Try, handler: Handler, facts: Facts) -> bool:
    if handler.types and all(map(_is_expected, handler.types)):
        return True
    scope = facts.named_function_of(handler)
    if scope is not None and scope.short_name == "__del__":
        return True
    if not handler.is_broad and (_explains(handler, facts) or not all(map(_is_failure, handler.types))):
        return True
    # Ending something that has ended already is no failure.
    calls = list(facts.within(facts.calls, each.body))
    return bool(calls) and all(call.method in _ENDS or call.method in _PROBES for call in calls)


def _is_expected(name: str) -> bool:
    return name in _EXPECTED or name.rpartition(".")[2] in _EXPECTED or _LATE.search(name) is not None


def _is_failure(name: str) -> bool:
    """Return whether a name is that of an error; others leave nested code: `_Endless`, `Found`."""
    return name.endswith(("Error", "Exception", "Failure", "Fault", "Failed"))


def _explains(handler: Handler, facts: Facts) -> bool:
    text = facts.text(handler.span)
    return "#" in text or "//" in text or "/*" in text


def _message(handler: Handler, facts: Facts) -> str:
    what = ", ".join(handler.types) or ("any error" if facts.language != "go" else f"{handler.name}")
    return f"{what} is caught and nothing is done with it"


def _promises(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method("catch"):
        given = call.argument(place=0)
        if given is None or given.value.shape != "function":
            continue
        bare = "".join(given.value.text.split())
        fallback = bare.endswith(_FALLBACKS)
        if not fallback and not bare.endswith(("=>{}", "){}")):
            continue
        calls = [each for each in facts.calls if is_within(each.span, call.callee)]
        if any(each.method in _ENDS for each in calls):
            continue
        what = f"{call.written}() drops every error"
        if fallback:
            yield Hit(given.value.span, what, POSSIBLE, "medium")
        else:
            yield Hit(given.value.span, what, LIKELY if calls else POSSIBLE)


RULE = Rule(
    id="FK-R009",
    slug="swallowed-error",
    title="Error caught and dropped",
    why="The failure stays silent: data is lost or stale, and there is no trace of when or why.",
    fix="Handle it, log it with its cause, or let it go up to code that can.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA),
    check=_check,
)
