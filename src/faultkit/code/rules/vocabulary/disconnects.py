"""What runs when a client has gone, and whether it ends a timer or task that was started for the client.

A gateway clears the interval of a client when the client says "leave"; a client whose network fails says
nothing, and is known only by the end of its connection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.removals import key_of
from faultkit.code.rules.vocabulary.short_lives import repeated_around

_ENDS = NamePattern(
    r"^(handle_?(disconnect|close|disconnection)|on_?(disconnect(ed|ing)?|close(d)?|socket_?close|web_?socket_?close)"
    r"|on(Disconnected|Close)Async|after_?connection_?closed|connection_?(lost|closed)|channelInactive|handlerRemoved"
    r"|disconnect)$",
    re.IGNORECASE,
)
"""Methods that are called when a client has gone."""
_EVENTS = frozenset(
    ("close", "disconnect", "disconnecting", "disconnected", "end", "aborted", "error", "finish", "abort")
)
_LISTENS = frozenset(("on", "once", "addEventListener", "addListener"))
_LEVELS = 3
"""Levels of functions that are followed from what is called when a client has gone."""


@dataclass(frozen=True, slots=True)
class _Form:
    """How a language starts a timer or task for a client, and how it ends one."""

    starts: tuple[str, ...]
    ends: re.Pattern[str]


_JAVASCRIPT = _Form(("setInterval",), lazy_regex(r"^(clearInterval|clearTimeout|clear|unref|close)$"))
_JVM = _Form(
    ("scheduleAtFixedRate", "scheduleWithFixedDelay"), lazy_regex(r"^(cancel\w*|shutdown\w*|stop|dispose)$")
)
_FORMS = {
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "tsx": _JAVASCRIPT,
    "java": _JVM,
    "kotlin": _JVM,
    "csharp": _Form(("Timer",), lazy_regex(r"^(Dispose\w*|Stop|Change|Cancel\w*)$")),
}


def kept_after_disconnect(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield timers of a client that the text ends somewhere, and not when the client has gone."""
    form = _FORMS.get(facts.language)
    if form is None:
        return
    for call in facts.calls_of_method(*form.starts):
        scope = facts.named_function_of(call)
        if facts.language == "csharp" and not call.constructs:
            continue
        run = repeated_around(call, facts)
        if run is None or run.of != "connection":
            continue
        ends = [each for each in facts.calls if form.ends.match(each.method) and each is not call]
        ends = [each for each in ends if _is_of_timer(each, facts) and not _is_of_another(each, call, facts)]
        own = any(
            is_within(each.span, call.span) or facts.function_of(each) is facts.function_of(call)
            for each in ends
        )
        if not ends or own:
            continue
        gone = [*_called_at_end("" if scope is None else scope.owner, facts)]
        if not gone and not all(_answers_client(each, facts) for each in ends):
            continue
        reached = [*_reached(gone, facts)]
        if not any(is_within(each.span, span) for each in ends for span in reached):
            what = f"{call.written}() goes on when the client has gone: only a message of the client ends it"
            yield call.callee, what


def _is_of_timer(call: Call, facts: Facts) -> bool:
    """Return whether a call ends a timer: `clearInterval(…)`; a `cancel` or `Dispose` of whatever is held."""
    return facts.language not in ("javascript", "typescript", "tsx") or call.method.startswith("clear")


def _is_of_another(end: Call, timer: Call, facts: Facts) -> bool:
    """Return whether a call ends what another timer of this text was assigned to: `clearInterval(pinger)`."""
    given = [each.value.text for each in end.positional] or [end.receiver_written.rstrip("?")]
    names = {key_of(name) for name in given if re.fullmatch(r"[\w$.#?!]+", name)}
    own = {key_of(name) for name in timer.assigned}
    return (
        bool(names)
        and names.isdisjoint(own)
        and any(
            not names.isdisjoint(key_of(name) for name in each.assigned)
            for each in facts.calls_of_method(timer.method)
            if each is not timer
        )
    )


def _called_at_end(owner: str, facts: Facts) -> Iterator[Span]:
    """Yield what is called when a client has gone: methods of the same class, and listeners."""
    for each in facts.scopes:
        if each.name and each.owner == owner and _ENDS.match(each.short_name):
            yield each.span
    for call in facts.calls_of_method(*_LISTENS):
        first = call.argument(place=0)
        if first is None or first.value.literal not in _EVENTS or len(call.positional) < 2:
            continue
        given = call.positional[1].value
        if given.shape == "function":
            yield given.span
        else:
            names = re.findall(r"[\w$]+", given.text)
            yield from (each.span for each in facts.functions_named(*names))
    for one in facts.assignments:
        if one.value is not None and "".join(one.targets[:1]).endswith((".onclose", ".OnClose", ".onClose")):
            yield one.value.span


def _reached(spans: list[Span], facts: Facts) -> Iterator[Span]:
    """Yield code, and the functions of this text that it calls."""
    seen = set[Span]()
    level = spans
    for _ in range(_LEVELS):
        yield from level
        seen.update(level)
        names = {call.method for span in level for call in facts.within(facts.calls, span)}
        level = [each.span for each in facts.functions_named(*names) if each.span not in seen]


def _answers_client(call: Call, facts: Facts) -> bool:
    """Return whether a call runs only when the client sends a message for it."""
    for each in facts.calls_around(call):
        first = each.argument(place=0)
        event = "" if first is None or each.method not in _LISTENS else first.value.literal
        if event and event not in (*_EVENTS, "connection", "connect"):
            return True
    scope = facts.named_function_of(call)
    return scope is not None and any(each.method == "SubscribeMessage" for each in scope.decorators)
