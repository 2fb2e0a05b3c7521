"""Finds locks that stay held when an error occurs."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, is_within
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
    final = any(each.finally_ is not None and is_within(end.span, each.finally_) for each in facts.tries)
    scope = facts.function_of(end)
    deferred = scope is not None and any(
        each.is_deferred and is_within(end.span, each.span) for each in facts.calls
    )
    return end.is_deferred or final or deferred


def _may_fail(begin: Call, end: Call, facts: Facts) -> bool:
    between = [
        each for each in facts.calls if begin.span.end <= each.span.start and each.span.end <= end.span.start
    ]
    leaves = [
        step
        for step in facts.steps_of("return", "raise")
        if begin.span.end <= step.span.start and step.span.end <= end.span.start
    ]
    return bool(leaves) or (bool(between) and facts.language != "go")


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
