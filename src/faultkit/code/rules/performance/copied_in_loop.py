"""Finds collections that are copied or sorted as a whole for every added item.

Evidence that it matters: the loop goes through all that a query, a file or an answer returned, or the
collection is a table of pandas or numpy. Otherwise it is possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts
from faultkit.code.facts.facts import is_within
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.data_sizes import is_data, is_few, is_over_data, last_word
from faultkit.code.rules.vocabulary.loaded_lists import is_over_loaded
from faultkit.code.rules.vocabulary.repetition import is_over_items

_SORTS = frozenset(
    ("sorted", "sort.Slice", "sort.Strings", "sort.Ints", "slices.Sort", "java.util.Collections.sort")
)
_SORT_METHODS = frozenset(
    (
        "sort", "Sort", "sortBy", "sortWith", "sortByDescending", "sortedBy", "sortedWith", "sorted",
        "sort_by", "sort_by_key", "sort_unstable", "sort_unstable_by", "sort_unstable_by_key", "OrderBy",
        "OrderByDescending",
    )
)  # fmt: skip
_SORTED = frozenset(name.rpartition(".")[2] for name in _SORTS)
_PARTS = lazy_regex(r"(page|chunk|batch|batche|group)s$", re.IGNORECASE)
"""Lists of lists: each round adds many."""
_FRAMES = ("pandas.concat", "pandas.DataFrame.append", "numpy.append", "numpy.concatenate", "numpy.vstack")


def _check(facts: Facts) -> Iterator[Hit]:
    for each in facts.assignments if facts.loops else ():
        if each.value is None or len(each.targets) != 1 or each.operator not in ("=", ":="):
            continue
        name, text = each.targets[0], each.value.text
        if name not in text:
            continue
        copied = _is_copy(name, text, each, facts) or _is_sum_of_lists(name, text, each, facts)
        if not copied and not _is_framed(name, each.call, text):
            continue
        if each.is_constant or not (copied or facts.loops_around(each)):
            continue
        if copied and not _may_be_long(each, name, facts):
            continue
        sure = not copied or any(is_over_loaded(loop, facts) for loop in facts.loops_around(each))
        what = f"{name} is copied whole for every item that is added"
        yield Hit(each.span, what, LIKELY if sure else POSSIBLE)
    yield from _reduced(facts)
    yield from _sorted(facts)


def _may_be_long(added: Assignment, name: str, facts: Facts) -> bool:
    """Return whether a loop over data, or the function itself again, adds to it; not to a part of an item."""
    loops = facts.loops_around(added)
    head = name.partition(".")[0]
    if not loops or any(head in loop.targets for loop in loops):
        return False
    scope = facts.named_function_of(added)
    recurs = scope is not None and any(is_within(each.span, added.span) for each in facts.callers_of(scope))
    return recurs or any(is_over_data(loop, facts) or _PARTS.search(last_word(loop.over)) for loop in loops)


def _is_copy(name: str, text: str, added: Assignment, facts: Facts) -> bool:
    """Return whether it copies: `xs + [x]`, `[...xs, x]`, `{...xs, [k]: v}`, `xs.concat(x)`, `[*xs, x]`."""
    bare = text.replace(" ", "")
    if bare.startswith(f"{name}.concat("):
        return any(
            each.value is not None and each.value.text.startswith("[")
            for each in facts.assignments_to(name, added)
        )
    return bare.startswith((f"{name}+[", f"[...{name},", f"{{...{name},", f"[*{name},"))


def _is_sum_of_lists(name: str, text: str, added: Assignment, facts: Facts) -> bool:
    """Return whether lists are added: `found = found + more(x)`, where `found` began as a list."""
    if not text.startswith(f"{name} + ") or facts.language not in ("python", "kotlin"):
        return False
    return any(
        each is not added
        and name in each.targets
        and each.value is not None
        and each.value.text.startswith(("[", "listOf", "emptyList", "mutableListOf"))
        and facts.function_of(each) is facts.function_of(added)
        for each in facts.assignments
    )


def _is_framed(name: str, call: Call | None, text: str) -> bool:
    return call is not None and call.name in _FRAMES and name in re.findall(r"\w+", text)


_STEPS = lazy_regex(r"\.(?:filter|map|flatMap|slice|sort|toSorted|concat)\(.*", re.DOTALL)
"""What is done with the items of a list before it is reduced."""


def _reduced(facts: Facts) -> Iterator[Hit]:
    """Yield `xs.reduce((all, x) => [...all, x], [])`."""
    if facts.language not in JAVASCRIPT:
        return
    for call in facts.calls_of_method("reduce"):
        given = call.argument(place=0)
        if given is None or given.value.shape != "function":
            continue
        first = re.match(r"\(?\s*(\w+)", given.value.text)
        over = _STEPS.sub("", call.receiver_written)
        if is_few(over) or not is_data(over):
            continue
        if first and re.search(rf"[\[{{]\s*\.\.\.{first[1]}\s*,", given.value.text):
            yield Hit(call.span, f"{call.written}() copies all it has for every item", LIKELY)


def _sorted(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method(*_SORT_METHODS, *_SORTED) if facts.loops else ():
        by_method = call.method in _SORT_METHODS and bool(call.receiver_written)
        if facts.language in (*JAVASCRIPT, "python", "go", "java"):
            by_method = call.method == "sort" and bool(call.receiver_written)
        if call.name not in _SORTS and not by_method:
            continue
        loops = [
            loop
            for loop in facts.loops_around(call)
            if is_over_items(loop) or loop.kind in ("while", "endless")
        ]
        first = call.argument(place=0)
        subject = call.receiver_written if by_method and not call.name.startswith("java.util.Coll") else (
            "" if first is None else first.value.text
        )  # fmt: skip
        if not loops or not re.fullmatch(r"[A-Za-z_][\w.]*", subject):
            continue
        loop = loops[-1]
        if not is_over_data(loop, facts) and loop.kind not in ("while", "endless"):
            continue
        after = facts.syntax.source[call.span.end : loop.span.end].lstrip(b" \t\r\n;)")
        if after.startswith((b"return", b"break", b"raise", b"throw")):
            continue
        head = subject.partition(".")[0]
        changes = any(
            is_within(each.span, loop.body) and head in {name.partition(".")[0] for name in each.targets}
            for each in facts.assignments
        )
        if head in {word for name in loop.targets for word in re.findall(r"\w+", name)} or changes:
            continue
        yield Hit(
            call.span,
            f"{call.written}() sorts {subject} again in every round",
            LIKELY if _grows(subject, call, facts) and is_over_loaded(loop, facts) else POSSIBLE,
        )


def _grows(name: str, call: Call, facts: Facts) -> bool:
    loop = facts.loops_around(call)[-1]
    return any(
        each.receiver_written == name and each.method in ("append", "push", "add", "insert", "extend", "Add")
        for each in facts.within(facts.calls, loop.body)
    )


RULE = Rule(
    id="FK-P010",
    slug="copied-or-sorted-in-loop",
    title="Collection copied or sorted in a loop",
    why="The work grows with the square of the data, and the garbage with it.",
    fix="Append in place and sort once at the end, or use a heap or a sorted structure.",
    kind="performance",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
