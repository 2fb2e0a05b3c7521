"""Python: finds mutable default values, which all calls share.

It is shown if the function, or the class that keeps the value, changes it.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CERTAIN, LIKELY, POSSIBLE, PYTHON, Hit, Rule

_MAKERS = ("list()", "dict()", "set()", "[]", "{}")
_CHANGES = frozenset(["append", "add", "update", "pop", "remove", "insert", "extend", "setdefault", "clear"])


def _check(facts: Facts) -> Iterator[Hit]:
    for scope in facts.scopes:
        for each in scope.parameters:
            if each.default is None:
                continue
            changeable = each.default.shape in ("object", "list") and not each.default.text.startswith("(")
            if not changeable and each.default.text not in _MAKERS:
                continue
            sure = _confidence(each.name, scope.body, scope.owner, facts)
            if sure:
                yield Hit(each.default.span, f"all calls share the default of {each.name}", sure)


def _confidence(name: str, body: Span, owner: str, facts: Facts) -> float:
    """Return how sure it is that the default is changed; one that is only read does no harm."""
    if _is_changed(name, body, facts):
        return CERTAIN
    returned = any(step.kind == "return" and step.text == name for step in facts.within(facts.steps, body))
    stored = [
        each.targets[0]
        for each in facts.within(facts.assignments, body)
        if each.value is not None and each.value.text == name and each.targets[0].startswith("self.")
    ]
    others = [each.body for each in facts.scopes if each.owner == owner]
    if any(_is_changed(field, other, facts) for field in stored for other in others):
        return LIKELY
    return POSSIBLE if returned or stored else 0.0


def _is_changed(name: str, body: Span, facts: Facts) -> bool:
    """Return whether an object is changed before its name is given to another one: `x = x or []`."""
    changes = [
        call.span.start
        for call in facts.within(facts.calls, body)
        if call.receiver_written == name and call.method in _CHANGES
    ]
    made = list(facts.within(facts.assignments, body))
    changes += [each.span.start for each in made if f"{name}[]" in each.targets]
    own = min((each.span.start for each in made if each.targets == (name,)), default=body.end)
    return any(start < own for start in changes)


RULE = Rule(
    id="FK-R025",
    slug="mutable-default-argument",
    title="Mutable default argument",
    why="What one call puts into it is there in the next: data of one user turns up with another.",
    fix="Use None as the default and make the list or dict inside the function.",
    kind="reliability",
    severity="medium",
    languages=PYTHON,
    check=_check,
)
