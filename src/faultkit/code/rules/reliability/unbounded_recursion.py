"""Finds recursion without an end, and retries by recursion.

Evidence that it matters: the call is repeated after each error, without a count. A function that always calls
itself would fail in its first call: it mostly calls another one of the same name, so that it is `POSSIBLE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule

_RETRIES_ONLY = ("kotlin", "csharp", "rust")
"""Languages in which overloads, or code that a macro writes, may end a recursion."""
_COUNTS = lazy_regex(r"attempt|tries|retr|depth|level|left|remaining|limit|count|budget", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    for scope in facts.scopes:
        # Few functions call themselves; that is found out before the arguments are read.
        named = facts.calls_of_method(scope.short_name) if scope.name else ()
        if not any(facts.function_of(call) is scope for call in facts.within(named, scope.body)):
            continue
        for call in facts.callers_of(scope):
            if facts.function_of(call) is not scope or call.is_launched:
                continue
            if not call.receiver and facts.language in JAVASCRIPT and _is_property(scope, facts):
                continue  # The function of that name around it.
            if call.receiver and call.receiver_written not in ("self", "cls", scope.owner):
                continue  # Another object of the same class.
            if (
                facts.language in JAVASCRIPT
                and call.receiver_written == scope.owner != ""
                and not _is_static(scope, facts)
            ):
                continue  # A static function of the same name.
            if facts.language in ("java", "kotlin", "csharp") and not _is_same_overload(call, scope):
                continue
            if _in_handler(call, facts) and not _counted(call, scope):
                yield Hit(
                    call.span, f"{scope.short_name} calls itself after every error, without a count", LIKELY
                )
            elif facts.language in _RETRIES_ONLY:
                continue
            elif not _has_way_out(call, scope, facts):
                yield Hit(call.span, f"{scope.short_name} calls itself with nothing that ends it", POSSIBLE)


_SET = lazy_regex(rb"\.\s*[\w$]+\s*=\s*$")


def _is_property(scope: Scope, facts: Facts) -> bool:
    """Return whether a function is the value of a property, by whose name alone it cannot be called."""
    return _SET.search(facts.syntax.source[max(0, scope.span.start - 80) : scope.span.start]) is not None


def _is_static(scope: Scope, facts: Facts) -> bool:
    return facts.text(scope.span).startswith(("static", "async static"))


def _is_same_overload(call: Call, scope: Scope) -> bool:
    """Return whether the arguments have the types of the parameters: they are these, or sums with them.

    An overload with as many parameters may stand in this text, or in a base class of another one.
    """
    for argument, parameter in zip(call.positional, scope.parameters, strict=False):
        name, text = parameter.name, argument.value.text
        if not text.startswith(name) or _ADDED.fullmatch(text, len(name)) is None:
            return False
    return True


_ADDED = lazy_regex(r"(\s*[-+]\s*\w+)?")


def _in_handler(call: Call, facts: Facts) -> bool:
    """Return whether the call is unconditional: a condition there would be the end."""
    for each in facts.tries:
        for handler in each.handlers:
            if is_within(call.span, handler.body):
                branches = [step for step in facts.within(facts.steps, handler.body) if step.kind == "branch"]
                changes = any(facts.within(facts.assignments, handler.body))
                return not changes and not any(is_within(call.span, step.span) for step in branches)
    return False


def _counted(call: Call, scope: Scope) -> bool:
    # A retry passes the same arguments on; other arguments change something.
    own = [each.name for each in scope.parameters if each.name not in ("self", "cls")]
    given = [each.value.text.removeprefix("&mut ").lstrip("&") for each in call.arguments]
    if given and given != own[: len(given)] and given != own[-len(given) :]:
        return True
    texts = [*(each.name for each in scope.parameters), *(each.value.text for each in call.arguments)]
    return any(_COUNTS.search(text) for text in texts)


def _has_way_out(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether something may prevent the call: a branch, a loop, a try, a short circuit, a lambda."""
    for step in facts.within(facts.steps, scope.body):
        if step.kind in ("branch", "yield"):
            return True
        if step.kind == "binary" and step.word in ("and", "or", "&&", "||", "??"):
            return True
        if step.kind in ("return", "raise") and step.span.end <= call.span.start:
            return True
    return bool(list(facts.within(facts.loops, scope.body)) or list(facts.within(facts.tries, scope.body)))


RULE = Rule(
    id="FK-R021",
    slug="unbounded-recursion",
    title="Recursion without an end",
    why="The stack overflows, or a dependency that is down is called as fast as the machine can.",
    fix="Add a condition that ends it, or a counter; retry in a loop with a limit and waits.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
