"""JavaScript: finds async functions that are given to code that ignores their promises.

Evidence that it matters: the function awaits something that may fail, and a timer, a promise or an emitter of
a library calls it. An object of the program itself may wait for its listeners.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Argument, Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CERTAIN, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.command_lines import is_command_line, is_for_browser
from faultkit.code.rules.vocabulary.rejections import may_reject

_TIMERS = frozenset({"setInterval", "setTimeout", "setImmediate", "process.nextTick", "queueMicrotask"})
_SCHEDULES = frozenset({"schedule", "scheduleJob", "CronJob", "Cron"})
_CRON = lazy_regex(r"@\w+|[\d*/,\-?LW#A-Z]+(?:\s+[\d*/,\-?LW#A-Z]+){4,5}")
_LISTENS = frozenset(("on", "once", "addListener", "prependListener"))
_WITH_CATCH = lazy_regex(
    r"(^|[._])(\w*[bB]ot|app|probot|router|hooks|agenda|program|page|browser|test|suite|emittery|inngest|\$)$|\("
)
"""Receivers whose frameworks wait for the listener."""
_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
_CATCHES = lazy_regex(r"\.catch\s*\(")


def _check(facts: Facts) -> Iterator[Hit]:
    if b"async" not in facts.syntax.source:
        return
    in_browser = is_for_browser(facts)
    yield from _unawaited_rounds(facts)
    for call in facts.calls:
        given = _given(call, in_browser)
        if given is not None and (kept := _kept_promise(given, facts)) is not None:
            what = f"a rejection of {kept.written}() is handled by nothing in time"
            yield Hit(kept.span, what, LIKELY)
            continue
        scope = None if given is None else _scope_of(given, facts)
        if scope is None or not may_reject(scope, facts):
            continue
        if call.name == "Promise":
            what = "an error in this async function leaves the promise pending for ever"
            yield Hit(call.callee, what, CERTAIN)
        else:
            what = f"{call.written}() ignores the promise of this function: nothing here handles a rejection"
            of_user = _is_own_socket(call, facts) or is_command_line(facts)
            yield Hit(call.callee, what, POSSIBLE if of_user or _may_wait(call) else LIKELY)


_OWN_EMITTER = lazy_regex(r"[A-Z][a-z]\w*(?:\.\w+)*$")


def _may_wait(call: Call) -> bool:
    """Return whether what is called may look at the promise: a class or module of the program itself, such as
    `Lifecycle.events.on(…)`, or node-cron, which does since version 2."""
    if call.method == "schedule":
        return call.receiver_written == "cron" or call.receiver.startswith("node-cron")
    return call.method in _LISTENS and _OWN_EMITTER.match(call.receiver_written) is not None


def _is_own_socket(call: Call, facts: Facts) -> bool:
    """Return whether a module of the program has the one socket, as in a client that runs for its user.

    A server gets its sockets one by one, as arguments."""
    name = call.receiver_written
    return name in ("socket", "ws", "io") and facts.imports.names.get(name, "").startswith(".")


def _unawaited_rounds(facts: Facts) -> Iterator[Hit]:
    """Yield `items.forEach(async …)` that catches its errors, before code that takes the work for done."""
    for call in facts.calls_of_method("forEach"):
        given = call.argument(place=0)
        scope = None if given is None else _scope_of(given, facts)
        around = facts.function_of(call)
        if scope is None or around is None or not around.is_async or may_reject(scope, facts):
            continue
        kinds = {step.kind for step in facts.within(facts.steps, Span(call.span.end, around.body.end))}
        awaits = any(step.kind == "await" for step in facts.within(facts.steps, scope.body))
        if awaits and kinds & {"await", "raise"}:
            what = f"{call.written}() does not wait for this function: what follows runs before it is done"
            yield Hit(Span(call.callee.start, scope.body.start), what, LIKELY)


def _given(call: Call, in_browser: bool) -> Argument | None:
    """Return the async function that a call is given and whose promise it ignores."""
    if call.name == "Promise" or call.name in _TIMERS:
        return call.argument(place=0)
    if in_browser:
        return None
    if call.method in _SCHEDULES:
        when = call.argument(place=0)
        is_cron = when is not None and _CRON.fullmatch(when.value.literal) is not None
        return call.positional[-1] if is_cron and len(call.positional) > 1 else None
    if call.method not in _LISTENS:
        return None
    first = call.argument(place=0)
    if first is None or first.value.shape != "text" or first.value.literal in _SIGNALS:
        return None  # After a signal the process ends anyway.
    return None if _WITH_CATCH.search(call.receiver_written) else call.argument(place=1)


def _kept_promise(given: Argument, facts: Facts) -> Call | None:
    """Return a promise that the given function keeps in a variable and that nothing catches.

    `this.running = this.sweep().finally(…)`: what waits for it at the end of the program comes too late."""
    scope = facts.function_at(given.value.span) if given.value.shape == "function" else None
    if scope is None or scope.is_async or _CATCHES.search(facts.text(scope.body)):
        return None
    for call in facts.own(facts.calls, scope):
        if not call.assigned or call.is_awaited or call.is_argument:
            continue
        source, is_promise = call, False
        while (
            source.method in ("then", "finally") and source.origin is not None and len(source.positional) == 1
        ):
            is_promise = is_promise or source.method == "finally"
            source = source.origin
        own = _async_function(source.written, facts)
        if may_reject(own, facts) if own is not None else is_promise:
            return source
    return None


def _scope_of(given: Argument, facts: Facts) -> Scope | None:
    """Return the async function that is given: as it is written, by its name, or called by a lambda."""
    value = given.value
    if value.shape == "function":
        scope = facts.function_at(value.span)
        if scope is None or value.text.startswith("async"):
            return scope
        called = [call for call in facts.within(facts.calls, scope.body) if call.span == scope.body]
        return _async_function(called[0].written, facts) if called else None
    found = _BY_NAME.fullmatch(value.text)
    return None if found is None else _async_function(found[1], facts)


_BY_NAME = lazy_regex(r"((?:this\.)?[\w$#]+)(?:\.bind\(this\))?")


def _async_function(written: str, facts: Facts) -> Scope | None:
    """Return the async function of this text that a plain name, or one of `this`, means."""
    owner, _, name = written.replace("self.", "this.").rpartition(".")
    if owner not in ("", "this"):
        return None
    found = [
        scope for scope in facts.functions_named(name) if scope.is_async and scope.is_method == bool(owner)
    ]
    return found[0] if len(found) == 1 else None


RULE = Rule(
    id="FK-R060",
    slug="rejection-in-callback",
    title="Async function given to code that ignores its promise",
    why="Timers and emitters do not look at the promise: since Node 15 an unhandled rejection ends the "
    "process, and a promise made by an async executor never settles.",
    fix="Catch errors inside the function, or call .catch() on what it returns.",
    kind="reliability",
    severity="medium",
    languages=JAVASCRIPT,
    check=_check,
)
