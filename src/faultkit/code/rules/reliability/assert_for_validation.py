"""Python: finds `assert` used to check input, which `python -O` removes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Scope, Step
from faultkit.code.rules.rule import LIKELY, POSSIBLE, PYTHON, Hit, Rule

_WITH_LITERAL = lazy_regex(r"([<>]=?|==|!=|\bin)\s*[\"'\d({\[-]|\d\s*[<>]")
_ASGI = {"scope", "receive"}
_TESTS = ("test_", "Test", "check", "_check", "assert", "_assert", "expect", "verify")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.imports_any("pytest", "unittest", "hypothesis"):
        return
    for step in facts.steps_of("assert"):
        scope = facts.named_function_of(step)
        if scope is None or scope.short_name.startswith(_TESTS) or scope.owner.startswith(_TESTS):
            continue
        if scope.short_name.startswith("_") and not scope.short_name.startswith("__"):
            continue  # Its callers are known.
        if {each.name for each in scope.parameters} >= _ASGI:
            continue  # The server guarantees the contents of the scope.
        route = facts.route_of(step)
        if route is not None:
            if not _is_of_request(step, route, facts):
                continue
            yield Hit(step.span, "python -O removes this check of a request", LIKELY)
        elif _checks_input(step.text, {each.name for each in scope.parameters}):
            yield Hit(step.span, "python -O removes this check of an argument", POSSIBLE)


_NARROWS = lazy_regex(r"\bisinstance\b|\bis (?:not )?None\b|\bsettings\.|\bis_authenticated\b|\bcallable\b")
"""What serves type checkers, or is about the program and not about a request."""


_ROOT = lazy_regex(r"^(?:await\s+|self\.|int\(|float\(|json\.loads\()*")


def _is_of_request(step: Step, route: Scope, facts: Facts) -> bool:
    """Return whether an assert looks at what a client sent: a parameter, or a value that was read of one."""
    if _NARROWS.search(step.text):
        return False
    words = {*re.findall(r"[A-Za-z_]\w*", step.text)} - {"self", "cls"}
    given = {each.name for each in route.parameters} - {"args", "kwargs"} | {"request"}
    if words & given:
        return True
    return any(
        each.value is not None and _ROOT.sub("", each.value.text).startswith(tuple(given))
        for word in words
        for each in facts.assignments_to(word, step)
    )


def _checks_input(condition: str, names: set[str]) -> bool:
    """Return whether a parameter is compared with a value; `isinstance` checks serve type checkers."""
    if any(word in condition for word in ("isinstance", "is not None", "is None")):
        return False
    words = {*re.findall(r"[A-Za-z_]\w*", condition)} - {"self", "cls"}
    return bool(words & names) and _WITH_LITERAL.search(condition) is not None


RULE = Rule(
    id="FK-R039",
    slug="assert-for-validation",
    title="Input checked with assert",
    why="Asserts are removed in optimised runs; otherwise they turn bad input into a 500.",
    fix="Raise an error that says what was expected, and answer with 400 or 422.",
    kind="reliability",
    severity="low",
    languages=PYTHON,
    check=_check,
)
