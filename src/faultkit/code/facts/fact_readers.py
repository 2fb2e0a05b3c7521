"""Reads from the text what rules ask of few calls and assignments, when they ask for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from faultkit.code.facts.arguments import arguments_of
from faultkit.code.facts.arms import outcomes
from faultkit.code.facts.collected import CollectedNodes, RawAssignment, RawCall, RawScope, span
from faultkit.code.facts.expressions import unwrap, value_of
from faultkit.code.facts.fact_values import Argument, Call, Value
from faultkit.code.facts.grammar import Binding
from faultkit.code.facts.paths import Paths
from faultkit.code.languages.syntax import Node, Span, Syntax


class FactReader:
    """Reads the rest of calls and assignments, as `CallReader` and `AssignmentReader` ask for it."""

    def __init__(
        self,
        found: CollectedNodes,
        paths: Paths,
        call: Callable[[Node], Call],
        imported_name: Callable[[str], str],
    ) -> None:
        self._found = found
        self._grammar = found.grammar
        self._line = found.syntax.line
        self._paths = paths
        self._call = call
        self._imported_name = imported_name

    def targets(self, binding: Binding, scope: RawScope | None) -> tuple[str, ...]:
        """Return targets as written."""
        prefix = "self." if binding.is_field else ""
        return tuple(prefix + self._paths.written(each, scope) for each in binding.targets)

    # What `Assignment` asks for later.

    def value_of(self, raw: RawAssignment) -> Value | None:
        return None if raw.binding.value is None else value_of(self._grammar, raw.binding.value)

    def type_of(self, raw: RawAssignment) -> str:
        type_ = raw.binding.type
        return "" if type_ is None else self._imported_name(self._grammar.type_name(type_))

    def call_of(self, raw: RawAssignment) -> Call | None:
        value = raw.binding.value
        inner = None if value is None else unwrap(self._grammar, value)
        return None if inner is None or inner.id not in self._found.calls else self._call(inner)

    def line_of(self, raw: RawAssignment) -> int:
        return self._line(raw.node.start_byte)

    # What `Call` asks for later.

    def arguments_of(self, raw: RawCall) -> tuple[Argument, ...]:
        return arguments_of(self._grammar, raw.node)

    def callee_of(self, raw: RawCall) -> Span:
        node, callee = raw.node, raw.callee or raw.node
        if not raw.own_name:
            return span(callee)
        named = node.child_by_field_name("name")
        return Span(node.start_byte, callee.end_byte if named is None else named.end_byte)

    def lines_of(self, raw: RawCall) -> tuple[int, int]:
        start, end = raw.node.byte_range
        return self._line(start), self._line(max(start, end - 1))

    def assigned_of(self, raw: RawCall) -> tuple[str, ...]:
        binding = self._assigned.get(raw.node.id)
        return () if binding is None else self.targets(binding, raw.scope)

    @cached_property
    def _assigned(self) -> dict[int, Binding]:
        """Return what each call is assigned to, by the id of its node."""
        targets: dict[int, Binding] = {}
        for raw in self._found.assignments:
            if raw.binding.value is not None:
                inner = unwrap(self._grammar, raw.binding.value)
                for each in (inner, *outcomes(inner, self._grammar)):
                    targets[unwrap(self._grammar, each).id] = raw.binding
        return targets


class BareReader:
    """Reads what is no call, but is used as one: `lock` of `with lock:`, a decorator that is not called."""

    def __init__(self, syntax: Syntax) -> None:
        self._line = syntax.line

    def callee_of(self, raw: tuple[Node, Node]) -> Span:
        return span(raw[1])

    def lines_of(self, raw: tuple[Node, Node]) -> tuple[int, int]:
        line = self._line(raw[0].start_byte)
        return line, line

    def assigned_of(self, raw: object) -> tuple[str, ...]:
        return ()

    def arguments_of(self, raw: object) -> tuple[Argument, ...]:
        return ()
