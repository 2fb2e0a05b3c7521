"""Calls of functions of a text that return a future, where nothing asks the future for its error.

record(receipt);                        private CompletableFuture<Void> record(…)         Java
due.forEach { refund(it) }              fun CoroutineScope.refund(…): Deferred<Unit>      Kotlin
let _ = self.audit(deed);               async fn audit(…): never polled, it does nothing  Rust
await Task.WhenAny(upload, slow);       a failed upload ends it, too                      C#
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.returned_values import own_function
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_FUTURE = r"(?:(?:Completable|Listenable|Api|Settable)?Future|CompletionStage|Deferred|Mono|Uni)\s*<"
_KOTLIN = lazy_regex(rf":\s*{_FUTURE}")
_DECLARED = TextPattern(
    r"^\s*(?:public\s+|suspend\s+|abstract\s+)*(?:fun\s+(\w+)\s*\([^;{}]*\)\s*:\s*"
    rf"{_FUTURE}|{_FUTURE}[^(){{}};=]*>\s+(\w+)\s*\([^;{{}}]*\)\s*;)",
    re.MULTILINE,
)
"""Methods of interfaces of this text."""
_SEES = lazy_regex(
    r"\.\s*(?:exceptionally\w*|handle\w*|whenComplete\w*|onError\w*|doOnError|subscribe|get|join)\s*[({]"
)
_LOOPS = frozenset(("forEach", "forEachIndexed", "onEach", "forEachOrdered", "ifPresent"))
_SCOPES = frozenset(
    (
        "coroutineScope",
        "supervisorScope",
        "withContext",
        "runBlocking",
        "withTimeout",
        "withTimeoutOrNull",
        "launch",
    )
)


def dropped_futures(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield such calls, each with what is lost."""
    if facts.language in ("java", "kotlin"):
        yield from _jvm(facts)
    elif facts.language == "rust":
        yield from _rust(facts)
    elif facts.language == "csharp":
        yield from _raced(facts)


def _jvm(facts: Facts) -> Iterator[tuple[Span, str]]:
    declared = _declared(facts)
    own = {scope.short_name for scope in facts.scopes if scope.name and _gives_future(scope, facts)}
    for call in facts.calls_of_method(*own, *declared) if own or declared else ():
        if not (call.is_discarded or _is_for_each(call, facts)) or call.is_awaited or facts.calls_on(call):
            continue
        if _is_chosen(call, facts):
            continue
        scope = own_function(call, facts)
        if call.method in own and (scope is None or _SEES.search(facts.text(scope.body))):
            continue
        if call.method not in own and not call.receiver_written:
            continue
        if scope is not None and any("Future" in each.type for each in scope.parameters):
            continue  # The caller has the future that it is given.
        if facts.language == "java" or not _fails_with_scope(call, scope, facts):
            yield call.span, f"nothing sees an error of {call.written}(): its future is dropped"


_VALUE_OF_SWITCH = lazy_regex(r"(?:\breturn|=|\byield|->|[(,])\s*switch\b")


def _is_chosen(call: Call, facts: Facts) -> bool:
    """Return whether a call is the value of a switch: `return switch (kind) { case A -> load(); }` (Java)."""
    line = facts.syntax.line_text(facts.line(call)).lstrip()
    scope = facts.function_of(call)
    return (
        line.startswith(("case ", "default"))
        and "->" in line
        and scope is not None
        and _VALUE_OF_SWITCH.search(facts.text(scope.span)) is not None
    )


@lru_cache(maxsize=4)
def _declared(facts: Facts) -> tuple[str, ...]:
    """Return methods that interfaces of this text declare with a future as their result."""
    if not facts.syntax.has_any(b"interface"):
        return ()
    found = {one or other for one, other in _DECLARED.findall(facts.whole_text)}
    return tuple(sorted(found - {scope.short_name for scope in facts.scopes if scope.name}))


def _gives_future(scope: Scope, facts: Facts) -> bool:
    head = facts.text(scope.head)
    before, _, after = head.partition(f"{scope.short_name}(")
    if facts.language == "kotlin":
        return _KOTLIN.search(after.rpartition(")")[2]) is not None
    return re.search(rf"\b{_FUTURE}", before.rpartition("\n")[2]) is not None


def _is_for_each(call: Call, facts: Facts) -> bool:
    """Return whether a call is the value of a lambda whose value is dropped."""
    around, scope = facts.calls_around(call), facts.function_of(call)
    is_value = bool(around) and around[-1].method in _LOOPS and scope is not None and scope.is_anonymous
    return is_value and not call.assigned


def _fails_with_scope(call: Call, scope: Scope | None, facts: Facts) -> bool:
    """Return whether an error ends what stands around it: `coroutineScope { … }` throws it (Kotlin)."""
    is_deferred = scope is not None and "Deferred" in facts.text(scope.head)
    around = [each.method for each in facts.calls_around(call) if each.method in _SCOPES]
    return is_deferred and (not around or around[-1] != "supervisorScope")


def _rust(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield futures of async functions of this text that nothing awaits: they never run."""
    own = {scope.short_name for scope in facts.scopes if scope.is_async and scope.name}
    for call in facts.calls_of_method(*own) if own else ():
        if call.is_awaited or not (call.is_discarded or call.assigned == ("_",)) or facts.calls_on(call):
            continue
        scope = own_function(call, facts)
        if scope is not None and scope.is_async:
            yield call.span, f"{call.written}() is async and never awaited: it does nothing"


def _raced(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield `await Task.WhenAny(work, delay)` of whose tasks one is asked for nothing (C#)."""
    for call in facts.calls_named("Task.WhenAny", "System.Threading.Tasks.Task.WhenAny"):
        scope = facts.function_of(call)
        if scope is None or not call.is_awaited or call.assigned:
            continue
        text = facts.text(scope.body)
        for each in call.positional:
            name = re.sub(r"^Task\.WhenAll\((\w+)\)$", r"\1", each.value.text)
            made = facts.assignments_to(name, call) if name.isidentifier() else ()
            calls = [one.call for one in made if one.call is not None]
            if not calls or any(_is_signal(one, facts) or one.is_awaited for one in calls):
                continue
            word = re.escape(name)
            asked = re.compile(
                rf"await\s+{word}\b|\breturn\s+{word}\b|WhenAll\([^;]*\b{word}\b|\b{word}\.(?!Id\b|IsCompleted\b)\w"
            )
            if asked.search(text) is None and not _is_kept(name, scope, facts):
                yield call.span, f"{name} is never awaited: that it failed is seen by nothing"
                break


_SIGNALS = lazy_regex(r"^(?:Delay|Run|Wait|When(?!All$))")


def _is_signal(call: Call, facts: Facts) -> bool:
    """Return whether a task waits for a time, an event or a cancellation: to lose its error loses nothing."""
    if _SIGNALS.match(call.method):
        return True
    return re.search(r"\bTask\.Delay\(|\.Wait\w*\(", facts.text(call.span)) is not None


def _is_kept(name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a task is given to something else, which may look at it."""
    return any(
        each.value.text == name and call.method != "WhenAny"
        for call in facts.within(facts.calls, scope.body)
        for each in call.positional
    )
