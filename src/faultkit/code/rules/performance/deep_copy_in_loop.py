"""Finds deep copies of the same object in every round of a loop.

Evidence: the loop runs for each request or message, and does nothing that takes longer than a copy, such as
a request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.data_sizes import is_over_data
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.repetition import frequency_of

_COPIES = frozenset(
    ("copy.deepcopy", "structuredClone", "lodash.cloneDeep", "lodash/cloneDeep", "_.cloneDeep", "cloneDeep")
)
_READS = ("JSON.parse", "json.loads")
"""Of what was written just before, they make a copy."""


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named(*_COPIES, *_READS):
        subject = _subject(call)
        if not re.fullmatch(r"[A-Za-z_][\w.]*", subject):
            continue
        loops = [loop for loop in facts.loops_around(call) if is_over_data(loop, facts)]
        if not loops:
            continue
        head = subject.partition(".")[0]
        mine = {
            word
            for loop in facts.loops_around(call)
            for name in loop.targets
            for word in re.findall(r"\w+", name)
        }
        made = any(
            head in {name.partition(".")[0] for name in each.targets}
            and "." not in each.targets[0]
            and "[" not in each.targets[0]
            for each in facts.within(facts.assignments, loops[0].body)
        )
        if head not in mine and not made:
            often = frequency_of(loops[0], facts) in ("request", "message")
            asks = any(each.call for each in remote_calls(facts) if is_within(each.call.span, loops[0].body))
            what = f"{subject} is copied as a whole for every item"
            yield Hit(call.span, what, LIKELY if often and not asks else POSSIBLE)


def _subject(call: Call) -> str:
    """Return what a call copies deeply; empty if it copies nothing."""
    first = call.argument(place=0)
    if first is None:
        return ""
    if call.name in _COPIES:
        return first.value.text
    found = re.fullmatch(r"(?:JSON\.stringify|json\.dumps)\(([\w.]+)\)", first.value.text)
    return "" if found is None else found[1]


RULE = Rule(
    id="FK-P037",
    slug="deep-copy-in-loop",
    title="Whole object copied for every item",
    why="The time is the size of the object times the number of items, and most of the copy stays unchanged.",
    fix="Copy only the part that changes, or build each item from its own values.",
    kind="performance",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT),
    check=_check,
    words=(b"deepcopy", b"structuredClone", b"cloneDeep", b"stringify", b"json.dumps"),
)
