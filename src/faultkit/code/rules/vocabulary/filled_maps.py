"""How a key of a map is set that was asked for before: of the old value, if it is missing, or always."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.stores import MapStore, Put, words


def is_filled(store: MapStore, asked: Span, put: Put, facts: Facts) -> bool:
    """Return whether a key is set only if it is missing: what is always set replaces what is there."""
    return any(
        (
            step.kind == "branch"
            and is_within(put.span, step.span)
            and (step.span.start >= asked.end or store.bare in step.text)
        )
        or (step.kind == "return" and asked.start <= step.span.start < put.span.start)
        for step in facts.within(facts.steps, put.scope.body)
    )


def is_counted(store: MapStore, put: Put, facts: Facts) -> bool:
    """Return whether the new value is made of the old one: `map.put(key, map.get(key) + 1)`."""
    old = {
        name
        for each in facts.within(facts.assignments, put.scope.body)
        if each.value is not None and re.search(rf"\b{re.escape(store.bare)}\b", each.value.text)
        for name in each.targets
        if name.isidentifier()
    }
    sums = re.search(r"[\w)\]]\s*[+\-]\s*[\w(]", put.value)
    reads = old & words(put.value) or re.search(rf"\b{re.escape(store.bare)}\b", put.value)
    return bool(sums and reads)


def makes_value(put: Put, between: Span, facts: Facts) -> bool:
    """Return whether the value is made in between by a call, so that making it twice matters."""
    values = [
        each.call
        for each in facts.within(facts.assignments, put.scope.body)
        if put.value in each.targets and is_within(each.span, between)
    ]
    values += [call for call in facts.within(facts.calls, put.span) if facts.text(call.span) == put.value]
    return any(
        call is not None
        and (call.arguments or not call.constructs)
        and call.method not in ("get", "getOrDefault")
        and not _CHEAP.match(call.method)
        for call in values
    )


_CHEAP = lazy_regex(
    r"^(append|item|entry|\w*Entry|record|time\.\w+|MustCompile|Compile|compile|hash\w*|get[A-Z]\w*|to\w+|\w*[eE]tag\w*"
    r"|make|new|String|valueOf|of|from)$"
)
"""Makers of values, which may be made twice."""
