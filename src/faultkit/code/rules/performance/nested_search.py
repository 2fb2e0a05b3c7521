"""Finds lists that are searched from the start for every item of another list.

Evidence that it matters: this text loads both lists whole, by queries without a limit or from files and
answers; or a request or message adds each item to the list that is searched. Otherwise it is possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts, Loop
from faultkit.code.facts.facts import Placed, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.data_sizes import (
    is_data,
    is_few,
    is_given,
    is_key,
    is_over_data,
    is_short_by_nature,
)
from faultkit.code.rules.vocabulary.loaded_lists import is_loaded_whole, is_over_loaded
from faultkit.code.rules.vocabulary.repetition import is_for_screen, is_over_items
from faultkit.code.rules.vocabulary.row_queries import is_in_database_query

_SEARCHES = {
    "csharp": (
        "FirstOrDefault",
        "First",
        "SingleOrDefault",
        "Single",
        "Where",
        "Any",
        "Find",
        "FindIndex",
        "Exists",
    ),
    "kotlin": (
        "find",
        "firstOrNull",
        "first",
        "singleOrNull",
        "single",
        "filter",
        "any",
        "none",
        "indexOfFirst",
    ),
    "javascript": ("find", "findIndex", "filter", "some"),
}


def _is_of_loader(loop: Loop, facts: Facts) -> bool:
    """Return whether the items are the keys of a batch of a data loader: as many as one page shows."""
    return any(re.search(r"DataLoader$|dataloader$", each.name) for each in facts.calls_around(loop))


def _check(facts: Facts) -> Iterator[Hit]:
    loops = [loop for loop in facts.loops if is_over_items(loop) and not loop.is_async and loop.targets]
    for inner in loops:
        outer = [each for each in loops if each is not inner and is_within(inner.span, each.body)]
        if not outer or not _may_be_long(outer[-1], facts):
            continue
        if not _may_be_long(inner, facts) and not _grows(inner.over, outer[-1], facts):
            continue
        by_name = is_over_data(inner, facts) and (
            is_over_data(outer[-1], facts) or _grows(inner.over, outer[-1], facts)
        )
        if _matches(inner.span, inner, outer[-1], facts, keys_only=not by_name):
            head = Span(inner.span.start, max(inner.span.start + 1, min(inner.body.start, inner.span.end)))
            place = inner.span if inner.kind == "comprehension" else head
            what = f"{_name(inner)} is searched from its start for every item of {_name(outer[-1])}"
            yield Hit(place, what, _sureness(inner.over, outer[-1], inner, facts))
    awaited = [loop for loop in facts.loops if loop.is_async and is_over_items(loop) and loop.targets]
    yield from _found([*loops, *awaited], facts)
    if facts.language == "rust":
        yield from _in_rust(facts)


def _sureness(searched: str, outer: Loop, place: Placed, facts: Facts) -> float:
    """Return how sure it is that both lists are long."""
    if is_for_screen(facts) or not is_over_loaded(outer, facts):
        return POSSIBLE
    if is_loaded_whole(searched, place, facts):
        return LIKELY
    return LIKELY if _grows(searched, outer, facts) else POSSIBLE


_ADDS = ("append", "push", "add", "Add", "insert")


def _grows(name: str, outer: Loop, facts: Facts) -> bool:
    """Return whether the rounds of a loop add to a list."""
    return name.isidentifier() and any(
        call.receiver_written == name for call in facts.within(facts.calls_of_method(*_ADDS), outer.body)
    )


def _of_item(outer: Loop, facts: Facts) -> set[str]:
    """Return what is made from the item of a loop: `contact` of `contact = parse(row)`."""
    words = _words(outer, facts)
    return {
        name
        for each in facts.within(facts.assignments, outer.body)
        if each.value is not None and each.value.shape == "call" and _mentions(each.value.text, words)
        for name in each.targets
        if name.isidentifier()
    }


def _may_be_long(loop: Loop, facts: Facts) -> bool:
    if not is_over_data(loop, facts) and not (is_given(loop, facts) and not is_few(loop.over)):
        return False
    if is_short_by_nature(loop.over):
        return False
    return not _is_of_loader(loop, facts)


def _matches(span: Span, inner: Loop, outer: Loop, facts: Facts, *, keys_only: bool = False) -> bool:
    """Return whether an item of one list is compared with one of the other, and the lists are independent."""
    mine, other = _words(inner, facts), _words(outer, facts) | _of_item(outer, facts)
    if (
        not mine
        or not other
        or _mentions(inner.over, other)
        or not re.fullmatch(r"[\w.:&*\s]+(\.stream\(\))?|enumerate\(\w+\)", inner.over)
    ):
        return False
    for step in facts.within(facts.steps, span):
        if step.kind == "binary" and step.word in ("==", "===") and len(step.sides) == 2:
            left, right = step.sides[0].text, step.sides[1].text
            if keys_only and not (is_key(left) and is_key(right)):
                continue
            if (_mentions(left, mine) and _mentions(right, other)) or (
                _mentions(left, other) and _mentions(right, mine)
            ):
                return True
    if facts.language == "java":
        for call in facts.within(facts.calls, span):
            text = facts.text(call.span)
            if call.method == "equals" and _mentions(text, mine) and _mentions(text, other):
                return True
    return False


def _found(loops: list[Loop], facts: Facts) -> Iterator[Hit]:
    language = facts.syntax.language.family
    for call in facts.calls_of_method(*_SEARCHES.get(language, ())):
        given = call.argument(place=0)
        if given is None or given.value.shape != "function" or "=" not in given.value.text:
            continue
        by_key = facts.language != "kotlin" and _compares_keys(given.value.text)
        if not is_data(call.receiver_written) and not by_key:
            continue
        if is_short_by_nature(call.receiver_written):
            continue
        for loop in loops:
            if not is_over_data(loop, facts) and not (by_key and _may_be_long(loop, facts)):
                continue
            other = _words(loop, facts)
            if (
                is_within(call.span, loop.body)
                and not _is_of_loader(loop, facts)
                and call.span != loop.span
                and not _mentions(call.receiver_written, other)
                and re.fullmatch(r"[\w.]+", call.receiver_written)
                and re.search(r"===?|\b[eE]quals\(", given.value.text)
                and _mentions(given.value.text, other)
                and not is_in_database_query(call, facts)
            ):
                what = f"{call.written}() searches from the start for every item of {_name(loop)}"
                yield Hit(call.span, what, _sureness(call.receiver_written, loop, call, facts))
                break


def _compares_keys(text: str) -> bool:
    found = re.search(r"([\w.()?!\[\]\"']+)\s*===?\s*([\w.()?!\[\]\"']+)", text)
    # `string.Equals(a.Key, b.Key, …)`, `a.key.equals(b.key)`
    found = found or re.search(r"\bEquals\(\s*([\w.]+),\s*([\w.]+)", text)
    found = found or re.search(r"([\w.]+)\.[eE]quals\(\s*([\w.]+)", text)
    return found is not None and is_key(found[1]) and is_key(found[2])


_RUST_LOOPS = frozenset(("map", "for_each", "filter_map", "flat_map", "filter"))


def _in_rust(facts: Facts) -> Iterator[Hit]:
    """Yield `products.iter().find(|p| p.sku == line.sku)` for each item of another list."""
    for call in facts.calls_of_method("find", "position", "any"):
        found = re.fullmatch(r"([\w.]+)\.iter\(\)\.\w+", call.written)
        given = call.argument(place=0)
        if found is None or given is None or not _compares_keys(given.value.text):
            continue
        item = re.search(r"===?\s*&?(\w+)\.|\b(\w+)\.[\w.()]+\s*==", given.value.text)
        others = {*re.findall(r"\b(\w+)\.", given.value.text)}
        around = [loop.targets for loop in facts.loops_around(call) if is_over_items(loop)]
        around += [
            tuple(each.name for each in scope.parameters)
            for scope in facts.functions_around(call)
            if scope.is_anonymous
            and any(
                one.method in _RUST_LOOPS and one.span.start <= scope.span.start
                for one in facts.calls_around(call)
            )
        ]
        if item is not None and any(others & {*targets} for targets in around if found[1] not in targets):
            what = f"{call.written}() searches from the start for every item of the other list"
            yield Hit(call.span, what, POSSIBLE)


def _words(loop: Loop, facts: Facts) -> set[str]:
    """Return names of items; comparing two indices is no search."""
    counted = loop.over.startswith("enumerate(") and len(loop.targets) > 1
    indexed = counted or (facts.language == "go" and loop.kind == "each")
    if facts.language == "go" and indexed and len(loop.targets) == 1 and re.fullmatch(r"[\w.]+", loop.over):
        return {f"{loop.over}[{loop.targets[0]}]"}
    targets = loop.targets[1:] if indexed else loop.targets
    return {word for target in targets for word in re.findall(r"[A-Za-z_]\w*", target)} - {"_", "const"}


def _mentions(text: str, words: set[str]) -> bool:
    return any(re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", text) for word in words)


def _name(loop: Loop) -> str:
    return loop.over if 0 < len(loop.over) < 40 else "the other list"


RULE = Rule(
    id="FK-P009",
    slug="nested-search",
    title="List searched for every item of another",
    why="The work is one list times the other: a thousand of each is a million steps for one request.",
    fix="Put one list into a map by its key first, then look each item up.",
    kind="performance",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
