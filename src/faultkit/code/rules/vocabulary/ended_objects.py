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

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Value, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.kept_clients import captures_client, kept_in_collections
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.removals import is_known_function, is_taken_away
from faultkit.code.rules.vocabulary.repetition import frequency_of, is_for_screen
from faultkit.code.rules.vocabulary.request_scopes import is_made_per_request
from faultkit.code.rules.vocabulary.short_lives import gives_endless, outlives, repeated_around
from faultkit.code.rules.vocabulary.singletons import singletons
from faultkit.code.rules.vocabulary.subscriptions import is_abort

_ADDS = NamePattern(
    r"^(add|Add)(\w*(Listener|Observer|Handler|Callback|Subscriber|Watcher|Client))?$"
    r"|^(register|Register)(\w*(Listener|Observer|Callback|Handler|Client))?$|^(add|register)_(listener|observer|callback"
    r"|handler|subscriber|client)$|^(subscribe|Subscribe|on|attach|observe|connect|join)$"
)
_CLEARLY = NamePattern(r"listener|observer|callback|subscriber|watcher|handler", re.IGNORECASE)
_GENERAL = frozenset(("on", "add", "register", "connect", "join", "attach", "Add", "Register"))
_SCRIPTS = ("typescript", "javascript", "tsx")
_REMOVES = lazy_regex(
    r"\b(remove\w*|Remove\w*|un_?register\w*|Unregister\w*|un_?subscribe\w*|Unsubscribe\w*|deregister\w*|detach\w*"
    r"|off|dispose\w*|Dispose\w*|discard|cancel\w*|Cancel\w*|disconnect\w*|leave|Leave|unsub\w*|takeUntil\w*|delete"
    r"|close|Close|takeWhile|first|take|release)\s*\(|\bonce\s*:\s*true|\bminus(Assign)?\b|-=|takeUntil|using\s+var"
)
_TAKES_AWAY = lazy_regex(
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
_BEGINS = lazy_regex(
    r"^(constructor|_?(start|connect|open|init|run|listen|begin|set_?up|join|attach|on[A-Z])\w*)$"
)
_TIMERS = lazy_regex(r"^(System\.(Threading|Timers)\.)?(Timer|PeriodicTimer)$")


@dataclass(frozen=True, slots=True)
class Kept:
    """A listener or timer that stays after its object or connection has ended."""

    span: Span
    what: str


def kept_listeners_of_ended(facts: Facts) -> Iterator[Kept]:
    """Yield listeners that nothing removes when their object, connection or flow ends."""
    if facts.language == "csharp" and not is_for_screen(facts):
        yield from _events(facts)
        yield from _registrations(facts)
    if not is_for_screen(facts):
        yield from (Kept(span, what) for span, what in kept_in_collections(facts))
    if facts.language == "kotlin":
        yield from _callback_flows(facts)
    if facts.language in ("java", "kotlin", "go", "python", *_SCRIPTS) and not is_for_screen(facts):
        yield from _added(facts)
        yield from _kept_in_variables(facts)
        yield from _kept_for_the_end(facts)


_DELEGATE = lazy_regex(r"(^|\.)(Action|Func|\w*(Event)?Handler|\w*Delegate)\b")


def _events(facts: Facts) -> Iterator[Kept]:
    """Yield `feed.Updated += OnUpdated` without `-=` (C#)."""
    text = facts.whole_text
    for each in facts.assignments:
        if each.operator != "+=" or each.scope is None or each.value is None or "." not in each.targets[0]:
            continue
        target = each.targets[0].removeprefix("self.")
        source, _, event = target.rpartition(".")
        is_handler = each.value.shape == "function" or bool(facts.functions_named(each.value.text))
        is_handler = is_handler or any(
            (one.value is not None and one.value.shape == "function") or _DELEGATE.search(one.type)
            for one in facts.assignments_to(each.value.text, each)
            if one.scope is not None
        )
        if not source or not event[:1].isupper() or not is_handler:
            continue
        if re.search(rf"\b{re.escape(event)}\s*-=", text):
            continue
        run = repeated_around(each, facts)
        often = run is not None and outlives(source, each, run, facts)
        if not often and not _is_given(source, each.scope, facts):
            continue
        ends = _ends_of(each.scope.owner, facts)
        often = often or frequency_of(each, facts) in ("request", "message")
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
        and "".join(each.targets[:1]).removeprefix("self.") == head
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


_REGISTERS = ("OnChange", "Register", "UnsafeRegister", "RegisterChangeCallback", "Subscribe")
"""Calls of .NET that return what ends them."""
_PER_REQUEST = lazy_regex(r"(Controller|ControllerBase|PageModel|ViewComponent|ComponentBase|Hub)$")


def _registrations(facts: Facts) -> Iterator[Kept]:
    """Yield callbacks whose registration is dropped, of objects or methods that live shorter (C#)."""
    for call in facts.calls_of_method(*_REGISTERS):
        if not call.is_discarded or not call.receiver_written or _listener_of(call, facts) is None:
            continue
        scope = facts.named_function_of(call)
        if scope is None:
            continue
        run = repeated_around(call, facts)
        source = call.receiver_written
        if run is not None and (
            outlives(source, call, run, facts) or gives_endless(source, call, run, facts)
        ):
            yield Kept(call.callee, f"{call.written}() keeps this callback after the {run.of} has ended")
            continue
        owner = scope.owner.rpartition(".")[2]
        head = call.receiver_written.removeprefix("self.").partition(".")[0]
        if run is None and _is_for_one_call(call, call.positional[-1].value, scope, facts):
            yield Kept(call.callee, f"{call.written}() keeps this callback after the call has ended")
            continue
        if scope.short_name != owner or not (head[:1].isupper() or _is_given(head, scope, facts)):
            continue
        bases = facts.classes.get(scope.owner, ())
        if (
            is_made_per_request(owner, facts)
            or any(_PER_REQUEST.search(base) for base in bases)
            or (_ends_of(scope.owner, facts) and owner not in singletons(facts))
        ):
            what = f"{call.written}() keeps this callback, and the object with it, after the object has ended"
            yield Kept(call.callee, what)


_SUBSCRIBES = NamePattern(
    r"^(p?[sS]ubscribe|(Chan|Queue)?Subscribe(Sync)?|pSubscribe|watch|Watch|addWatcher|observe)$"
)
_CANCELS = lazy_regex(r"\b\w*(ctx|context|signal|token|cancel)\b", re.IGNORECASE)
_ENDED = (
    r"(?<![\w.]){name}\s*(?:[?!]*\.\s*(?:[uU]n\w+|close|Close|[sS]top|[cC]ancel|[dD]ispose|Drain|remove\w*|off|end|destroy"
    r"|aclose|shutdown|quit|return|next|collect|to_\w+|AutoUnsubscribe)\w*\b|::|\()"
    r"|(?<!len)[(,\[{{:=]\s*(?:&|\*|\.\.\.)?{name}\s*[,)\]}};\n]|\breturn\b[^\n]*(?<![\w.]){name}\b"
    r"|\b(?:with|using)\b[^\n]*(?<![\w.]){name}\b|\byield\s+{name}\b(?!\.)"
)
"""Uses of a subscription that end it, or hand it on to what may."""


def _kept_in_variables(facts: Facts) -> Iterator[Kept]:
    """Yield subscriptions that are kept in a variable, which nothing ends: `ch := hub.Subscribe(room)`."""
    for call in facts.calls_with_method(_SUBSCRIBES.match):
        if not call.receiver_written or not call.assigned:
            continue
        name = call.assigned[0]
        if call.is_managed or call.is_returned or not name.isidentifier():
            continue
        if any(_CANCELS.search(each.value.text) for each in call.arguments if each.value.shape != "function"):
            continue
        run = repeated_around(call, facts)
        scope = facts.function_of(call)
        if run is None or scope is None or not outlives(call.receiver_written, call, run, facts):
            continue
        after = facts.text(Span(call.span.end, run.scope.body.end))
        # `events, unsubscribe := hub.Subscribe()`
        ends = [one for one in call.assigned[1:] if one.isidentifier() and one not in ("_", "err")]
        if any(re.search(rf"(?<![\w.]){re.escape(one)}\b", after) for one in ends):
            continue
        if name == "_" or not re.search(_ENDED.format(name=re.escape(name)), after):
            yield Kept(call.callee, f"nothing ends the subscription of {call.written}() with the {run.of}")


_AT_END = frozenset(("addShutdownHook", "deleteOnExit", "register"))


def _kept_for_the_end(facts: Facts) -> Iterator[Kept]:
    """Yield what a request leaves to be done when the process ends."""
    for call in facts.calls_of_method(*_AT_END):
        if call.method == "register" and call.name != "atexit.register":
            continue
        run = repeated_around(call, facts)
        if run is not None:
            yield Kept(call.callee, f"what {call.written}() is given for every {run.of} stays until the end")


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
    """Yield listeners that are added to an object that lives longer, and that nothing removes from it."""
    for call in facts.calls_with_method(_ADDS.match):
        if not call.receiver_written:
            continue
        if call.assigned or ((call.is_returned or call.is_argument) and not _is_all_of_lambda(call, facts)):
            continue
        # `Futures.addCallback(future, …)`: the callback goes with its future.
        if is_abort(call) or call.receiver_written == "Futures":
            continue
        scope = facts.named_function_of(call)
        given = _listener_of(call, facts)
        if scope is None or given is None:
            continue
        source = call.receiver_written.removeprefix("this.").removeprefix("self.")
        run = None if facts.language in _SCRIPTS else repeated_around(call, facts)
        if call.method in _GENERAL and not (
            _is_shared_name(source)
            or _connects(call, facts)
            or (run is not None and captures_client(given, call, run, facts))
        ):
            continue
        if run is not None:
            if outlives(call.receiver_written, call, run, facts) and not is_taken_away(call, given, facts):
                what = f"{call.written}() adds a listener for every {run.of}, and none is removed"
                yield Kept(call.callee, what)
            continue
        if _is_for_one_call(call, given, scope, facts) and not is_taken_away(call, given, facts):
            yield Kept(call.callee, f"{call.written}() adds a listener for every call, and none is removed")
            continue
        head = source.partition(".")[0].partition("(")[0]
        makes = scope.short_name in ("constructor", "__init__", scope.owner.rpartition(".")[2])
        given_to_end = makes and bool(_ends_of(scope.owner, facts)) and _is_given(head, scope, facts)
        if given_to_end and not _TAKES_AWAY.search(facts.whole_text):
            yield Kept(call.callee, f"{call.written}() keeps this listener after the object has ended")


def _is_all_of_lambda(call: Call, facts: Facts) -> bool:
    """Return whether a call is all that a lambda does: `Flux.create(sink -> hub.addListener(sink::next))`."""
    scope = facts.function_of(call)
    if scope is None or not scope.is_anonymous or facts.language in _SCRIPTS:
        return False
    end = "} \n\t;"
    is_last = facts.text(scope.body).rstrip(end).endswith(facts.text(call.span).rstrip(end))
    return is_last and any(each.method in ("create", "push") for each in facts.calls_around(call))


_STARTS = lazy_regex(
    r"_?(start|run_forever|init|begin|open|listen|connect|setup|set_up|attach|serve|main|on[A-Z_])", re.I
)


def _is_for_one_call(call: Call, given: Value, scope: Scope, facts: Facts) -> bool:
    """Return whether a listener works for one call of an async method: it uses a variable of the call, which
    waits for its work after it has added the listener to an object that lives longer."""
    path = call.receiver_written.removeprefix("this.").removeprefix("self.")
    own = [one.name for one in scope.parameters if one.name not in ("self", "cls")]
    if not scope.is_async or not own or not scope.owner or _STARTS.match(scope.short_name):
        return False
    if facts.function_of(call) is not scope or not _is_given(path.partition(".")[0], scope, facts):
        return False
    rest = Span(call.span.end, scope.body.end)
    waits = any(
        each.is_awaited and facts.function_of(each) is scope for each in facts.within(facts.calls, rest)
    ) or any(loop.is_async for loop in facts.within(facts.loops, rest))
    if not waits or path.partition(".")[0] in own:
        return False
    text = given.text
    if given.shape == "name":
        inner = [each for each in facts.functions_named(text) if is_within(each.span, scope.body)]
        text = facts.text(inner[0].body) if inner else ""
    local = {*own} | {
        target
        for each in facts.own(facts.assignments, scope)
        for target in each.targets
        if target.isidentifier()
    }
    return any(re.search(rf"(?<![\w.]){re.escape(name)}\b", text) for name in local)


def _connects(call: Call, facts: Facts) -> bool:
    """Return whether a signal of Python is connected: `paid.connect(on_paid)`."""
    return facts.language == "python" and call.method == "connect" and len(call.positional) == 1


def _is_shared_name(source: str) -> bool:
    return (
        re.search(r"(bus|emitter|events|hub|feed|pubsub|broker|registry|notifier)$", source, re.IGNORECASE)
        is not None
    )


def _listener_of(call: Call, facts: Facts) -> Value | None:
    """Return the function or listener that a call is given to call later."""
    clearly = _CLEARLY.search(call.method) is not None
    for each in call.positional:
        given = each.value
        if given.shape == "function" or "::" in given.text or (clearly and given.shape in ("name", "call")):
            return given
        if facts.language in ("python", "go") and given.shape == "name" and is_known_function(given, facts):
            return given
    return None


_OF_ONE_CLIENT = lazy_regex(r"(Session|Connection|Subscription|Socket|Peer|Room|Stream)$")
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
