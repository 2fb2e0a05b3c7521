"""Finds `return`, `break` and `continue` in a `finally` block, which drop the error under way."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts, Try, is_within
from faultkit.code.rules.rule import CERTAIN, JAVA, JAVASCRIPT, KOTLIN, PYTHON, Hit, Rule


def _check(facts: Facts) -> Iterator[Hit]:
    blocks = [each for each in facts.tries if each.finally_ is not None]
    for step in facts.steps_of("return", "break", "continue") if blocks else ():
        for each in blocks:
            if each.finally_ is None or not is_within(step.span, each.finally_):
                continue
            if facts.function_of(step) is not facts.function_of(each):
                continue
            if step.kind != "return" and any(
                is_within(loop.span, each.finally_) for loop in facts.loops_around(step)
            ):
                continue
            if _is_kept(each, facts):
                continue
            yield Hit(step.span, f"{step.kind} in finally drops the error that is under way", CERTAIN)
            break


def _is_kept(each: Try, facts: Facts) -> bool:
    """Return whether a handler keeps the error in a variable, and the `finally` block looks at that."""
    late = "" if each.finally_ is None else facts.text(each.finally_)
    # `try { try { … } catch (e) { failure = e } } finally { … }`
    inner = [one for one in facts.tries if is_within(one.span, each.body)]
    handlers = (*each.handlers, *(handler for one in inner for handler in one.handlers))
    return any(
        re.search(rf"\b{re.escape(name)}\b", late)
        for handler in handlers
        for kept in facts.within(facts.assignments, handler.body)
        if handler.name and kept.value is not None and kept.value.text == handler.name
        for name in kept.targets
    )


RULE = Rule(
    id="FK-R132",
    slug="return-in-finally",
    title="Error dropped by finally",
    why="An exception that is under way is thrown away: the caller takes the failure for a success.",
    fix="Move the return behind the try statement.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *JAVA, *KOTLIN),
    check=_check,
    words=(b"finally",),
)
