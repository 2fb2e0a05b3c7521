"""Finds C# methods whose errors end the process: `async void`.

Evidence that it matters: something is awaited outside of every try, and the program has no screen.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.repetition import is_for_screen

_VOID = lazy_regex(r"\basync\s+(?:\w+\s+)*void\s+\w+|\bvoid\s+\w+")


_SERVICE = lazy_regex(
    r"\b(Microsoft\.Extensions|Microsoft\.AspNetCore|IHostedService|BackgroundService|ILogger)\b"
)
"""Words of programs without a screen, whose events come from brokers, timers and feeds."""
_TAKES_ACTION = lazy_regex(
    r"(^|\.)(ForEach|Parallel\.(For|ForEach|Invoke)|Timer|Thread|StartNew|QueueUserWorkItem|UnsafeQueueUserWorkItem"
    r"|ChangeToken\.OnChange|PosixSignalRegistration\.Create|RegisterWaitForSingleObject)$"
)
"""Calls whose lambda returns nothing, so that an async one is `async void`."""
_REGISTERS = lazy_regex(r"(Token|Stopping|Started|Stopped|RequestAborted)$")
"""Tokens of cancellation: what is registered with them is an action."""
_SUBSCRIBES = frozenset(("Subscribe", "SubscribeAsync"))
_WITH_ACTIONS = lazy_regex(r"\busing\s+(StackExchange\.Redis|System\.Reactive|R3|NATS\.Client\s*;)")
"""Libraries whose Subscribe takes an action."""
_AWAITED_EVENTS = lazy_regex(r"Async$")
"""Events whose handlers return a task: `ProcessMessageAsync`, `ReceivedAsync`."""
_OF_HUB = lazy_regex(r"\.(?:Closed|Reconnecting|Reconnected)$")
"""Events of a `HubConnection` of SignalR, whose handlers return a task."""
_CLICK = lazy_regex(r"^On\w*Click(?:ed)?$")


def _check(facts: Facts) -> Iterator[Hit]:
    # Frameworks of screens call methods by name or from the screen, where nothing could await them.
    if is_for_screen(facts):
        return
    for scope in facts.scopes:
        if not scope.is_async or not scope.name:
            continue
        head = Span(scope.span.start, scope.body.start)
        text = facts.text(head)
        found = _VOID.search(text)
        if found is None or "override" in text or _catches_all(scope, facts):
            continue
        if _handles_event(scope) and not _SERVICE.search(facts.whole_text):
            continue
        place = Span(facts.syntax.place_of(found, head.start).start, head.end)
        yield Hit(place, f"an error in {scope.short_name}() cannot be caught and ends the process", LIKELY)
    yield from _lambdas(facts)


def _handles_event(scope: Scope) -> bool:
    types = [each.type for each in scope.parameters]
    if _CLICK.match(scope.short_name):
        return True
    return (len(types) == 2 and types[1].endswith("Args")) or "sender" in {
        each.name.lower() for each in scope.parameters
    }


def _lambdas(facts: Facts) -> Iterator[Hit]:
    """Yield async lambdas that are given as actions or added to events."""
    given = [
        argument.value for call in facts.calls if _takes_action(call, facts) for argument in call.arguments
    ]
    events = [
        each.value
        for each in facts.assignments
        if each.operator == "+="
        and each.value is not None
        and "." in "".join(each.targets)
        and not _AWAITED_EVENTS.search(each.targets[0])
        and not (each.targets[0].endswith(".Received") and "AsyncEventing" in facts.whole_text)
        and not (_OF_HUB.search(each.targets[0]) and "HubConnection" in facts.whole_text)
    ]
    given += events
    given += [
        each.value
        for each in facts.assignments
        if each.value is not None
        and each.type.rpartition(".")[2] in ("Action", "TimerCallback", "WaitCallback")
    ]
    seen = set[tuple[Scope | None, str]]()
    for value in given:
        if value.shape != "function" or not value.text.startswith("async"):
            continue
        scope = facts.function_at(value.span)
        if scope is not None and not _catches_all(scope, facts):
            # Several that do the same for different events have one cause.
            awaited = " ".join(call.written for call in facts.own(facts.calls, scope) if call.is_awaited)
            if value in events:
                if (scope.outer, awaited) in seen:
                    continue
                seen.add((scope.outer, awaited))
            what = "an error in this async lambda cannot be caught and ends the process"
            yield Hit(Span(value.span.start, scope.body.start), what, LIKELY)


def _takes_action(call: Call, facts: Facts) -> bool:
    if _TAKES_ACTION.search(call.name) or (call.method in ("ForEach", "OnChange") and call.receiver):
        return True
    if call.method == "Register":
        return _REGISTERS.search(call.receiver_written) is not None
    return call.method in _SUBSCRIBES and _WITH_ACTIONS.search(facts.whole_text) is not None


def _catches_all(scope: Scope, facts: Facts, levels: int = 2) -> bool:
    """Return whether a broad handler is around everything that is awaited, here or in a method that is
    called."""
    awaited = [call for call in facts.own(facts.calls, scope) if call.is_awaited]
    if not awaited:
        awaited = list(facts.own(facts.calls, scope))
    return all(
        any(
            is_within(call.span, each.body) and any(handler.is_broad for handler in each.handlers)
            for each in facts.within(facts.tries, scope.body)
        )
        or any(is_within(call.span, handler.body) for each in facts.tries for handler in each.handlers)
        or is_logging(call)
        or (levels > 0 and _catches_own_errors(call, facts, levels - 1))
        for call in awaited
    )


def _catches_own_errors(call: Call, facts: Facts, levels: int) -> bool:
    """Return whether a method of this text is called that catches its own errors."""
    if call.receiver not in ("", "self", "this"):
        return False
    called = [scope for scope in facts.functions_named(call.method) if scope.is_async]
    return bool(called) and all(_catches_all(scope, facts, levels) for scope in called)


RULE = Rule(
    id="FK-R072",
    slug="async-void",
    title="Async method that nothing can await",
    why="An exception in it has no caller to go to: it ends the process. Nothing can wait for its end.",
    fix="Return Task and await it; keep async void for handlers of events, with a try around all of it.",
    kind="reliability",
    severity="high",
    languages=CSHARP,
    check=_check,
)
