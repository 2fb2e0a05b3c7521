"""Finds `return`, `break` and `continue` in a `finally` block, which drop the error under way."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts, is_within
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
            yield Hit(step.span, f"{step.kind} in finally drops the error that is under way", CERTAIN)
            break


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
