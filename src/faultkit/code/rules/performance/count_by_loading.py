"""Finds rows that are loaded only to be counted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.rule import CERTAIN, JAVA, JAVASCRIPT, LIKELY, PYTHON, Hit, Rule

_PYTHON = re.compile(r"(\.all|\.fetchall|\.objects(\.\w+\(\))*\.(all|filter|exclude))$")
_JAVA = re.compile(r"findAll\w*\(\)\.(size|isEmpty)$|getResultList\(\)\.(size|isEmpty)$")
_JAVASCRIPT = re.compile(r"(findMany|findAll|find|toArray)\(\)\.length$")


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named("len", "bool"):
        first = call.argument(place=0)
        if first is None or facts.language != "python":
            continue
        for each in facts.within(facts.calls, first.value.span):
            if each.span == first.value.span and _PYTHON.search(each.name) and not call.is_decorator:
                yield Hit(
                    call.span,
                    f"{call.written}() takes all rows of {each.written}() only to count them",
                    CERTAIN,
                )
    if facts.language == "java":
        for call in facts.calls_of_method("size", "isEmpty"):
            if (
                _JAVA.search(call.name)
                and call.origin is not None
                and f"{call.origin.method}(" in facts.text(call.span)
            ):
                yield Hit(call.span, "this takes all rows only to count them", CERTAIN)
    if facts.language in JAVASCRIPT and b"await" in facts.syntax.source:
        for read in facts.accesses:
            if _JAVASCRIPT.search(read.name) and read.origin is not None and "await" in facts.text(read.span):
                yield Hit(read.span, f"{read.origin.written}() takes all rows only to count them", LIKELY)


RULE = Rule(
    id="FK-P022",
    slug="count-by-loading",
    title="Rows loaded only to be counted",
    why="The database sends every row over the network for a number that it could compute itself.",
    fix="Ask for COUNT(*) or EXISTS: .count(), .exists(), countDocuments().",
    kind="performance",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *JAVA),
    check=_check,
)
