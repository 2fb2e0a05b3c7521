"""Finds lists that are used as queues: items are added at the end and taken from the front.

Evidence: the list is compared with a limit that is large, or holds, by its name, work or what happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.rules.rule import CSHARP, JAVA, KOTLIN, LIKELY, POSSIBLE, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.data_sizes import is_few

_ADDS = frozenset(("append", "extend", "push", "add", "Add", "AddRange", "addAll", "extend_from_slice"))
_TAKES = {
    "python": "pop",
    "java": "remove",
    "kotlin": "removeAt",
    "csharp": "RemoveAt",
    "rust": "remove",
}
_ARRAYS = frozenset(
    ("java.util.ArrayList", "java.util.List", "List", "IList", "Vec", "std.vec.Vec", "MutableList", "list")
)
_MADE = lazy_regex(
    r"\[\]$|\[\w+\]$|list\(|ArrayList|mutableListOf|arrayListOf|new List<|\bVec\b|vec!|new\(\)|List<"
)
_SMALL = lazy_regex(
    r"arg|token|part|stack|path|word|lines?$|history|undo|tab|level|param|option|column|char|segment|field",
    re.IGNORECASE,
)
"""Names of lists that stay short."""
_OF_WORK = lazy_regex(
    r"queue|pending|todo|work|frontier|backlog|buffer|window|recent|event|sample|message|task|job|visit",
    re.IGNORECASE,
)
_SHORT = lazy_regex(r"[<>]=?\s*(\d{1,3})\b(?![_\d])")


def _check(facts: Facts) -> Iterator[Hit]:
    seen = set[tuple[str, str]]()
    for call in facts.calls_of_method(_TAKES[facts.language]):
        scope = facts.named_function_of(call)
        first = call.argument(place=0)
        if scope is None or first is None or first.value.text != "0" or len(call.positional) != 1:
            continue
        name = call.receiver_written.removeprefix("this.").removeprefix("self.")
        if not re.fullmatch(r"\w+", name) or is_few(name) or _SMALL.search(name):
            continue
        if (scope.owner, name) in seen or not _is_array(call, name, facts):
            continue
        if _is_only_item(call, name, facts):
            continue
        if _is_window(name, scope, facts) or _is_work_list(call, name, facts):
            seen.add((scope.owner, name))
            limited = re.search(rf"\b{re.escape(name)}\b[^\n;]*(?:[<>]|==)", facts.text(scope.body))
            sure = limited is not None or _OF_WORK.search(name) is not None
            what = f"{call.written}(0) moves every other item of the list"
            yield Hit(call.span, what, LIKELY if sure else POSSIBLE)


def _is_array(call: Call, name: str, facts: Facts) -> bool:
    """Return whether the list keeps its items in an array, by its type or by what makes it."""
    if call.receiver in _ARRAYS:
        return True
    made = [each for each in facts.assignments if each.targets in ((name,), (f"self.{name}",))]
    return any(
        each.type in _ARRAYS or (each.value is not None and _MADE.search(each.value.text)) for each in made
    ) and not any(each.value is not None and re.search("[dD]eque|Linked", each.value.text) for each in made)


def _is_only_item(call: Call, name: str, facts: Facts) -> bool:
    """Return whether a condition around says that the list has a few items: `if (docs.Count == 1)`."""
    few = re.compile(rf"\b{re.escape(name)}\b[\w.()]*\s*===?\s*[1-9]\b")
    return any(
        step.kind == "branch" and is_within(call.span, step.span) and few.search(step.text)
        for step in facts.steps
    )


def _is_window(name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a member gets an item in each call, and loses the oldest one."""
    if f"self.{name}" not in facts.assigned_names:
        return False
    text = facts.text(scope.body)
    limit = re.search(rf"\b{re.escape(name)}\b[^\n;]*?(?=[<>]=?\s*\d)([<>]=?\s*[\d_]+)", text)
    if limit is not None and _SHORT.fullmatch(limit[1].replace("_", "")):
        return False  # A hundred items are moved quickly.
    inside = facts.within(facts.calls, scope.body)
    return any(each.method in _ADDS and _is_on(each, name) for each in inside)


def _is_work_list(call: Call, name: str, facts: Facts) -> bool:
    """Return whether a `while` loop takes the next item, and what it finds is added to the same list."""
    around = [loop for loop in facts.loops_around(call) if loop.kind in ("while", "endless")]
    return bool(around) and any(
        each.method in _ADDS and _is_on(each, name) for each in facts.within(facts.calls, around[-1].body)
    )


def _is_on(call: Call, name: str) -> bool:
    return call.receiver_written.removeprefix("this.").removeprefix("self.") == name


RULE = Rule(
    id="FK-P040",
    slug="list-as-queue",
    title="List used as a queue",
    why="To take the first item of a list moves all others: a window of 100,000 items costs that many moves "
    "for each new one.",
    fix="Use a deque: collections.deque, ArrayDeque, Queue<T>, VecDeque.",
    kind="performance",
    severity="low",
    languages=(*PYTHON, *JAVA, *KOTLIN, *CSHARP, *RUST),
    check=_check,
    by_default=False,
    words=(b".pop(0)", b".remove(0)", b".removeAt(0)", b".RemoveAt(0)"),
)
