"""How a language writes what facts are made of, as data: node types, and functions where types do not do.

One `Grammar` a language family, each in its own file beside this one. It only reads nodes: names are resolved
and facts are made in `faultkit.code.facts.build`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from faultkit.code.dialects.dialect import text_of
from faultkit.code.facts.model import LoopKind, Shape
from faultkit.code.syntax import Node


@dataclass(frozen=True, slots=True)
class Binding:
    """Names that get a value: an assignment, declaration, `with … as`, parameter or field."""

    targets: tuple[Node, ...]
    value: Node | None = None
    type: Node | None = None
    operator: str = "="
    is_constant: bool = False
    is_field: bool = False
    """A member of the type it stands in."""


@dataclass(frozen=True, slots=True)
class LoopParts:
    kind: LoopKind
    body: Node
    over: Node | None = None
    targets: tuple[Node, ...] = ()
    is_async: bool = False


@dataclass(frozen=True, slots=True)
class CatchParts:
    node: Node
    body: Node
    types: tuple[Node, ...] = ()
    name: Node | None = None


@dataclass(frozen=True, slots=True)
class TryParts:
    body: Node
    handlers: tuple[CatchParts, ...]
    finally_: Node | None = None


@dataclass(frozen=True, slots=True)
class ParameterParts:
    name: Node
    type: Node | None = None
    default: Node | None = None


def no_nodes(node: Node) -> Iterable[Node]:
    return ()


def nothing(node: Node) -> None:
    return None


def argument_children(node: Node) -> Iterable[Node]:
    listed = node.child_by_field_name("arguments")
    return () if listed is None else [each for each in listed.named_children if not each.is_extra]


def function_field(node: Node) -> Node | None:
    return node.child_by_field_name("function")


def no_name(node: Node) -> str:
    return ""


def last_child_text(node: Node) -> str:
    """The condition or value of a statement: all after its keyword."""
    children = [each for each in node.named_children if not each.is_extra]
    return text_of(children[0]) if children else ""


@dataclass(frozen=True)
class Grammar:
    names: frozenset[str]
    """Leaves that are identifiers."""
    selves: frozenset[str]
    """Texts of names that mean the object itself: `self`, `this`."""
    members: dict[str, tuple[str, str]]
    """Types of `a.b`, with the fields of `a` and `b`."""
    subscripts: dict[str, str]
    """Types of `a[b]`, with the field of `a`."""
    calls: frozenset[str]
    makers: frozenset[str]
    """Types that construct: `new X()`, `X{}`. Also to be in `calls`."""
    functions: frozenset[str]
    """Functions, methods, lambdas."""
    types: frozenset[str]
    """Classes and what else methods stand in."""
    transparent: frozenset[str]
    """Around an expression without changing what it is: parentheses, casts, `await`, `&`."""
    awaits: frozenset[str]
    shapes: dict[str, Shape]
    statements: frozenset[str]
    """Around an expression that stands alone."""
    returns: frozenset[str]
    steps: dict[str, str]
    """Node types with the kind of step that they are; see `model.StepKind`."""
    binaries: frozenset[str]
    texts: frozenset[str]
    holes: frozenset[str]
    """Inside a text, what makes it no literal."""
    empty: frozenset[str]
    """Statements that do nothing."""
    managed: frozenset[str]
    """Items in the head of a `with` or `using`."""
    deferred: frozenset[str] = frozenset()
    launched: frozenset[str] = frozenset()
    bindings: dict[str, Callable[[Node], Iterable[Binding]]] = field(default_factory=dict)
    imports: dict[str, Callable[[Node], Iterable[tuple[str, str]]]] = field(default_factory=dict)
    """Name in the text and what it stands for. A name `*` brings all of a module."""
    loops: dict[str, Callable[[Node], LoopParts | None]] = field(default_factory=dict)
    tries: dict[str, Callable[[Node], TryParts | None]] = field(default_factory=dict)
    callee: Callable[[Node], Node | None] = function_field
    own_name: Callable[[Node], str] = no_name
    """Of a call that names its method beside and not in its callee, as Java does."""
    arguments: Callable[[Node], Iterable[Node]] = argument_children
    keyword: Callable[[Node], tuple[str, Node] | None] = nothing
    """`name=value` as an argument or in an options object."""
    spread: Callable[[Node], str] = no_name
    """`*`, `**` or `...` for an argument that stands for many."""
    pairs: Callable[[Node], Iterable[Node]] = no_nodes
    """What `keyword` reads in an object literal."""
    parameters: Callable[[Node], Iterable[ParameterParts]] = lambda node: ()
    receiver: Callable[[Node], tuple[str, str]] = lambda node: ("", "")
    """Go: the name of the receiver and its type."""
    decorators: Callable[[Node], Iterable[Node]] = no_nodes
    """Of a function node: the expressions, without `@`."""
    managed_body: Callable[[Node], Node | None] = nothing
    """The block for which a managed item holds."""
    type_name: Callable[[Node], str] = text_of
    """A type as a dotted name, without generics and pointers."""
    bases: Callable[[Node], Iterable[str]] = lambda node: ()
    bare_fields: bool = False
    """Fields may be named without `this.`."""
    makes: Callable[[str], bool] = lambda name: False
    """Whether a plain call of this name constructs."""
    broad: frozenset[str] = frozenset()
    """Error types that take nearly everything."""
    gives_on: frozenset[str] = frozenset()
    """Functions by which a handler gives its error on."""
    loopers: frozenset[str] = frozenset()
    """Methods that call the function they are given for every item."""
    known: dict[str, str] = field(default_factory=dict)
    """What names stand for in a text that does not import them: a snippet, a wildcard, a package at hand."""
    is_async: Callable[[Node], bool] = lambda node: any(child.type == "async" for child in node.children)
