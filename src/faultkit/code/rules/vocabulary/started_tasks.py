"""Endless tasks, threads, goroutines and timers, and the connection or call that they are started for.

    tokio::spawn(heartbeat(redis, user))    go h.heartbeat(conn)    new Timer(Ping, session, 0, 1000)

A task is endless if nothing in its loop leaves it. What ends it from outside is the matter of the rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Place, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.connections import CLIENT_NAMES, is_client, opens_connection
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.repetition import runs_once

_SPAWNS = {
    "rust": frozenset(("spawn", "spawn_local", "spawn_blocking")),
    "python": frozenset(("create_task", "ensure_future", "Thread", "submit")),
    "java": frozenset(("Thread", "submit", "execute", "runAsync", "startVirtualThread")),
    "kotlin": frozenset(("launch", "thread", "submit", "execute")),
    "csharp": frozenset(("Run", "StartNew", "Thread")),
}
_TIMER = "Timer"
"""A class of C# that repeats what it is given until it is disposed of."""
_RUNTIMES = lazy_regex(r"^(tokio|std\.thread|thread|async_std|smol|actix\w*|rt|task|tokio\.task)\b")
_ENDS_ITSELF = lazy_regex(
    r"select!|\?\s*[;)]|\.(recv|next|changed|cancelled|is_cancelled|is_closed|is_shutdown|upgrade)\(|CancellationToken"
    r"|\b(panic|runtime\.Goexit|os\.Exit|goto|System\.exit|ThrowIfCancellationRequested)\b"
)
_ONE_CLIENT = lazy_regex(r"(Session|Connection|Conn|Peer)$")
"""Names of types of which each client has an object."""
_UPGRADES = frozenset(("Upgrade", "AcceptWebSocketAsync", "SseEmitter", "prepare_websocket"))
_BEGINS = NamePattern(
    r"^_*(start|run|new|init|launch|spawn|setup|set_up|begin|serve|listen|schedule|main|install|bootstrap|enable"
    r"|create|build|make|with|configure|initiali[sz]e|resume)(?![a-z])|^(get_|get[A-Z]|Get[A-Z])|__init__|^constructor$",
    re.IGNORECASE,
)
_TEXTS = frozenset(("string", "String", "str", "&str", "&String", "Uuid", "UUID", "Guid", "uuid.UUID"))
_IO_NAMES = lazy_regex(
    r"\b(self\.)?_?(sock(et)?|conn(ection)?|ws|websocket|writer|stream|session|out(put)?|peer)\b"
)


@dataclass(frozen=True, slots=True)
class StartedTask:
    """A call that starts a task without an end, in a function that ends."""

    call: Call
    scope: Scope
    """The function that starts it."""
    body: Span
    """What runs: a lambda or a function of this text."""
    loop: Loop | None
    """Its endless loop; None for a timer."""
    of: str
    """What it is started for: `connection`, `request` or `call`."""


def endless_tasks(facts: Facts) -> Iterator[StartedTask]:
    """Yield the tasks without an end that are started again for each connection, request or call."""
    for call in _starts(facts):
        scope = facts.named_function_of(call)
        if scope is None:
            continue
        for body in _bodies(call, facts):
            loop = endless_loop(body, facts)
            if loop is None and call.method != _TIMER:
                continue
            if of := started_for(call, scope, body, loop, facts):
                yield StartedTask(call, scope, body, loop, of)
                break


def _starts(facts: Facts) -> Iterator[Call]:
    if facts.language == "go":
        yield from (call for call in facts.calls if call.is_launched)
        return
    methods = _SPAWNS.get(facts.language, frozenset())
    for call in facts.calls_of_method(*methods):
        if facts.language == "rust" and not _RUNTIMES.match(call.name):
            continue
        if facts.language == "csharp" and call.method != "Thread" and "Task" not in call.receiver:
            continue
        if (
            facts.language == "kotlin"
            and call.method == "launch"
            and call.receiver_written in ("", "this", "self")
        ):
            continue  # A child of the coroutine around it.
        yield call
    if facts.language == "csharp":
        yield from (call for call in facts.calls_of_method(_TIMER) if call.constructs and call.arguments)


def _bodies(call: Call, facts: Facts) -> Iterator[Span]:
    """Yield what a task runs: a function that is written here, or one of this text by its name."""
    if facts.language == "go":
        written = facts.function_at(call.callee)
        if written is not None:
            yield written.body
            return
        names = [call.written.rpartition(".")[2]]
    else:
        names = []
        for each in call.arguments:
            given = each.value
            if given.shape in ("function", "other", "call", "name", "object"):
                inner = facts.function_at(given.span)
                if inner is not None:
                    yield inner.body
                    return
                if facts.language == "rust" and given.text.startswith("async"):
                    yield given.span
                    return
                found = re.match(r"(?:this::|self::|Self::|self\.|this\.|\w+::)?_?\w+", given.text)
                if found is not None:
                    names.append(re.split(r"::|\.", found[0])[-1])
    for name in names:
        own = facts.functions_named(name)
        if len(own) == 1:
            yield own[0].body
            return
    if call.method == _TIMER:
        yield call.span


