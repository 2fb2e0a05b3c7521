"""Finds threads that wait for a task instead of awaiting it: `.Result`, `.Wait()`, `runBlocking`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, KOTLIN, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.repetition import frequency_of
from faultkit.code.rules.vocabulary.waits import is_in_coroutine

_RESULT = lazy_regex(r"(?:Async\(\)|\bTask\.\w+\(\)|AsTask\(\)|ConfigureAwait\(\))\.Result$")
_HELD = lazy_regex(r"^(\w+)\.(?:Result|Wait|GetAwaiter\(\)\.GetResult)$")
_WAITS = lazy_regex(r"(?:Async|AsTask|\bTask\.Run)\(\)\.Wait$|\(\)\.GetAwaiter\(\)\.GetResult$")
_STARTED = lazy_regex(
    r"^(?!await\b).*(?:Async\(|\bTask\.(?:Run|WhenAll|WhenAny|Factory)\b|\.AsTask\(\))", re.DOTALL
)
_PROPERTY = lazy_regex(r"=>\s*(?:[\w.]+\s*\?\?=?\s*)?$|\bget\s*\{[^{}]*$|\breturn\s*$")
"""What stands before the value of a property, which every reader of it waits for."""
_STARTS = lazy_regex(r"^(Main|Dispose|Finalize|Configure\w*|OnStart|OnStop)$")
_MEANT = lazy_regex(r"(?<![aA])[sS]ync$|^RunSync|Synchronous")


def _check(facts: Facts) -> Iterator[Hit]:
    yield from _kotlin(facts) if facts.language == "kotlin" else _csharp(facts)


def _kotlin(facts: Facts) -> Iterator[Hit]:
    """Yield `runBlocking` in coroutines, and in functions that handlers of requests call."""
    for call in facts.calls_named("kotlinx.coroutines.runBlocking"):
        if _is_on_own_thread(call, facts):
            continue
        if is_in_coroutine(call, facts) or frequency_of(call, facts) == "request":
            yield Hit(
                call.callee, f"{call.written} keeps a thread of the coroutines until it is done", LIKELY
            )


def _is_on_own_thread(call: Call, facts: Facts) -> bool:
    """Return whether a servlet, each of whose requests has a thread of its own, waits (Kotlin)."""
    scope = facts.named_function_of(call)
    return scope is not None and any("HttpServlet" in each.type for each in scope.parameters)


def _csharp(facts: Facts) -> Iterator[Hit]:
    source = facts.syntax.source
    found: list[tuple[Span, str]] = [
        (each.span, each.written)
        for each in facts.accesses.where(partial(source.endswith, b"Result"))
        if _RESULT.search(each.written) or _is_running(each.written, each, facts)
        if not _is_awaited_before(facts.text(each.span))
    ]
    found += [
        (each.span, f"{each.written}()")
        for each in facts.calls_of_method("Wait", "GetResult")
        # With a limit, code that is not async cannot do it otherwise.
        if (not each.arguments or facts.is_in_async(each))
        if _WAITS.search(each.written) or _is_running(each.written, each, facts)
    ]
    found += [
        (each.span, f"{each.written}()")
        for each in facts.calls_named("Task.WaitAll", "Task.WaitAny")
        if frequency_of(each, facts) == "request" and not facts.is_in_async(each)
    ]
    for span, written in found:
        hit = Hit(span, f"{written} keeps a thread until the task is done", POSSIBLE)
        scope = facts.named_function_of(hit)
        if scope is None and _PROPERTY.search(facts.text(Span(max(0, span.start - 60), span.start))):
            yield Hit(span, hit.message, LIKELY, "medium")
            continue
        if (
            scope is None
            or _may_wait(scope)
            or any(each.name == "Task.Run" for each in facts.calls_around(hit))
        ):
            continue
        often = scope.is_async or frequency_of(hit, facts) == "request"
        if not often and _is_deliberate(written, span, scope, facts):
            continue
        yield Hit(span, hit.message, LIKELY if often else POSSIBLE, None if often else "medium")


def _is_awaited_before(text: str) -> bool:
    """Return whether `Result` is a field of a value that has been awaited: `(await LoadAsync()).Result`."""
    owner = text.rpartition("Result")[0].rstrip().rstrip(".?!").rstrip()
    if not owner.endswith(")"):
        return False
    depth = 0
    for at in range(len(owner) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(owner[at], 0)
        if depth == 0:
            return re.match(r"\(\s*await\b", owner[at:]) is not None
    return False


def _is_running(written: str, access: Placed, facts: Facts) -> bool:
    """Return whether `task.Result` waits: the variable holds a task that nothing has awaited before."""
    found = _HELD.match(written)
    scope = facts.named_function_of(access) if found is not None else None
    if found is None or scope is None:
        return False
    name = found[1]
    # An assignment to a part of it, such as `context.Result = …`, does not make it a task.
    made = [each for each in facts.assignments_to(name, access) if name in each.targets]
    if not made or not all(each.value is not None and _STARTED.match(each.value.text) for each in made):
        return False
    # After `await Task.WhenAll(one, other)`, or in what runs after the task, the result is there.
    before = facts.text(Span(scope.body.start, access.span.start))
    done = rf"\bawait\s+{name}\b|\bWhenA(?:ll|ny)\(|\b{name}\.(?:IsCompleted|Wait\b|Status)|ContinueWith\("
    return re.search(done, before) is None


def _is_deliberate(written: str, span: Span, scope: Scope, facts: Facts) -> bool:
    """Return whether code that is not async waits on purpose, where that does no harm.

    A constructor, a command that writes to its terminal, a task that `Task.Run` takes away from the
    context, and the method beside one of the same name with `Async`."""
    owner = scope.owner.rpartition(".")[2]
    if scope.short_name in ("constructor", owner) or written.startswith("Task.Run("):
        return True
    text = facts.text(scope.body)
    twin = re.match(rf"(?:this\.)?{re.escape(scope.short_name)}Async\b", facts.text(span))
    # Without `ConfigureAwait(false)`, the twin needs the context that waits for it.
    keeps_off = b"ConfigureAwait(false)" in facts.syntax.source
    return (twin is not None and keeps_off) or "Console.Write" in text


def _may_wait(scope: Scope) -> bool:
    return not scope.is_async and (
        _STARTS.match(scope.short_name) is not None or _MEANT.search(scope.short_name) is not None
    )


RULE = Rule(
    id="FK-R073",
    slug="task-waited-for-by-thread",
    title="Thread that waits for a task",
    why="The continuation needs a thread, or the context that is blocked: under load the pool runs out of "
    "threads and everything stands still, and with a synchronization context it deadlocks at once.",
    fix="Make the method async (Kotlin: suspend) and await the task, up to the entry point.",
    kind="reliability",
    severity="high",
    languages=(*CSHARP, *KOTLIN),
    check=_check,
)
