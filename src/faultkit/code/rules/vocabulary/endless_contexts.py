"""Go: contexts without a deadline, whatever they are wrapped in."""

from __future__ import annotations

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts

_BARE = lazy_regex(r"^context\.(?:Background|TODO)\(\)$|^context\.WithoutCancel\(")
_WRAPS = lazy_regex(
    r"^(?:context\.(?:WithCancel\w*|WithValue)|metadata\.(?:NewOutgoingContext|AppendToOutgoingContext)"
    r"|\w+\.ContextWith\w+)\(\s*([\w.()]+?)\s*[,)]"
)
"""Contexts that have the deadline of the one they are made of."""
_LEVELS = 3


def is_endless_context(text: str, place: Call, facts: Facts, levels: int = _LEVELS) -> bool:
    """Return whether a context has no deadline, as far as this text shows where it comes from."""
    if _BARE.match(text):
        return True
    if (wrapped := _WRAPS.match(text)) is not None:
        return is_endless_context(wrapped[1], place, facts, levels)
    if not text.isidentifier() or levels == 0:
        return False
    made = [each for each in facts.assignments_to(text, place) if each.targets[0] == text]
    values = [each.value.text for each in made if each.value is not None]
    # `ctx = metadata.AppendToOutgoingContext(ctx, …)` has the deadline that `ctx` had before.
    others = [each for each in values if (found := _WRAPS.match(each)) is None or found[1] != text]
    if len(values) < len(made):
        return False
    if others:
        return all(value != text and is_endless_context(value, place, facts, levels - 1) for value in others)
    return _is_given_endless(text, place, facts, levels)


def _is_given_endless(name: str, place: Call, facts: Facts, levels: int) -> bool:
    """Return whether all callers of a function give it such a context; others may call what is exported."""
    scope = facts.named_function_of(place)
    names = [] if scope is None else [each.name for each in scope.parameters]
    if scope is None or name not in names or scope.short_name[:1].isupper():
        return False
    given = [call.argument(place=names.index(name)) for call in facts.callers_of(scope)]
    callers = facts.callers_of(scope)
    return bool(given) and all(
        each is not None and is_endless_context(each.value.text, caller, facts, levels - 1)
        for each, caller in zip(given, callers, strict=True)
    )