def endless_loop(body: Span, facts: Facts) -> Loop | None:
    """Return the loop of a task that nothing inside it leaves."""
    for loop in facts.within(facts.loops, body):
        around = [
            each
            for each in facts.within(facts.loops, body)
            if each is not loop and is_within(loop.span, each.body)
        ]
        if (
            around
            or not is_endless(loop, facts)
            or facts.function_of(loop) is not facts.function_of(Place(body))
        ):
            continue
        return None if _is_left(loop, facts) else loop
    return None


def is_endless(loop: Loop, facts: Facts) -> bool:
    """Return whether the head of a loop never ends it: `while true`, the ticks of a timer."""
    if loop.kind == "endless":
        return True
    if facts.language == "go":
        return loop.kind == "each" and (loop.over.endswith(".C") or loop.over.startswith("time.Tick("))
    condition = loop.over.strip("() ")
    if facts.language == "kotlin":
        return condition in (
            "isActive",
            "true",
            "currentCoroutineContext().isActive",
            "coroutineContext.isActive",
        )
    return (
        facts.language == "csharp"
        and re.fullmatch(r"await \w+\.WaitForNextTickAsync\(\)", condition) is not None
    )


def _is_left(loop: Loop, facts: Facts) -> bool:
    text = facts.text(loop.body)
    if _ENDS_ITSELF.search(text):
        return True
    if facts.language == "go" and re.search(r"<-\s*(?!\w*[tT]ick\w*\.C|time\.(After|Tick)\(|t\.C)", text):
        return True
    owner = facts.function_of(loop)
    return any(
        step.kind in ("return", "break", "raise") and facts.function_of(step) is owner
        for step in facts.within(facts.steps, loop.body)
    )


def started_for(call: Call, scope: Scope, body: Span, loop: Loop | None, facts: Facts) -> str:
    """Return what a task is started for again and again; empty if nothing shows that it is."""
    route = facts.route_of(call)
    of_client = (
        opens_connection(scope)
        or any(is_client(one.type) for one in scope.parameters)
        or any(one.name.lstrip("_") in CLIENT_NAMES and not one.type for one in scope.parameters)
        or (
            _ONE_CLIENT.search(scope.owner) is not None
            and scope.short_name not in ("__init__", "constructor")
        )
        or any(each.method in _UPGRADES for each in facts.within(facts.calls, scope.body))
        or any(each.method.startswith(("webSocket", "sse")) for each in facts.calls_around(call))
    )
    if of_client and not _fails_with_connection(scope, loop, facts):
        return "connection"
    if of_client:
        return ""
    if route is not None:
        return "request"
    if runs_once(scope) or _BEGINS.match(scope.short_name) or facts.loops_around(call):
        return ""
    return "call" if _uses_text(call, scope, body, loop, facts) else ""


def _uses_text(call: Call, scope: Scope, body: Span, loop: Loop | None, facts: Facts) -> bool:
    """Return whether the task works on a text that its function was given: a key, a user, a symbol."""
    names = {one.name for one in scope.parameters if one.type.removesuffix("?") in _TEXTS}
    place = facts.text(call.span)
    if call.method == _TIMER and call.assigned:
        handlers = [one for one in facts.assignments if one.targets == (f"{call.assigned[0]}.Elapsed",)]
        texts = " ".join(facts.text(one.span) for one in handlers)
        if any(re.search(rf"(?<![\w.]){re.escape(name)}\b", texts) for name in names):
            return True
    if not names or not is_within(body, call.span):
        return any(re.search(rf"[(,]\s*&?{re.escape(name)}\b", place) for name in names)
    span = body if loop is None else loop.body
    return any(
        re.search(rf"(?<![\w.]){re.escape(name)}\b", argument.value.text)
        for each in facts.within(facts.calls, span)
        if not is_logging(each)
        for argument in each.arguments
        for name in names
    )


def _fails_with_connection(scope: Scope, loop: Loop | None, facts: Facts) -> bool:
    """Return whether an error of the closed connection leaves the loop of the task."""
    if facts.language in ("go", "rust") or loop is None:
        return False
    names = {one.name for one in scope.parameters if one.name in CLIENT_NAMES or is_client(one.type)}
    for each in facts.within(facts.calls, loop.body):
        uses = each.receiver_written.partition(".")[0] in names or _IO_NAMES.search(each.receiver_written)
        caught = [
            one
            for one in facts.tries_around(each)
            if is_within(one.span, loop.body)
            and any(handler.is_broad or handler.types for handler in one.handlers)
        ]
        if uses and not is_logging(each) and not caught:
            return True
    return False
