"""Texts that are copied whole for every piece that is added."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.source.findings.facts import Assignment, Facts
from faultkit.source.findings.facts.facts import is_within
from faultkit.source.findings.rule import GO, JAVA, LIKELY, PYTHON, Hit, Rule


def _check(facts: Facts) -> Iterator[Hit]:
    for each in facts.assignments:
        if each.value is None or len(each.targets) != 1 or each.value.shape == "text":
            continue
        name = each.targets[0]
        again = each.operator == "=" and each.value.text.startswith(f"{name} + ")
        if each.operator != "+=" and not again:
            continue
        around = facts.loops_around(each)
        if around and _is_text(name, each, facts):
            # CPython can often add in place; Go and Java never do.
            yield Hit(each.span, f"{name} is copied whole for every piece that is added",
                      LIKELY, "low" if facts.language == "python" else None)  # fmt: skip


def _is_text(name: str, added: Assignment, facts: Facts) -> bool:
    scope, loop = facts.function_of(added), facts.loops_around(added)[-1]
    for each in facts.assignments:
        if each is added or name not in each.targets or facts.function_of(each) is not scope:
            continue
        if is_within(each.span, loop.body):
            return False
        if each.type in ("string", "String", "str") or (
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
    languages=(*PYTHON, *GO, *JAVA),
    check=_check,
)
