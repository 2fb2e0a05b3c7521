"""Whether a text takes away the listener that a call has added.

A removal counts if it is one of the same object, or is given the same function. `open.remove(id)` takes no
listener from `redis`; `bus.off("tick", this.show)` takes none that was added as `(tick) => this.show(tick)`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Value
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_TAKES_AWAY = NamePattern(
    r"^_*(remove|un_?register|un_?subscribe|p_?unsubscribe|pUnsubscribe|deregister|detach|disconnect|unbind|unwatch"
    r"|unlisten|stopObserving|stopListening|discard|dispose|cancel|off$|delete$|leave|close|end$|quit|destroy|stop$"
    r"|release|clear$|pop$|forget|drop$|Remove|Unregister|Unsubscribe|Deregister|Detach|Disconnect|Dispose|Cancel|Close|Leave|Drain)"
)
_CLEARLY = NamePattern(
    r"^_*((remove|Remove|detach|Detach|discard|pop|delete)_?\w*([lL]istener|[oO]bserver|[cC]allback|[hH]andler|[sS]ubscri\w+"
    r"|[wW]atcher|[cC]lient|[sS]ocket|[vV]iewer|[cC]onnection)s?|(un_?|de_?|Un|De)(register|subscribe|Register|Subscribe)"
    r"\w*|stopObserving|stopListening|unlisten|unwatch|unbind)$"
)
"""Removals of listeners, of whatever object."""
BY_FUNCTION = frozenset(("off", "removeListener", "removeEventListener"))
"""Removals that are given an event and a function (JavaScript)."""
_NAMED = lazy_regex(r"(?:async\s+)?function\s*\*?\s*([\w$]+)")
_LATER = r"\b{key}\??\.(?:off|remove\w+|un\w+)\.(?:bind|call|apply)\("


def takes_away(method: str) -> bool:
    """Return whether a method ends, removes or lets go of what it is given, by its name."""
    return _TAKES_AWAY.match(method) is not None


@lru_cache(maxsize=1024)
def key_of(path: str) -> str:
    """Return the last name of a path, by which an object is known in several functions."""
    return re.sub(r"[?!\[\]]|\(.*?\)", "", path).rpartition(".")[2]


def is_taken_away(listen: Call, given: Value | None, facts: Facts) -> bool:
    """Return whether something in the text removes the function that a call is given, or all of them."""
    key = key_of(listen.receiver_written)
    name = "" if given is None or given.shape != "name" else given.text
    removals = _removals(facts)
    if any(other != key for other in (*removals.clear, *(removals.given.get(name, ()) if name else ()))):
        return True
    for call in removals.by_key.get(key, ()):
        if call is listen:
            continue
        if call.method not in BY_FUNCTION or len(call.positional) < 2 or given is None:
            return True
        if may_be_same(call.positional[1].value, given, facts):
            return True
    return facts.syntax.has_any(b".bind(", b".call(", b".apply(") and (
        re.search(_LATER.format(key=re.escape(key)), facts.whole_text) is not None
    )


class _Removals(NamedTuple):
    """The removals of a text."""

    by_key: dict[str, list[Call]]
    """All of them, by the keys of their objects."""
    clear: dict[str, None]
    """Keys of the objects of those that remove listeners by their names."""
    given: dict[str, dict[str, None]]
    """Keys of the objects by the texts of what is removed."""


@lru_cache(maxsize=4)
def _removals(facts: Facts) -> _Removals:
    found = _Removals({}, {}, {})
    for call in facts.calls_with_method(_TAKES_AWAY.match):
        key = key_of(call.receiver_written)
        found.by_key.setdefault(key, []).append(call)
        of_whatever = call.method not in BY_FUNCTION and call.method != "removeAllListeners"
        if of_whatever and _CLEARLY.match(call.method):
            found.clear[key] = None
        for each in call.arguments:
            found.given.setdefault(each.value.text, {})[key] = None
    return found


def may_be_same(removed: Value, added: Value, facts: Facts) -> bool:
    """Return whether a function that is removed may be the one that was added: not if both are known."""
    if removed.text == added.text:
        return added.shape == "name"
    if removed.text == name_of(added, facts):
        return True
    return not is_known_function(removed, facts)


def name_of(function: Value, facts: Facts) -> str:
    """Return the name of a function that is written in place and has one: `function stop() { … }`."""
    scope = facts.function_at(function.span)
    found = None if scope is None else _NAMED.match(facts.text(scope.span))
    return "" if found is None else found[1]


def is_known_function(value: Value, facts: Facts) -> bool:
    """Return whether a value is a function that this text declares, or makes in place."""
    if value.shape == "function":
        return True
    path = re.fullmatch(r"(?:this\.|self\.)?#?([\w$]+)", value.text)
    if path is None:
        return False
    return bool(facts.functions_named(path[1])) and path[1] not in _set_to_others(facts)


@lru_cache(maxsize=4)
def _set_to_others(facts: Facts) -> frozenset[str]:
    """Return the names that are set to anything but a function that is written in place.

    `const handler = this.handlers.get(id)` is another function each time."""
    return frozenset(
        key_of("".join(each.targets[:1]))
        for each in facts.assignments
        if each.value is not None and each.value.shape != "function"
    )
