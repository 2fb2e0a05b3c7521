"""Finds membership tests on a list in a loop."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts, Loop, Scope
from faultkit.code.facts.facts import Placed, is_within
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.data_sizes import is_data, is_over_data
from faultkit.code.rules.vocabulary.repetition import is_over_items

_LONG = re.compile(
    r"^(list|sorted|await)\b|^\[.*\bfor\b.*\]$|\.(split|splitlines|readlines|fetchall|map|filter|keys)\(",
    re.DOTALL,
)
_READ = re.compile(r"\.(split|splitlines|readlines|fetchall)\(")
_OF_ONE = re.compile(r"\.(split|splitlines|readlines)\([^()]*\)\[-?\d+\]")
"""One item of a split text, which is a text and no list."""
_LISTS = frozenset(
    (
        "java.util.List", "java.util.ArrayList", "java.util.LinkedList", "MutableList", "List",
        "IList", "IReadOnlyList", "System.Collections.Generic.List", "System.Collections.Generic.IList",
        "System.Collections.Generic.IReadOnlyList", "Vec", "std.vec.Vec",
    )
)  # fmt: skip
"""Types whose `contains` scans; a name of another language never occurs in a text."""
_TYPED = ("java", "csharp", "kotlin", "rust")
_EMPTY = (
    r"\[\]|list\(\)|new (Array|Linked)?List<.*>\(\)|new ArrayList\(\)|\[\]\w+\{\}"
    r"|mutableListOf(<.*>)?\(\)|ArrayList(<.*>)?\(\)|arrayListOf(<.*>)?\(\)|Vec::(<.*>::)?new\(\)|vec!\[\]"
    r"|Vec::with_capacity\(.*\)"
)
_COPIED = re.compile(r"\b(ToList(Async)?|toList|toMutableList|collect(::<Vec<.*>>)?)\(\)$|\bVec<")
_WORDS = ("in", "not in", "!in")
_GROWS = ("append", "push", "add", "extend", "concat", "Add", "AddRange", "addAll")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language in ("python", "kotlin"):
        for step in facts.steps_of("binary"):
            if step.word in _WORDS and len(step.sides) == 2 and step.sides[1].shape == "name":
                yield from _hits(step.sides[1].text, step, facts)
    if facts.language == "python":
        return
    for call in facts.calls_of_method("includes", "indexOf", "contains", "Contains"):
        if facts.language in _TYPED and call.receiver not in _LISTS:
            continue
        if call.name == "slices.Contains":
            first = call.argument(place=0)
            yield from _hits("" if first is None else first.value.text, call, facts)
        elif facts.language != "go":
            yield from _hits(call.receiver_written, call, facts)


def _hits(name: str, place: Placed, facts: Facts) -> Iterator[Hit]:
    if not re.fullmatch(r"[A-Za-z_#][\w.#]*", name):
        return
    around = [loop for loop in facts.loops_around(place) if is_over_items(loop)]
    around += [
        loop
        for loop in facts.loops
        if loop.kind == "comprehension" and is_within(place.span, loop.span) and is_over_items(loop)
    ]
    if not around and facts.language in _TYPED:
        around = _filtered(place, facts)
    scope = facts.named_function_of(place) or facts.function_of(place)
    if scope is None or not around or any(name in loop.targets for loop in facts.loops_around(place)):
        return
    long = _is_long(name, scope, around[0], facts)
    if long is None and facts.language in JAVASCRIPT and around[-1].over == name and is_data(name):
        long = True  # `emails.filter((each, at) => emails.indexOf(each) === at)`
    if long is not None and (
        _is_read(name, scope, facts) or any(is_over_data(each, facts) for each in around)
    ):
        yield Hit(
            place.span, f"every membership test on {name} scans the whole list", LIKELY if long else POSSIBLE
        )


_FILTERS = frozenset(
    (
        "filter",
        "retain",
        "Where",
        "RemoveAll",
        "removeIf",
        "partition",
        "filterNot",
        "removeAll",
        "Except",
        "anyMatch",
    )
)


def _filtered(place: Placed, facts: Facts) -> list[Loop]:
    """Return the call that runs a lambda for each item of a list: `orders.Where(each => …)`."""
    for call in reversed(facts.calls_around(place)):
        root = re.match(r"\w+", call.receiver_written)
        if call.method in _FILTERS and root is not None:
            return [Loop("each", call.span, call.span, call.line, root[0])]
    return []


def _is_read(name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether the list was read from a text or a database, and so may have any length."""
    return any(
        each.value is not None and _READ.search(each.value.text)
        for each in facts.assignments
        if name in each.targets and facts.function_of(each) is scope
    )


def _is_long(name: str, scope: Scope, loop: Loop, facts: Facts) -> bool | None:
    """Return True if the list grows or has many items, False if it may be short, None if it is no list."""
    bound = [each for each in facts.assignments if name in each.targets and facts.function_of(each) is scope]
    grown = [
        each for each in bound if each.value is not None and each.value.text.startswith(f"append({name},")
    ]
    for each in bound:
        if each.span.start >= loop.body.start and each.span.end <= loop.body.end and each not in grown:
            return None  # Created for each item.
    bound = [each for each in bound if each not in grown]
    if not bound:
        given = [each for each in scope.parameters if each.name == name]
        if given and (
            facts.language == "go" or given[0].type in ("list", "typing.List") or given[0].type in _LISTS
        ):
            return False
        return None
    value = bound[-1].value
    text = "" if value is None else value.text
    if value is None:
        return True if facts.language == "go" and grown else None
    if _OF_ONE.search(text):
        return None
    empty = re.fullmatch(_EMPTY, text)
    if empty:
        grows = bool(grown) or any(
            call.method in _GROWS and call.receiver_written == name
            for call in facts.within(facts.calls, scope.body)
        )
        return True if grows else None
    if facts.language in _TYPED:
        return False if facts.language == "java" or _COPIED.search(text) else None
    if re.match(r"(set|frozenset|dict|new Set|new Map|Counter)\b|\{", text) or value.shape == "text":
        return None
    if re.search(r"\bin _*[A-Z][A-Z0-9_]+\]?$", text):
        return None  # Built from a constant.
    return True if _LONG.search(text) and not re.search(r"\bSet\(|\bset\(", text) else None


RULE = Rule(
    id="FK-P006",
    slug="list-membership-in-loop",
    title="Membership test on a list in a loop",
    why="The work grows with the square of the data: ten times the items take a hundred times as long.",
    fix="Keep what you look for in a set or map.",
    kind="performance",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
