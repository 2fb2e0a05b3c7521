"""Finds methods that take a token of cancellation and do not give it to what they wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import CSHARP, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.built_requests import cancellation_tokens
from faultkit.code.rules.vocabulary.http_requests import http_requests
from faultkit.code.rules.vocabulary.remote_calls import remote_calls

_TOKEN = lazy_regex(
    r"\b(ct|cts|\w*[tT]oken\w*|CancellationToken|Application(?:Stopping|Stopped)|RequestAborted)\b"
)
_UNDONE = lazy_regex(r"^(Rollback|Dispose|Release|Unlock|Compensate)")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language in JAVASCRIPT:
        yield from _signals(facts)
        return
    yield from _delays(facts)
    yield from _unused_limits(facts)
    for remote in remote_calls(facts):
        call = remote.call
        scope = facts.named_function_of(call)
        if scope is None or not call.is_awaited or remote.through is not None or _UNDONE.match(call.method):
            continue
        token = next(iter(sorted(cancellation_tokens(scope))), "")
        if not token or facts.is_in_finally(call) or not call.method.endswith("Async"):
            continue
        # The source of a chain may have it: `ListAsync(path, token).ToListAsync()`.
        links = (each for each in facts.within(facts.calls, call.span) if each.span.start == call.span.start)
        given = " ".join(each.value.text for link in links for each in link.arguments)
        # A function that is given may pass the token on itself.
        if any(each.value.text.startswith("async") for each in call.arguments) or _is_of_unknown(call, facts):
            continue
        if not _TOKEN.search(given) and not _tokens(scope, facts) & {*re.findall(r"\w+", given)}:
            is_read = remote.kind == "http" or _reads_rows(call)
            what = f"{call.written}() is not given {token}, so it goes on after a cancellation"
            yield Hit(call.span, what, LIKELY if is_read else POSSIBLE)


_READS = lazy_regex(
    r"^(To(List|Array|Dictionary|HashSet)|All|Count|LongCount|Max|Min|Sum|Average|ForEach)Async$"
)
"""Methods of Entity Framework that read any number of rows, and take a token."""


def _reads_rows(call: Call) -> bool:
    """Return whether a call reads any number of rows and takes a token.

    A change is often finished on purpose, and one row is read soon. Dapper takes a token in a command."""
    return _READS.match(call.method) is not None or (
        call.method.startswith("Query")
        and any("CommandDefinition" in each.value.text for each in call.positional[:1])
    )


_OWN = lazy_regex(r"^_?\w*[rR]epository$")
_SHORT = lazy_regex(r"\d{1,3}$|TimeSpan\.FromMilliseconds\(\d{1,3}\)$|\w+\.Next\((?:\d{1,3},\s*)?\d{1,3}\)$")
"""Pauses of less than a second."""


def _is_of_unknown(call: Call, facts: Facts) -> bool:
    """Return whether a repository that is declared elsewhere has the method, which may take no token."""
    receiver = call.receiver_written
    if not _OWN.match(receiver.removeprefix("this.")):
        return False
    return (
        not any(
            each.receiver_written == receiver and any(_TOKEN.search(one.value.text) for one in each.arguments)
            for each in facts.calls
        )
        and re.search(rf"\b{call.method}\([^)]*CancellationToken", facts.whole_text) is None
    )


def _signals(facts: Facts) -> Iterator[Hit]:
    """Yield requests of functions that are given a signal, or make one, and do not pass it on."""
    for scope in facts.scopes:
        name = _signal_of(scope, facts)
        if not name:
            continue
        asks = [each.call for each in http_requests(facts)]
        askers = {facts.named_function_of(call) for call in asks} - {None, scope}
        asks += [call for each in askers if each is not None for call in facts.callers_of(each)]
        for call in sorted(facts.within(asks, scope.body), key=lambda each: each.span):
            if (
                scope not in facts.functions_around(call)
                or facts.is_in_finally(call)
                or facts.handlers_around(call)
                or _ends_between(name, call, facts)
            ):
                continue
            if not re.search(
                rf"\b{re.escape(name)}\b|\bsignal\b", _NEW.sub("", facts.text_with_values(call))
            ):
                what = f"{call.written}() is not given {name}, so it goes on after a cancellation"
                yield Hit(call.span, what, LIKELY)
                break


def _ends_between(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a loop asks a signal before each round, and so ends between two of them."""
    return any(f"{name}.aborted" in facts.text(loop.span) for loop in facts.loops_around(call))


