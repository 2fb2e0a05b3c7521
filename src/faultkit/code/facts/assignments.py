"""Assignments as values. What rules ask of few of them is read from the text when it is asked for."""

from __future__ import annotations

from typing import Any, Protocol

from faultkit.code.facts.fact_values import Call, Scope, Value
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
