"""Finds texts that are built by concatenation in a loop."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Facts, Scope
from faultkit.code.facts.facts import is_within
from faultkit.code.rules.rule import CSHARP, GO, JAVA, KOTLIN, LIKELY, POSSIBLE, PYTHON, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.data_sizes import is_over_data, last_word

_SHORT = lazy_regex(r"err|msg|message|path|prefix|indent|title", re.IGNORECASE)
"""Texts that stay short."""
_MANY = lazy_regex(
    r"(row|record|event|order|user|item|product|message|entry|entrie|log|transaction)s?$", re.I
)
_DESCRIBES = lazy_regex(r"(Go)?String|toString|__str__|__repr__|Error|describe")


def _check(facts: Facts) -> Iterator[Hit]:
    reported: set[tuple[str, Scope | None]] = set()
    for each in facts.assignments:
        if each.value is None or len(each.targets) != 1 or each.value.shape == "text":
            continue
        name = each.targets[0]
        if not _adds(each, name):
            continue
        around = facts.loops_around(each)
        if not any(is_over_data(loop, facts) for loop in around):
            continue
        # CPython adds to a text of a variable in place, but not to bytes or a member; lines and words are
        # too few to matter.
        if facts.language == "python" and (
            ("." not in name and not _is_bytes(name, each, facts))
            or not any(_MANY.search(last_word(loop.over)) for loop in around)
        ):
            continue
        scope = facts.function_of(each)
        if _SHORT.search(name) or (scope is not None and _DESCRIBES.match(scope.short_name)):
            continue
        if (name, scope) not in reported and _is_text(name, each, facts):
            reported.add((name, scope))
            mild: Severity | None = "low" if facts.language == "python" else None
            sure = POSSIBLE if facts.language == "python" else LIKELY
            yield Hit(each.span, f"{name} is copied whole for every piece that is added", sure, mild)


def _is_bytes(name: str, added: Assignment, facts: Facts) -> bool:
    return any(
        each.value is not None and each.value.text.startswith(('b"', "b'", "bytes("))
        for each in facts.assignments_to(name, added)
    )


def _adds(each: Assignment, name: str) -> bool:
    again = each.operator == "=" and each.value is not None and each.value.text.startswith(f"{name} + ")
    return each.operator == "+=" or again


def _is_text(name: str, added: Assignment, facts: Facts) -> bool:
    scope, loop = facts.function_of(added), facts.loops_around(added)[-1]
    given = [
        each
        for each in facts.assignments
        if name in each.targets and not _adds(each, name) and facts.function_of(each) is scope
    ]
    # A text that starts anew in each round stays short; a bytearray grows in place.
    if any(
        each.value is not None
        and (is_within(each.span, loop.body) or each.value.text.startswith("bytearray("))
        for each in given
    ):
        return False
    for each in given:
        if each.type in ("string", "String", "str", "kotlin.String") or (
            each.value is not None and each.value.shape == "text"
        ):
            return True
    return False


RULE = Rule(
    id="FK-P007",
    slug="text-built-in-loop",
    title="Text built by adding in a loop",
    why="Each addition copies all that is there: a text of a megabyte costs gigabytes of copying.",
    fix="Collect the pieces and join them once, or use strings.Builder or StringBuilder.",
    kind="performance",
    severity="medium",
    languages=(*PYTHON, *GO, *JAVA, *CSHARP, *KOTLIN),
    check=_check,
)