_CLOSED = r"\.(?:on|once|addEventListener)\(\s*['\"](?:close|aborted|abort)['\"]"
_NEW = lazy_regex(r"\bsignal\s*:\s*AbortSignal\.timeout\([^()]*\)")


def _signal_of(scope: Scope, facts: Facts) -> str:
    """Return the signal that ends the work of a function: a parameter, or that of a controller it makes."""
    for each in scope.parameters:
        if each.type == "AbortSignal" or (each.name in ("signal", "abortSignal") and not each.type):
            return each.name
    for call in facts.calls_named("AbortController"):
        if facts.function_of(call) is scope and len(call.assigned) == 1:
            ended = rf"{_CLOSED}.{{0,80}}\b{call.assigned[0]}\.abort\("
            if re.search(ended, facts.text(scope.body), re.DOTALL):
                return call.assigned[0]
    return ""


_LIMIT = lazy_regex(
    r"\b(\w+)\s*=\s*(?:new\s+CancellationTokenSource\(\s*[^\s)]|CancellationTokenSource\.CreateLinkedTokenSource\()"
)


def _unused_limits(facts: Facts) -> Iterator[Hit]:
    """Yield sources of tokens with a limit of time, whose token nothing is given (C#)."""
    for found in _LIMIT.finditer(facts.whole_text):
        name = found[1]
        used = rf"\b{name}\??\.(?:Token|IsCancell\w+)\b|[(,]\s*{name}\s*[,)]|return\s+{name}\b|=\s*{name}\s*;"
        is_linked = "Linked" in found[0]
        if is_linked and f"{name}.CancelAfter(" not in facts.whole_text:
            continue
        if re.search(used, facts.whole_text) is None and not name.startswith("_"):
            what = f"the token of {name} is given to nothing, so its limit of time ends nothing"
            yield Hit(facts.syntax.place_of(found), what, LIKELY, "medium")


def _delays(facts: Facts) -> Iterator[Hit]:
    """Yield pauses of loops that a cancellation does not end."""
    for call in facts.calls_named("Task.Delay"):
        scope = facts.named_function_of(call)
        if scope is None or not facts.loops_around(call) or len(call.positional) != 1 or not call.is_awaited:
            continue
        token = next(iter(sorted(cancellation_tokens(scope))), "")
        if token and not _SHORT.match(call.positional[0].value.text):
            what = f"{call.written}() is not given {token}, so a cancellation waits until the pause is over"
            yield Hit(call.span, what, LIKELY)


def _tokens(scope: Scope, facts: Facts) -> set[str]:
    """Return the names that hold a token, or a source that is linked to one."""
    names = cancellation_tokens(scope)
    for each in facts.within(facts.assignments, scope.body):
        if each.value is not None and names & {*re.findall(r"\w+", each.value.text)}:
            names |= {target for target in each.targets if "ancel" in each.value.text}
    return names


RULE = Rule(
    id="FK-R074",
    slug="cancellation-not-passed-on",
    title="Cancellation not passed on",
    why="When the client has gone or the time is up, the work goes on: it holds connections and loads the "
    "database for an answer that is thrown away.",
    fix="Give the token or signal to every call that takes one.",
    kind="reliability",
    severity="low",
    languages=(*CSHARP, *JAVASCRIPT),
    check=_check,
    words=(b"CancellationToken", b"signal", b"Signal", b"AbortController"),
)
