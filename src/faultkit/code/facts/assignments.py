"""Assignments as values. What rules ask of few of them is read from the text when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import attrgetter
from typing import Any, Protocol

from faultkit.code.facts.fact_values import Call, Scope, Value
from faultkit.code.facts.groups import grouped, order_of
from faultkit.code.languages.syntax import Span


class AssignmentReader(Protocol):
    """Reads the rest of an assignment from the text when it is asked for."""

    def value_of(self, raw: Any) -> Value | None: ...

    def type_of(self, raw: Any) -> str: ...

    def call_of(self, raw: Any) -> Call | None: ...

    def line_of(self, raw: Any) -> int: ...


_UNREAD: Any = object()


class Assignment:
    """A value that one or more names receive. Equal only to itself."""

    __slots__ = (
        "_call", "_raw", "_reader", "_type", "_value", "is_constant", "operator", "owner", "scope", "span",
        "targets",
    )  # fmt: skip

    targets: tuple[str, ...]
    """Targets as written, with `self.` for `this.`."""
    span: Span
    scope: Scope | None
    """The function; None at the top of a file. In the body of a class, `owner` names the class."""
    owner: str
    operator: str
    """`=`, `:=`, `+=`, `++` …"""
    is_constant: bool
    """`const`, `final`."""

    def __init__(
        self,
        targets: tuple[str, ...],
        span: Span,
        scope: Scope | None,
        owner: str,
        operator: str,
        is_constant: bool,
        reader: AssignmentReader,
        raw: object,
    ) -> None:
        """Keep what an assignment is; `reader` reads the rest from `raw`."""
        self.targets = targets
        self.span = span
        self.scope = scope
        self.owner = owner
        self.operator = operator
        self.is_constant = is_constant
        self._reader = reader
        self._raw = raw
        self._value: Value | None = _UNREAD
        self._type: str = _UNREAD
        self._call: Call | None = _UNREAD

    @property
    def value(self) -> Value | None:
        if self._value is _UNREAD:
            self._value = self._reader.value_of(self._raw)
        return self._value

    @property
    def type(self) -> str:
        """Return the declared type, resolved."""
        if self._type is _UNREAD:
            self._type = self._reader.type_of(self._raw)
        return self._type

    @property
    def call(self) -> Call | None:
        """Return the call whose result is assigned, without `await` and similar nodes."""
        if self._call is _UNREAD:
            self._call = self._reader.call_of(self._raw)
        return self._call

    @property
    def line(self) -> int:
        return self._reader.line_of(self._raw)


_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_PART = re.compile(r"[.\[]")
_FEW = 8
"""Assignments that are looked at one by one faster than by their functions."""


class AssignmentsByTarget:
    """Assignments by what they set: `a.b[0] = 1` sets a part of `a`, of `a.b` and of `a.b[0]`."""

    def __init__(self, assignments: Iterable[Assignment]) -> None:
        self.groups: dict[str, list[Assignment]] = {}
        self._by_scope: dict[str, dict[Scope | None, list[Assignment]]] = {}
        for each in assignments:
            for name in _names_set(each):
                self.groups.setdefault(name, []).append(each)

    def around(self, name: str, scopes: tuple[Scope, ...]) -> tuple[Assignment, ...]:
        """Return the assignments to a name in these functions and at the top of the file."""
        listed = self.groups.get(name, ())
        if len(listed) <= _FEW:
            return tuple(each for each in listed if each.scope is None or each.scope in scopes)
        if name not in self._by_scope:
            self._by_scope[name] = grouped(listed, attrgetter("scope"))
        by_scope = self._by_scope[name]
        found = [by_scope[scope] for scope in (None, *scopes) if scope in by_scope]
        if len(found) == 1:
            return tuple(found[0])
        return tuple(sorted((each for group in found for each in group), key=order_of))


def _names_set(each: Assignment) -> Iterable[str]:
    if len(each.targets) == 1 and each.targets[0].isidentifier():
        return each.targets
    names = {*each.targets}
    for target in each.targets:
        names.update(target[: part.start()] for part in _PART.finditer(target))
        if target[:1] in "{[":  # `const { rows } = …`
            names.update(_NAME.findall(target))
    return names
