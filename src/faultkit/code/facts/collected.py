"""What one walk over a tree finds, still as nodes: the values that `collect` makes and `resolve` reads."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import TypeAlias

from faultkit.code.facts.fact_values import CallFlags, Loop, Step
from faultkit.code.facts.grammar import Binding, Grammar, ParameterParts, TryParts
from faultkit.code.languages.syntax import Node, Span, Syntax


@dataclass(eq=False, slots=True)
class RawScope:
    """A function or lambda as a node, with its bindings."""

    node: Node
    span: Span
    body: Span
    owner: str
    outer: RawScope | None
    is_async: bool
    parameters: tuple[ParameterParts, ...]
    decorators: tuple[Node, ...]
    receiver: str = ""
    name: str = ""
    """Empty until the walk is at its end."""
    given_to: RawCall | None = None
    """The call that has it among its arguments."""
    bound: dict[str, list[RawBinding]] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class RawBinding:
    """One value that a name receives."""

    at: int
    """Offset from which the name has this value."""
    value: Node | None
    type: Node | None
    scope: RawScope | None
    is_first: bool = True
    """Whether it is the first name on the left side; the values of the others are unknown."""


@dataclass(eq=False, slots=True)
class RawAssignment:
    """An assignment with the scope it stands in."""

    binding: Binding
    node: Node
    scope: RawScope | None
    owner: str
    name: str = ""
    """The target, if it is one plain name."""


@dataclass(eq=False, slots=True)
class RawCall:
    """A call with the scope it stands in and what surrounds it."""

    node: Node
    kind: str
    scope: RawScope | None
    owner: str
    flags: CallFlags
    callee: Node | None
    own_name: str
    """The method, if it stands beside the callee."""

    @property
    def is_managed(self) -> bool:
        return self.flags[1]

    @property
    def is_returned(self) -> bool:
        return self.flags[4]


_new_tuple = tuple.__new__

RawAccess: TypeAlias = tuple[Node, RawScope | None, str]
"""A read of a name or path, with the scope and the type that it stands in."""


@dataclass
class CollectedNodes:
    """Everything that one walk found."""

    syntax: Syntax
    grammar: Grammar
    imports: dict[str, str] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)
    scopes: list[RawScope] = field(default_factory=list)
    calls: dict[int, RawCall] = field(default_factory=dict)
    """Calls by the id of the node, in the order of the text."""
    assignments: list[RawAssignment] = field(default_factory=list)
    accesses: list[RawAccess] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    tries: list[tuple[Node, TryParts]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    texts: list[tuple[Node]] = field(default_factory=list)
    forks: list[tuple[Node, TryParts | None]] = field(default_factory=list)
    """Nodes that choose one of several parts; of a try, also its parts."""
    classes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    managed: list[tuple[Node, Span]] = field(default_factory=list)
    fields: dict[tuple[str, str], list[RawBinding]] = field(default_factory=dict)
    """Bindings of members, by type and name."""
    top: dict[str, list[RawBinding]] = field(default_factory=dict)
    defined: dict[str, list[RawScope | None]] = field(default_factory=dict)
    """Names of functions that are declared, with the scopes they are declared in."""


def span(node: Node) -> Span:
    """Return the bytes of a node."""
    # As `Span(*node.byte_range)`, without a function of Python in between: a file has a thousand spans.
    return _new_tuple(Span, node.byte_range)


def place_of(binding: RawBinding) -> int:
    """Return the offset from which a binding holds: the order of the bindings of a name."""
    return binding.at


def bind(bound: list[RawBinding], new: RawBinding) -> None:
    """Add a binding in the order of `at`, so that those before a place are found by bisection."""
    if bound and bound[-1].at > new.at:
        insort(bound, new, key=place_of)
    else:
        bound.append(new)
