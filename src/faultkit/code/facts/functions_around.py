"""Finds the functions around a place. Rules ask this of the same calls again and again: answers are kept."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from faultkit.code.facts.fact_values import Scope
from faultkit.code.languages.syntax import Span


class InnermostFunctions(dict[Span, Scope | None]):
    """The innermost function or lambda around each place that was asked for; None at the top of a file."""

    def __init__(self, scopes: Iterable[Scope]) -> None:
        super().__init__()
        self._scopes = sorted(scopes, key=lambda scope: scope.body.start)
        self._starts = [scope.body.start for scope in self._scopes]

    def __missing__(self, span: Span) -> Scope | None:
        start, end = span
        at = bisect_right(self._starts, start) - 1
        scope = self._scopes[at] if at >= 0 else None
        while scope is not None and not (scope.body.start <= start and end <= scope.body.end):
            scope = scope.outer
        self[span] = scope
        return scope


class FunctionChains(dict[Scope | None, tuple[Scope, ...]]):
    """Each function that was asked for with those around it, the outermost first."""

    def __missing__(self, scope: Scope | None) -> tuple[Scope, ...]:
        chain: tuple[Scope, ...] = () if scope is None else (*self[scope.outer], scope)
        self[scope] = chain
        return chain
