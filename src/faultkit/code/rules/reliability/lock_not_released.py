"""Finds locks that stay held when an error occurs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, JAVA, JAVASCRIPT, KOTLIN, LIKELY, PYTHON, Hit, Rule

_PAIRS = {"acquire": "release", "Lock": "Unlock", "RLock": "RUnlock", "lock": "unlock",
          "WaitAsync": "Release", "Wait": "Release"}  # fmt: skip
_LOCKS = ("lock", "mutex", "mu", "sem")


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method(*_PAIRS):
        if not call.is_discarded or not _is_lock(call):
            continue
        scope = facts.function_of(call)
        if scope is None:
            continue
        release = f"{call.receiver_written}.{_PAIRS[call.method]}"
        ends = [each for each in facts.within(facts.calls, scope.span) if each.written == release]
        if not ends:
            if not _is_released_elsewhere(call, facts):
                yield Hit(call.span, f"{call.written}() is never followed by {release}()", LIKELY)
        elif not any(_is_sure(each, facts) for each in ends) and _may_fail(call, ends, facts):
            yield Hit(
                call.span, f"{release}() is left out when something in between fails or returns", LIKELY
            )


def _is_released_elsewhere(call: Call, facts: Facts) -> bool:
    """Return whether other code may release it: another method, a callback, or the caller that gets it."""
    method = _PAIRS[call.method]
    if facts.calls_of_method(method) or any(each.written.endswith(f".{method}") for each in facts.accesses):
        return True
    name = call.receiver_written
    if "." in name:
        # A member: in Go and Java, other files of the package have its other methods.
        return facts.language != "python"
    scope = facts.function_of(call)
    return scope is not None and any(
        step.kind in ("return", "yield") and re.search(rf"\b{re.escape(name)}\b", step.text)
        for step in facts.within(facts.steps, scope.body)
    )


def _is_lock(call: Call) -> bool:
    if call.method.startswith("Wait"):
        return call.receiver.rpartition(".")[2] in ("SemaphoreSlim", "Semaphore")
    name = call.receiver_written.rpartition(".")[2].lower().strip("_")
    return any(name == word or name.endswith(word) for word in _LOCKS)


def _is_sure(end: Call, facts: Facts) -> bool:
    return facts.is_deferred(end) or facts.is_in_finally(end)


def _may_fail(begin: Call, ends: list[Call], facts: Facts) -> bool:
    """Return whether the function may be left before the first release behind the lock."""
    after = [each for each in ends if each.span.start > begin.span.end]
    if not after or len(after) < len(ends):
        # Released first and taken again: the caller holds it and releases it.
        return False
    scope, between = facts.function_of(begin), Span(begin.span.end, after[0].span.start)
    leaves = any(
        step.kind in ("return", "raise") and facts.function_of(step) is scope
        for step in facts.within(facts.steps, between)
    )
    calls = any(facts.function_of(each) is scope for each in facts.within(facts.calls, between))
    return leaves or (calls and facts.language != "go")


RULE = Rule(
    id="FK-R041",
    slug="lock-not-released",
    title="Lock not released on every way out",
    why="After one error the lock is held for ever, and everything that needs it stops.",
    fix="Use with (Python), defer mu.Unlock() right after Lock() (Go), finally (Java, C#), or withLock "
    "(Kotlin).",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA, *CSHARP, *KOTLIN),
    check=_check,
)
