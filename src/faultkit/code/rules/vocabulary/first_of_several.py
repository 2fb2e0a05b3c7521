"""Tasks that go on after the first of several has ended: nothing cancels the rest.

done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)     (no task.cancel())
tokio::select! { _ = &mut reading => {}, _ = &mut writing => {} }           (no abort())
await Task.WhenAny(reading, writing);                                       (no Cancel())
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.started_tasks import endless_loop

_ENDS = {
    "python": lazy_regex(r"\.cancel\s*\(|cancel_\w+\(|TaskGroup|\.aclose\(|\bgather\("),
    "rust": lazy_regex(r"\.abort\s*\(|abort_all|JoinSet|\.cancel\s*\(|AbortOnDrop|CancellationToken"),
    "csharp": lazy_regex(r"\.Cancel(Async|After)?\s*\(|WhenAll|\.Dispose\(|Complete\("),
}


def left_running(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield waits for the first of several tasks in functions that end none of the others."""
    if facts.language == "python":
        yield from _python(facts)
    elif facts.language == "rust":
        yield from _rust(facts)
    elif facts.language == "csharp":
        yield from _csharp(facts)


def _python(facts: Facts) -> Iterator[tuple[Span, str]]:
    for call in facts.calls_named("asyncio.wait"):
        given = call.argument("return_when")
        scope = facts.function_of(call)
        if (
            given is None
            or scope is None
            or not given.value.text.endswith(("FIRST_COMPLETED", "FIRST_EXCEPTION"))
        ):
            continue
        # In a loop, the rest is waited for in the next round.
        if facts.loops_around(call) or call.is_returned or _ends_rest(scope, facts):
            continue
        if _uses_pending(call, scope, facts) or not _starts_several(scope, facts):
            continue
        yield call.span, "the tasks that have not ended go on after this: nothing cancels them"


def _starts_several(scope: Scope, facts: Facts) -> bool:
    """Return whether the tasks are started here: futures of others are not this function's to cancel."""
    started = [
        call for call in facts.own(facts.calls, scope) if call.method in ("create_task", "ensure_future")
    ]
    return len(started) > 1 or any(facts.loops_around(call) for call in started)


def _uses_pending(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the set of pending tasks is used after the wait."""
    names = [each for target in call.assigned for each in re.findall(r"\w+", target)]
    if len(names) < 2:
        return False
    rest = facts.text(Span(call.span.end, scope.body.end))
    return re.search(rf"(?<![\w.]){re.escape(names[1])}\b", rest) is not None and names[1] != "_"


def _ends_rest(scope: Scope, facts: Facts) -> bool:
    return _ENDS[facts.language].search(facts.text(scope.body)) is not None


def _rust(facts: Facts) -> Iterator[tuple[Span, str]]:
    for call in facts.calls_named("tokio.select", "select"):
        scope = facts.function_of(call)
        if scope is None or facts.loops_around(call) or _ends_rest(scope, facts):
            continue
        handles = [
            name.removeprefix("mut ")
            for each in facts.own(facts.calls, scope)
            if each.method == "spawn" and each.span.end < call.span.start
            for name in each.assigned
        ]
        text = facts.text(call.span)
        waited = [
            name for name in handles if re.search(rf"=\s*\(?(&mut\s+)?{re.escape(name)}\b\)?\s*=>", text)
        ]
        # One that is moved into the macro is detached as well: to drop a handle does not end its task.
        if len(waited) > 1:
            what = f"when {waited[0]} ends, {waited[1]} goes on, and the other way round: nothing aborts it"
            yield call.span, what


def _csharp(facts: Facts) -> Iterator[tuple[Span, str]]:
    for call in facts.calls_named("Task.WhenAny"):
        scope = facts.function_of(call)
        if scope is None or facts.loops_around(call) or _ends_rest(scope, facts) or len(call.positional) < 2:
            continue
        made = [_maker(each.value.text, call, facts) for each in call.positional]
        known = [each for each in made if each is not None and _repeats(each, facts)]
        if len(known) == len(made) and any(_is_endless(each, facts) for each in known):
            yield call.span, "the task that has not ended goes on after this: nothing cancels it"


def _maker(text: str, place: Call, facts: Facts) -> Scope | None:
    """Return the method of this text that makes a task."""
    texts = [each.value.text for each in facts.assignments_to(text, place) if each.value is not None] or [
        text
    ]
    found = re.match(r"(?:this\.)?(\w+)\(", texts[-1])
    named = () if found is None else facts.functions_named(found[1])
    return named[0] if len(named) == 1 else None


def _repeats(scope: Scope, facts: Facts) -> bool:
    return any(loop.kind in ("endless", "while") or loop.is_async for loop in facts.own(facts.loops, scope))


def _is_endless(scope: Scope, facts: Facts) -> bool:
    """Return whether nothing inside a method ends it; an `await foreach` waits for the next item."""
    return endless_loop(scope.body, facts) is not None or any(
        loop.is_async for loop in facts.own(facts.loops, scope)
    )
