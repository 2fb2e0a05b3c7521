"""Objects that change or hold something outside: it matters that all callers have the same one."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_LIVE = NamePattern(
    r"(Client|Connection|Pool|Channel|Limiter|Lock|Semaphore|Mutex|Session|Subscription|Socket|Breaker|Counter|Thread"
    r"|Executor|Consumer|Producer|Worker|Watcher|Listener|Selector|Timer|Bucket)(Builder)?$"
)
_COLLECTED = NamePattern(
    r"(Atomic\w+|Adder|List|Map|Set|Queue|Deque|Dictionary|Bag|State|Context|Window|Buffer|Stream)$"
)


def is_live(type_: str) -> bool:
    """Return whether an object of a type holds something or keeps a count, by the name of the type: one of
    two that are made is lost or leaks."""
    return _LIVE.search(type_) is not None


def is_changed_later(type_: str) -> bool:
    """Return whether an object of a type is live, or a collection or state that others add to."""
    return is_live(type_) or _COLLECTED.search(type_) is not None


_MADE_BY = lazy_regex(r"^(create|open|connect|dial|start|initiali[sz]e|new|build|make|for)", re.IGNORECASE)
_CLIENT = lazy_regex(r"(client|http|gateway|api|rest|web|remote|provider)$", re.IGNORECASE)


def _is_of_client(call: Call) -> bool:
    return not call.constructs and _CLIENT.search(call.receiver_written.rpartition(".")[2]) is not None


def makes_live(span: Span, facts: Facts, levels: int = 2) -> bool:
    """Return whether an object that holds something is made in a span, by its type or by a maker of it; with
    two levels, also in a function of this text, or whether a client is asked."""
    for call in facts.within(facts.calls, span):
        owner = call.receiver_written.rpartition(".")[2]
        if (call.constructs and is_live(call.method)) or (
            _MADE_BY.match(call.method) and (is_live(owner) or is_live(call.method))
        ):
            return True
        if levels > 1 and _is_of_client(call):
            return True
        if levels > 1 and any(
            makes_live(scope.body, facts, levels - 1)
            or any(map(_is_of_client, facts.within(facts.calls, scope.body)))
            for scope in facts.functions_named(call.method)
            if call in facts.callers_of(scope)
        ):
            return True
    return False
