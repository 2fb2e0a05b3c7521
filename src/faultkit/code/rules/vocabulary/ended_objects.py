"""Listeners and timers of objects and connections that end, while what they listen to lives on.

class Session : IDisposable {                       callbackFlow {
    Session(Feed feed) { feed.Tick += OnTick; }         hub.add(listener)
    void Dispose() { _client.Close(); }                 awaitClose { }
}                                                   }
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.connections import is_of_connection
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.repetition import frequency_of, is_for_screen

_ADDS = NamePattern(
    r"^(add|Add)(\w*(Listener|Observer|Handler|Callback|Subscriber|Watcher|Client))?$"
    r"|^(register|Register)(\w*(Listener|Observer|Callback|Handler|Client))?$|^(add|register)_(listener|observer|callback"
    r"|handler|subscriber|client)$|^(subscribe|Subscribe|on|attach|observe|connect|join)$"
)
_CLEARLY = re.compile(r"listener|observer|callback|subscribe|subscriber|watcher", re.IGNORECASE)
_REMOVES = re.compile(
    r"\b(remove\w*|Remove\w*|un_?register\w*|Unregister\w*|un_?subscribe\w*|Unsubscribe\w*|deregister\w*|detach\w*"
    r"|off|dispose\w*|Dispose\w*|discard|cancel\w*|Cancel\w*|disconnect\w*|leave|Leave|unsub\w*|takeUntil\w*|delete"
    r"|close|Close|takeWhile|first|take|release)\s*\(|\bonce\s*:\s*true|\bminus(Assign)?\b|-=|takeUntil|using\s+var"
)
_TAKES_AWAY = re.compile(
    r"\b(remove\w*|Remove\w*|un_?register\w*|Unregister\w*|un_?subscribe\w*|Unsubscribe\w*|deregister\w*|detach\w*|off"
    r"|takeUntil\w*|discard|unsub\w*|disconnect\w*|stopObserving)\s*\(|-=|takeUntil"
)
_ENDS = frozenset(
    ("close", "onClose", "dispose", "destroy", "stop", "shutdown", "disconnect", "end", "leave", "onDestroy",
     "onDisconnect", "Dispose", "DisposeAsync", "Close", "CloseAsync", "Stop", "StopAsync", "Disconnect",
     "OnDisconnectedAsync", "afterConnectionClosed", "teardown", "ngOnDestroy", "onModuleDestroy",
     "terminate", "disconnectedCallback", "handleDisconnect", "onDisconnected", "preDestroy", "cleanup")
)  # fmt: skip
"""Methods that end an object."""
_BEGINS = re.compile(
    r"^(constructor|_?(start|connect|open|init|run|listen|begin|set_?up|join|attach|on[A-Z])\w*)$"
)
_TIMERS = re.compile(r"^(System\.(Threading|Timers)\.)?(Timer|PeriodicTimer)$")


@dataclass(frozen=True, slots=True)
class Kept:
    """A listener or timer that stays after its object or connection has ended."""

    span: Span
    what: str


def kept_listeners_of_ended(facts: Facts) -> Iterator[Kept]:
    """Yield listeners that nothing removes when their object, connection or flow ends."""
    if facts.language == "csharp" and not is_for_screen(facts):
        yield from _events(facts)
    if facts.language == "kotlin":
        yield from _callback_flows(facts)
    if facts.language in ("java", "kotlin", "typescript", "javascript", "tsx") and not is_for_screen(facts):
        yield from _added(facts)


def _events(facts: Facts) -> Iterator[Kept]:
    """Yield `feed.Updated += OnUpdated` without `-=` (C#)."""
    text = facts.whole_text
    for each in facts.assignments:
        if each.operator != "+=" or each.scope is None or each.value is None or "." not in each.targets[0]:
            continue
        target = each.targets[0].removeprefix("self.")
        source, _, event = target.rpartition(".")
        is_handler = each.value.shape == "function" or bool(facts.functions_named(each.value.text))
        if not source or not event[:1].isupper() or not is_handler:
            continue
        if re.search(rf"\b{re.escape(event)}\s*-=", text) or not _is_given(source, each.scope, facts):
            continue
        ends = _ends_of(each.scope.owner, facts)
        often = frequency_of(each, facts) in ("request", "message")
        if often or (ends and each.scope.short_name not in _ENDS):
            what = f"{target} keeps this handler after the {'request' if often else 'object'} has ended"
            yield Kept(each.span, what)


def _is_given(source: str, scope: Scope, facts: Facts) -> bool:
    """Return whether an object comes from outside: a parameter, or a field that a constructor was given."""
    head = source.partition(".")[0]
    if any(one.name == head for one in scope.parameters):
        return True
    maker = [
        each
        for each in facts.assignments
        if each.owner == scope.owner
        and each.targets[0].removeprefix("self.") == head
        and each.value is not None
    ]
    if any(each.call is not None and each.call.constructs for each in maker):
        return False
    is_given = any(
        one.name == head.lstrip("_")
        for other in facts.functions_named("constructor", "__init__", scope.owner.rpartition(".")[2])
        if other.owner == scope.owner
        for one in other.parameters
    )
    name = re.escape(scope.owner.rpartition(".")[2])
    return (
        is_given
        or re.search(
            rf"\bclass\s+{name}\s*(?:@Inject\s*constructor\s*)?\([^)]*\b{re.escape(head.lstrip('_'))}\b",
            facts.whole_text,
        )
        is not None
        or any(
            each.value.shape == "name" and each.value.text == head.lstrip("_") for each in maker if each.value
        )
    )


def _ends_of(owner: str, facts: Facts) -> list[Scope]:
    """Return the methods that end an object of a class."""
    return [scope for scope in facts.functions_named(*_ENDS) if owner and scope.owner == owner]


def _callback_flows(facts: Facts) -> Iterator[Kept]:
    """Yield flows of Kotlin that add a listener, and whose `awaitClose` removes nothing."""
    for flow in facts.calls_of_method("callbackFlow", "channelFlow"):
        ends = [call for call in facts.within(facts.calls, flow.span) if call.method == "awaitClose"]
        if not ends or _REMOVES.search(facts.text(ends[-1].span)):
            continue
        for call in facts.within(facts.calls, flow.span):
            if call is flow or call.span.start >= ends[-1].span.start or not _ADDS.match(call.method):
                continue
            if call.span.start < flow.callee.end or any(
                each is ends[-1] for each in facts.calls_around(call)
            ):
                continue
            yield Kept(call.span, f"{call.written}() adds a listener, and awaitClose does not remove it")
            break


def _added(facts: Facts) -> Iterator[Kept]:
    """Yield listeners that are added to a given object, in a file that removes none."""
    for call in facts.calls:
        if not _ADDS.match(call.method) or not call.receiver_written:
            continue
        if call.assigned or call.is_returned:
            continue
        scope = facts.named_function_of(call)
        if scope is None or not _has_function(call, facts):
            continue
        source = call.receiver_written.removeprefix("this.").removeprefix("self.")
        head = source.partition(".")[0].partition("(")[0]
        if call.method in ("on", "add", "register", "connect", "join", "attach") and not _is_shared_name(
            source
        ):
            continue
        makers = ("constructor", scope.owner.rpartition(".")[2])
        if any(one.name == head for one in scope.parameters) and scope.short_name not in makers:
            continue  # What a method is given is as old as what it is given with.
        is_given = _is_given(head, scope, facts)
        if not (is_given or head in facts.file_names or f"self.{head}" in facts.file_names):
            continue
        # To search the whole text takes long: it comes last.
        if _TAKES_AWAY.search(facts.whole_text):
            return
        if is_of_connection(scope):
            yield Kept(
                call.callee, f"{call.written}() adds a listener for every connection, and none is removed"
            )
        elif (
            scope.short_name in ("constructor", scope.owner.rpartition(".")[2])
            and is_given
            and _ends_of(scope.owner, facts)
        ):
            yield Kept(call.callee, f"{call.written}() keeps this listener after the object has ended")


def _is_shared_name(source: str) -> bool:
    return (
        re.search(r"(bus|emitter|events|hub|feed|pubsub|broker|registry|notifier)$", source, re.IGNORECASE)
        is not None
    )


def _has_function(call: Call, facts: Facts) -> bool:
    """Return whether a call is given a function, or a method, to call."""
    if not call.positional:
        return False
    last = call.positional[-1].value
    return (
        last.shape == "function"
        or "::" in last.text
        or (_CLEARLY.search(call.method) is not None and last.shape in ("name", "call"))
    )


_OF_ONE_CLIENT = re.compile(r"(Session|Connection|Subscription|Socket|Peer|Room|Stream)$")
"""Names of types of which each client has an object."""


def kept_timers_of_ended(facts: Facts) -> Iterator[Kept]:
    """Yield timers of an object that has an end, which nothing stops."""
    if facts.language == "csharp" and not is_for_screen(facts):
        for each in facts.assignments:
            call = each.call
            made = (
                call is not None
                and call.constructs
                and (_TIMERS.match(call.name) or _TIMERS.match(each.type))
            )
            if call is None or not made or not each.owner:
                continue
            if not _ends_of(each.owner, facts) and not _OF_ONE_CLIENT.search(each.owner):
                continue
            name = each.targets[0].removeprefix("self.")
            is_field = any(
                one.scope is None and one.owner == each.owner and one.targets[0].removeprefix("self.") == name
                for one in facts.assignments
            )
            word = re.escape(name)
            stops = rf"\b{word}\??\.(Dispose\w*|Stop|Change|Close)\b|\busing\b[^;\n]*\b{word}\b"
            if is_field and not re.search(stops, facts.whole_text):
                yield Kept(call.span, f"{name} goes on after its object has ended")
    if facts.language in ("javascript", "typescript", "tsx"):
        text = facts.whole_text
        if "clearInterval" in text or "clearTimeout" in text or "unref" in text:
            return
        for call in facts.calls_of_method("setInterval"):
            scope = facts.named_function_of(call)
            if scope is None or not _BEGINS.match(scope.short_name) or call.is_returned:
                continue
            ends = {each.short_name for each in _ends_of(scope.owner, facts)}
            # What can connect again has not ended, and its timers were not started with the connection.
            again = scope.short_name == "constructor" and any(
                each.owner == scope.owner for each in facts.functions_named("connect", "reconnect")
            )
            if ends - {"disconnect"} or (ends and not again):
                yield Kept(call.callee, f"{call.written}() goes on after its object has ended")
