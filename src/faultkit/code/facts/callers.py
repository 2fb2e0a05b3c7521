"""The calls in a text of each function that rules ask for. Answers are kept."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from operator import attrgetter

from faultkit.code.facts.assignments import Assignment
from faultkit.code.facts.fact_values import Call, Scope
from faultkit.code.facts.groups import grouped, order_of
from faultkit.code.facts.nesting import start_of
from faultkit.code.languages.syntax import Syntax

_OWNERS = ("self", "Self", "cls")
_WITH_OVERLOADS = ("java", "csharp")
_DECLARED = re.compile(rb"(export\s+)?(default\s+)?(async\s+)?function\s*\*?\s*\w")


class Callers(dict[Scope, tuple[Call, ...]]):
    """The calls of functions. See `Facts.callers_of`.

    They are found by their name and object: of a large class, many methods have names that others have."""

    def __init__(self, calls: tuple[Call, ...], assignments: tuple[Assignment, ...], syntax: Syntax) -> None:
        super().__init__()
        self._by_name: dict[tuple[str, str], list[Call]] = grouped(calls, attrgetter("method", "receiver"))
        self._calls = calls
        self._assignments = assignments
        self._source = syntax.source
        self._language = syntax.language.name
        self._has_overloads = self._language in _WITH_OVERLOADS

    def __missing__(self, scope: Scope) -> tuple[Call, ...]:
        found = [*self._called(scope)] if scope.short_name else []
        known = self[scope] = tuple(sorted(found, key=order_of) if len(found) > 1 else found)
        return known

    def _called(self, scope: Scope) -> Iterator[Call]:
        name, is_method = scope.short_name, scope.is_method
        plain = self._by_name.get((name, ""))
        if plain and self._may_be_plain(scope):
            yield from (
                call for call in plain if not self._has_overloads or self._takes_arguments(scope, call)
            )
        for owner in {*_OWNERS, scope.owner, scope.name.rpartition(".")[0]} - {""} if is_method else ():
            called = self._by_name.get((name, owner), ())
            yield from (call for call in called if self._takes_arguments(scope, call))

        if self._extends(scope):
            yield from (call for call in self._by_method.get(name, ()) if _may_be_of(scope, call))

    @cached_property
    def _by_method(self) -> dict[str, list[Call]]:
        return grouped((call for call in self._calls if call.receiver), attrgetter("method"))

    def _extends(self, scope: Scope) -> bool:
        """Return whether a function is called on an object of a type that is declared elsewhere."""
        if self._language == "kotlin":
            return not scope.owner and scope.outer is None and "." in scope.name
        return (
            self._language == "csharp"
            and bool(scope.parameters)
            and b"(this " in self._source[scope.span.start : scope.body.start]
        )

    def _may_be_plain(self, scope: Scope) -> bool:
        """Return whether a function may be called without an object."""
        if self._has_overloads:
            return scope.is_method
        return self._language == "kotlin" or self._has_plain_name(scope)

    def _takes_arguments(self, scope: Scope, call: Call) -> bool:
        """Return whether the number of arguments fits, in languages with overloads. Asked last: to read
        arguments takes long."""
        if self._language == "java":
            return scope.takes(len(call.arguments))
        return self._language != "csharp" or len(call.arguments) <= len(scope.parameters)

    def _has_plain_name(self, scope: Scope) -> bool:
        """Return whether a plain name means the function: `done` of `{ done: () => done() }` is another."""
        if scope.is_method or not self._language.endswith(("script", "tsx")):
            return not scope.is_method
        if _DECLARED.match(self._source, scope.span.start):
            return True
        after = bisect_right(self._assignments, scope.span.start, key=start_of)
        return any(
            each.value is not None and each.value.span == scope.span and each.targets == (scope.short_name,)
            for each in self._assignments[max(0, after - 3) : after]
        )


def _may_be_of(scope: Scope, call: Call) -> bool:
    """Return whether an extension function may be called on an object: its type is the same, or unknown."""
    type_ = scope.name.rpartition(".")[0] if not scope.owner else scope.parameters[0].type
    known = call.receiver.rpartition(".")[2]
    is_type = known.isidentifier() and known[:1].isupper()
    return not is_type or known in (type_.rpartition(".")[2], scope.owner)
