"""Finds locks that stay held when an error occurs."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import GO, JAVA, LIKELY, PYTHON, Hit, Rule

_PAIRS = {"acquire": "release", "Lock": "Unlock", "RLock": "RUnlock", "lock": "unlock"}
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
            if not any(each.written == release for each in facts.calls):
                yield Hit(call.span, f"{call.written}() is never followed by {release}()", LIKELY)
        elif not any(_is_sure(each, facts) for each in ends) and _may_fail(call, ends[0], facts):
            yield Hit(
                call.span, f"{release}() is left out when something in between fails or returns", LIKELY
            )


def _is_lock(call: Call) -> bool:
    name = call.receiver_written.rpartition(".")[2].lower().strip("_")
    return any(name == word or name.endswith(word) for word in _LOCKS)


def _is_sure(end: Call, facts: Facts) -> bool:
    return facts.is_deferred(end) or facts.is_in_finally(end)


def _may_fail(begin: Call, end: Call, facts: Facts) -> bool:
    between = Span(begin.span.end, end.span.start)
    if any(step.kind in ("return", "raise") for step in facts.within(facts.steps, between)):
        return True
    return facts.language != "go" and any(facts.within(facts.calls, between))


RULE = Rule(
    id="FK-R041",
    slug="lock-not-released",
    title="Lock not released on every way out",
    why="After one error the lock is held for ever, and everything that needs it stops.",
    fix="Use with (Python), defer mu.Unlock() right after Lock() (Go), or finally (Java).",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *GO, *JAVA),
    check=_check,
)
