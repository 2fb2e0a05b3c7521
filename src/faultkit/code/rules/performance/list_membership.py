"""Finds membership tests on a list in a loop.

Evidence that it matters: an object keeps the list, adds each new item to it, and lets it grow to a thousand
items or more. Otherwise it is possible: how long a list gets is seldom in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Loop, Scope
from faultkit.code.facts.facts import Placed, is_within
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.data_sizes import (
    is_data,
    is_few,
    is_given,
    is_key,
    is_over_data,
    is_short_by_nature,
)
from faultkit.code.rules.vocabulary.repetition import is_over_items
from faultkit.code.rules.vocabulary.row_queries import is_in_database_query

_LONG = lazy_regex(
    r"^(list|sorted|await)\b|^\[.*\bfor\b.*\]$|\.(split|splitlines|readlines|fetchall|map|filter|keys)\(",
    re.DOTALL,
)
_READ = lazy_regex(r"\.(split|splitlines|readlines|fetchall)\(")
_OF_ONE = lazy_regex(r"\.(split|splitlines|readlines)\([^()]*\)\[-?\d+\]")
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
_COPIED = lazy_regex(
    r"\b(ToList(Async)?|ToArray|toList|toMutableList|collect(::<Vec<.*>>)?)\(\)$|\bVec<|\.map\s*\{[^{}]*\}$"
)
_WORDS = ("in", "not in", "!in")
_GROWS = ("append", "push", "add", "extend", "concat", "Add", "AddRange", "addAll")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language in ("python", "kotlin"):
        source = facts.syntax.source
        for step in facts.steps_of("binary"):
            # To read the parts of all steps takes long.
            if source.find(b"in", *step.span) < 0:
                continue
            if step.word in _WORDS and len(step.sides) == 2 and step.sides[1].shape == "name":
                yield from _hits(step.sides[1].text, step.sides[0].text, step, facts)
    if facts.language == "python":
        return
    for call in facts.calls_of_method("includes", "indexOf", "contains", "Contains"):
        if call.method == "indexOf" and call.assigned:
            continue  # The place is needed, often to remove the item.
        if facts.language in _TYPED and call.receiver not in _LISTS and not _is_list(call, facts):
            continue
        given = [each.value.text for each in call.positional]
        if call.name == "slices.Contains" and len(given) == 2:
            yield from _hits(given[0], given[1], call, facts)
        elif facts.language != "go" and given:
            yield from _hits(call.receiver_written, given[0], call, facts)


_SLICE = r"\b{}\s*:\s*&(?:'\w+ )?(?:mut )?\["


def _is_list(call: Call, facts: Facts) -> bool:
    """Return whether the object of a call is a list that this text makes, or a slice that it is given."""
    name = call.receiver_written
    if re.search(r"\.(ToList|ToArray|toList|collect|ToListAsync)\(\)$", call.receiver):
        made = [facts.text(each.span) for each in facts.assignments_to(name, call)]
        return name.isidentifier() and not any(re.search(r"Set\b|Map\b", each) for each in made)
    scope = facts.named_function_of(call)
    if facts.language != "rust" or scope is None or not name.isidentifier():
        return False
    if any(each.scope is not None for each in facts.assignments_to(name, call)):
        return False  # Another thing of the same name.
    return re.search(_SLICE.format(name), facts.text(scope.head)) is not None


def _hits(name: str, tested: str, place: Placed, facts: Facts) -> Iterator[Hit]:
    if not re.fullmatch(r"[A-Za-z_#][\w.#]*", name) or is_in_database_query(place, facts):
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
    if (
        scope is not None
        and (not around or name.startswith(("self.", "this.")))
        and _is_kept(name, place, scope, facts)
    ):
        what = f"every membership test on {name} scans the whole list, which grows with each new item"
        yield Hit(place.span, what, LIKELY if _holds_many(name, facts) else POSSIBLE)
        return
    if scope is None or not around or any(name in loop.targets for loop in facts.loops_around(place)):
        return
    if (is_few(name) and "known" not in name.lower()) or is_short_by_nature(name):
        return
    long = _is_long(name, scope, around[0], facts)
    is_item = any(tested.strip("&* ") in loop.targets for loop in around)
    if long is False and not (is_item or is_data(name) or is_key(tested)):
        return  # Of a list that a caller gives, its name or what it holds must say that it may be long.
    if long is None and facts.language in JAVASCRIPT and around[-1].over == name and is_data(name):
        long = True  # `emails.filter((each, at) => emails.indexOf(each) === at)`
    by_key = is_key(tested) and any(is_given(each, facts) and not is_few(each.over) for each in around)
    if long is not None and (
        by_key or _is_read(name, scope, facts) or any(is_over_data(each, facts) for each in around)
    ):
        # How long both lists get is not in the text.
        yield Hit(place.span, f"every membership test on {name} scans the whole list", POSSIBLE)


def _is_kept(name: str, place: Placed, scope: Scope, facts: Facts) -> bool:
    """Return whether a list remembers what was there: each item that it does not hold is added to it.

    It is a member of an object with a method for one item, or what a `while` loop has done."""
    around = [loop for loop in facts.loops_around(place) if loop.kind in ("while", "endless")]
    bare = name.removeprefix("this.").removeprefix("self.")
    made = [
        each
        for each in facts.assignments_of(bare, f"self.{bare}")
        if each.targets == (f"self.{bare}",) or (each.targets == (bare,) and (around or each.scope is None))
    ]
    is_list = any(
        each.type in _LISTS
        or (each.value is not None and re.fullmatch(_EMPTY, each.value.text))
        or re.search(r":\s*(Vec<|\w+\[\])|\b(List|MutableList|ArrayList)<", facts.syntax.line_text(each.line))
        for each in made
    )
    if not is_list or is_few(bare) or (around and not any(_is_own(each, scope, facts) for each in made)):
        return False
    inside = around[-1].body if around else scope.body
    return any(
        call.method in _GROWS and call.receiver_written.removeprefix("this.").removeprefix("self.") == bare
        for call in facts.within(facts.calls, inside)
    ) and (bool(around) or _is_event(scope))


_MANY = 1000


def _holds_many(name: str, facts: Facts) -> bool:
    """Return whether this text lets a list grow to a thousand items and more: `if ids.len() == WINDOW`."""
    bare = re.escape(name.rpartition(".")[2])
    length = rf"(?:\b{bare}\.(?:len|length|size|Count|count)(?:\(\))?|\blen\((?:\w+\.)*{bare}\))"
    for found in re.finditer(rf"{length}\s*(?:==|>=?|<=?)\s*((?:\w+(?:\.|::))*\w+)", facts.whole_text):
        last = re.split(r"[.:]", found[1])[-1]
        values = [last, *(each.value.text for each in facts.assignments_of(last) if each.value is not None)]
        if any(_NUMBER.fullmatch(each) and int(_NOT_DIGITS.sub("", each)) >= _MANY for each in values):
            return True
    return False


_NUMBER = lazy_regex(r"\d[\d_]*(?:usize|u32|u64|L)?")
_NOT_DIGITS = lazy_regex(r"_|usize|u32|u64|L")
_EVENT = lazy_regex(r"id|key|hash|event|message|msg|item|entry|record|token|url|nonce", re.IGNORECASE)


def _is_event(scope: Scope) -> bool:
    """Return whether a method is given one item, by the name of its parameter."""
    given = [each.name for each in scope.parameters if each.name not in ("self", "cls", "ctx")]
    return len(given) in (1, 2) and _EVENT.search(given[0]) is not None


def _is_own(each: Assignment, scope: Scope, facts: Facts) -> bool:
    return facts.named_function_of(each) is scope or each.scope is None


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
            facts.language == "go"
            or given[0].type in ("list", "typing.List")
            or given[0].type in _LISTS
            or (facts.language == "rust" and re.search(_SLICE.format(name), facts.text(scope.head)))
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
