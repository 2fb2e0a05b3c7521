"""What a text tells about a variable: what it is given, and what is put into it. Judges nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Assignment, Call, Facts, Scope
from faultkit.code.facts.facts import Placed

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_DEEPEST = 2
"""Options that hold headers that hold a key."""


def given_to(name: str, place: Placed, facts: Facts) -> tuple[Assignment, ...]:
    """What a variable or something in it is set to, in a function around the place or at the top."""
    around: set[Scope | None] = {None, *facts.functions_around(place)}
    return tuple(each for each in facts.assignments if each.scope in around and _is_about(name, each.targets))


def text_around(call: Call, facts: Facts) -> str:
    """The text of a call, and all that is told about the variables in it."""
    return "\n".join((facts.text(call.span), *_about(facts.text(call.span), call, facts, 0)))


def _about(text: str, place: Call, facts: Facts, depth: int) -> Iterator[str]:
    names = {*_NAME.findall(text)}
    told = [facts.text(each.span) for name in names for each in given_to(name, place, facts)]
    # `headers.set("a", b)`, `req.Header.Set("a", b)`
    function = next(iter(facts.functions_around(place)), None)
    if function is not None:
        told += [
            facts.text(each.span)
            for each in facts.within(facts.calls, function.span)
            if each.receiver_written.partition(".")[0] in names and each is not place
        ]
    yield from told
    if depth + 1 < _DEEPEST:
        for each in told:
            yield from _about(each, place, facts, depth + 1)


def _is_about(name: str, targets: tuple[str, ...]) -> bool:
    return any(each == name or each.startswith((f"{name}.", f"{name}[")) for each in targets)
