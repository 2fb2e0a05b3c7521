"""How a language writes what facts are made of: node types as data, and functions where types do not suffice.

One `Grammar` for each language family, in a file of its own. It only reads nodes: names are resolved and
facts are made in `faultkit.code.facts.build`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from faultkit.code.facts.fact_values import LoopKind, Shape, StepKind
from faultkit.code.languages.dialect import child_of, parts_in, text_of
from faultkit.code.languages.syntax import Node


@dataclass(slots=True)
class Binding:
    """Names that get a value: an assignment, declaration, `with … as`, parameter or field. Never changed."""

    targets: tuple[Node, ...]
    value: Node | None = None
    type: Node | None = None
    operator: str = "="
    is_constant: bool = False
    is_field: bool = False
    """Whether it is a member of the enclosing type."""


@dataclass(frozen=True, slots=True)
class LoopParts:
    """The parts of a loop, as nodes."""

    kind: LoopKind
    body: Node
    over: Node | None = None
    targets: tuple[Node, ...] = ()
    is_async: bool = False


@dataclass(frozen=True, slots=True)
class CatchParts:
    """The parts of a handler, as nodes."""

    node: Node
    body: Node
    types: tuple[Node, ...] = ()
    name: Node | None = None


@dataclass(frozen=True, slots=True)
class TryParts:
    """The parts of a try, as nodes."""

    body: Node
    handlers: tuple[CatchParts, ...]
    finally_: Node | None = None


@dataclass(slots=True)
class ParameterParts:
    """The parts of a parameter, as nodes. Never changed."""

    name: Node
    type: Node | None = None
    default: Node | None = None


def no_nodes(node: Node) -> Iterable[Node]:
    """Return no nodes: the default for what a language does not have."""
    return ()


def nothing(node: Node) -> None:
    """Return None: the default for what a language does not have."""
    return None


def argument_children(node: Node) -> Iterable[Node]:
    """Return the named children of the field `arguments`."""
    return parts_in(node.child_by_field_name("arguments"))


def part_of(node: Node, name: str) -> Node | None:
    """Return the child in a field, or `#0`, `#-1` … for a named child by its index; None if there is none."""
    if not name.startswith("#"):
        return node.child_by_field_name(name) if name else None
    inner, place = node.named_children, int(name[1:])
    return inner[place] if -len(inner) <= place < len(inner) else None


def member_name(node: Node, name: str) -> str:
    """Return the name of a member in a field, without type arguments and the sign before it."""
    return bare_name(text_of(part_of(node, name)))


def bare_name(text: str) -> str:
    """Return the name of a member as written, without type arguments and the sign before it."""
    return text if text.isidentifier() else text.lstrip(".?").partition("<")[0]


def function_field(node: Node) -> Node | None:
    """Return the field `function` of a call."""
    return node.child_by_field_name("function")


def no_name(node: Node) -> str:
    """Return an empty name: the default for what a language does not have."""
    return ""


def arguments_or(single: str) -> Callable[[Node], Iterable[Node]]:
    """Return a reader of arguments for languages where one node of this type may replace the list."""

    def arguments(node: Node) -> Iterable[Node]:
        listed = node.child_by_field_name("arguments")
        return (listed,) if listed is not None and listed.type == single else parts_in(listed)

    return arguments


def keyed_by(type_: str, key: str) -> Callable[[Node], tuple[str, Node] | None]:
    """Return a reader of `name: value` for nodes of this type, with the field of the name."""

    def keyword(node: Node) -> tuple[str, Node] | None:
        value = node.child_by_field_name("value") if node.type == type_ else None
        return None if value is None else (text_of(node.child_by_field_name(key)), value)

    return keyword


def pairs_of(literal: str) -> Callable[[Node], Iterable[Node]]:
    """Return a reader of the pairs in the body of a literal of this type."""

    def pairs(node: Node) -> Iterable[Node]:
        return parts_in(node.child_by_field_name("body")) if node.type == literal else ()

    return pairs


def spread_as(type_: str) -> Callable[[Node], str]:
    """Return a reader of `...x`, which is a node of this type."""
    return lambda node: "..." if node.type == type_ else ""


def known_names(table: dict[str, str]) -> dict[str, str]:
    """Return names with their paths, from a table of paths with the names in each."""
    return {name: f"{path}.{name}" for path, names in table.items() for name in names.split()}


def assignment(node: Node, around: Node) -> Iterator[Binding]:
    """Yield the binding of `left operator right`."""
    left = node.child_by_field_name("left")
    if left is not None:
        operator = text_of(node.child_by_field_name("operator")) or "="
        yield Binding((left,), node.child_by_field_name("right"), None, operator)


def update(node: Node, around: Node) -> Iterator[Binding]:
    """Yield the binding of `x++`, `--x`; nothing for another unary expression."""
    if node.named_child_count and child_of(node, "++", "--") is not None:
        yield Binding((node.named_children[0],), None, None, "++")


def body_of_statement(node: Node) -> Node | None:
    """Return the body of the statement whose head lists this item."""
    listed = node.parent
    return None if listed is None or listed.parent is None else listed.parent.child_by_field_name("body")


def count_loop(node: Node) -> LoopParts | None:
    """Return the parts of `for (…; condition; …)`."""
    body, condition = node.child_by_field_name("body"), node.child_by_field_name("condition")
    if body is None:
        return None
    return LoopParts("endless" if text_of(condition).strip() in ("", ";") else "count", body, condition)


def each_loop(item: str, over: str) -> Callable[[Node], LoopParts | None]:
    """Return a reader of loops over items, with the fields of the item and of what it comes from."""

    def parts(node: Node) -> LoopParts | None:
        body, target = node.child_by_field_name("body"), node.child_by_field_name(item)
        if body is None:
            return None
        targets = () if target is None else (target,)
        is_async = child_of(node, "await") is not None
        return LoopParts("each", body, node.child_by_field_name(over), targets, is_async)

    return parts


def while_loop(*endless: str) -> Callable[[Node], LoopParts | None]:
    """Return a reader of `while` loops; a condition among `endless` is always true."""

    def parts(node: Node) -> LoopParts | None:
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        if body is None:
            return None
        return LoopParts("endless" if text_of(condition) in endless else "while", body, condition)

    return parts


def tries_with(handler: Callable[[Node], CatchParts | None]) -> Callable[[Node], TryParts | None]:
    """Return a reader of `try`, with a reader of its handlers, which returns None for its other parts."""

    def parts(node: Node) -> TryParts | None:
        body = node.child_by_field_name("body") or child_of(node, "block")
        if body is None:
            return None
        handlers = [each for child in node.named_children if (each := handler(child)) is not None]
        last = child_of(node, "finally_clause", "finally_block")
        return TryParts(body, tuple(handlers), None if last is None else child_of(last, "block"))

    return parts


def branches(node: Node) -> list[Node]:
    """Return the fields `consequence` and `alternative` of an `if` or `? :`."""
    return [*node.children_by_field_name("consequence"), *node.children_by_field_name("alternative")]


def cases(node: Node) -> list[Node]:
    """Return the cases of a `switch`, `match` or `select`."""
    listed = node.child_by_field_name("body") or node
    return [each for each in listed.named_children if "case" in each.type or each.type.startswith("switch_")]


@dataclass(frozen=True, eq=False)
class Grammar:
    """The node types and functions of one language family. Equal only to itself."""

    names: frozenset[str]
    """Leaf types that are identifiers."""
    self_names: frozenset[str]
    """Names of the object itself: `self`, `this`."""
    members: dict[str, tuple[str, str]]
    """Types of `a.b`, with the fields of `a` and `b`, as `part_of` reads them."""
    subscripts: dict[str, str]
    """Types of `a[b]`, with the field of `a`, as `part_of` reads it."""
    calls: frozenset[str]
    constructors: frozenset[str]
    """Types that construct: `new X()`, `X{}`. They must also be in `calls`."""
    functions: frozenset[str]
    """Functions, methods, lambdas."""
    types: frozenset[str]
    """Classes and other types that contain methods."""
    transparent: frozenset[str]
    """Types around an expression that do not change it: parentheses, casts, `await`, `&`. Of operations with
    two sides, those that leave if the left one is missing."""
    awaits: frozenset[str]
    shapes: dict[str, Shape]
    statements: frozenset[str]
    """Types around an expression that stands alone."""
    returns: frozenset[str]
    steps: dict[str, str]
    """Node types with their kind of step; see `fact_values.StepKind`."""
    texts: frozenset[str]
    interpolations: frozenset[str]
    """Types inside a text that make it no literal."""
    empty: frozenset[str]
    """Statements that do nothing."""
    managed: frozenset[str]
    """Items in the head of a `with` or `using`."""
    closed: frozenset[str] = frozenset()
    """Types below which nothing is collected, if they could be parsed: no name there is read."""
    manages: Callable[[Node], bool] = lambda node: True
    """Returns whether a node of a type in `managed` is such an item."""
    sees_through: re.Pattern[str] = re.compile("^[&*]")
    """The unary expressions that are transparent, if their type is: `&x`, `x!!`."""
    is_call: Callable[[Node, Node], bool] | None = None
    """Returns whether a node of a type in `calls` is a call, and no part of one, given the node around it."""
    passes: frozenset[str] = frozenset()
    """Methods that return what they are called on: C#'s `ConfigureAwait`."""
    tails: frozenset[str] = frozenset()
    """Blocks whose last expression is their value."""
    words: dict[str, Shape] = field(default_factory=dict)
    """Shapes of words whose node type does not give them: `true`, `null`."""
    step_words: dict[str, StepKind] = field(default_factory=dict)
    """Steps whose node type is that of an identifier, by their word."""
    implicit_item: str = ""
    """The name of the item in a lambda without parameters: Kotlin's `it`."""
    hole: re.Pattern[str] | None = None
    """What makes a text no literal where `interpolations` do not show it: Kotlin's `$name`."""
    deferred: frozenset[str] = frozenset()
    launched: frozenset[str] = frozenset()
    bindings: dict[str, Callable[[Node, Node], Iterable[Binding]]] = field(default_factory=dict)
    """Returns the bindings of a node, given the node around it: to ask a node for its parent takes long."""
    imports: dict[str, Callable[[Node], Iterable[tuple[str, str]]]] = field(default_factory=dict)
    """Returns the local name and its meaning. A name `*` imports all of a module."""
    loops: dict[str, Callable[[Node], LoopParts | None]] = field(default_factory=dict)
    tries: dict[str, Callable[[Node], TryParts | None]] = field(default_factory=dict)
    forks: dict[str, Callable[[Node], Iterable[Node]]] = field(default_factory=dict)
    """Types that choose one of several parts, with a reader of these parts."""
    callee: Callable[[Node], Node | None] = function_field
    own_name: Callable[[Node], str] = no_name
    """Returns the method of a call that names it beside its callee, as in Java."""
    arguments: Callable[[Node], Iterable[Node]] = argument_children
    keyword: Callable[[Node], tuple[str, Node] | None] = nothing
    """Reads `name=value` as an argument or in an options object."""
    spread: Callable[[Node], str] = no_name
    """`*`, `**` or `...` for an argument that stands for many."""
    pairs: Callable[[Node], Iterable[Node]] = no_nodes
    """Returns what `keyword` reads in an object literal."""
    parameters: Callable[[Node], Iterable[ParameterParts]] = lambda node: ()
    receiver: Callable[[Node], tuple[str, str]] = lambda node: ("", "")
    """Go: returns the name of the receiver and its type."""
    decorators: Callable[[Node], Iterable[Node]] = no_nodes
    """Returns the decorator expressions of a function node, without `@`."""
    fields_in: str = ""
    """The type of the node three levels above a binding that makes it a field: of the class, whose block has
    the statement. Python, where the node of a binding does not show it; to ask for parents takes long."""
    managed_body: Callable[[Node], Node | None] = nothing
    """Returns the block in which a managed item is open."""
    type_name: Callable[[Node], str] = text_of
    """Returns a type as a dotted name, without generics and pointers."""
    bases: Callable[[Node], Iterable[str]] = lambda node: ()
    bare_fields: bool = False
    """Whether fields may be named without `this.`."""
    given_by: frozenset[str] = frozenset()
    """Methods that give their object to a lambda: Kotlin's `use`, `let`, `also`."""
    constructs: Callable[[str], bool] = lambda name: False
    """Returns whether a plain call of this name constructs."""
    constructed: Callable[[str], str] = lambda name: name
    """Returns the type that a constructor of this name makes: of `Client.new` in Rust `Client`."""
    broad: frozenset[str] = frozenset()
    """Error types that catch nearly everything."""
    forwards_error: frozenset[str] = frozenset()
    """Functions by which a handler passes its error on."""
    iterators: frozenset[str] = frozenset()
    """Methods that call the given function for every item."""
    predefined: dict[str, str] = field(default_factory=dict)
    """Meaning of names in a text that does not import them: a snippet, a wildcard, the same package."""
    is_async: Callable[[Node], bool] = lambda node: any(child.type == "async" for child in node.children)
    async_word: bytes = b"async"
    """What stands in the head of each function that `is_async`."""
    decorator_sign: bytes = b"@"
    """What stands in each text with decorators."""


def passed_on(grammar: Grammar, node: Node) -> Node:
    """Return what a method of `grammar.passes` is called on, else the node itself."""
    callee = grammar.callee(node) if node.type in grammar.calls else None
    if callee is None or callee.type not in grammar.members:
        return node
    owner, name = grammar.members[callee.type]
    return (part_of(callee, owner) or node) if member_name(callee, name) in grammar.passes else node


_LEAVES = frozenset({"throw_expression", "return_expression"})


def leaves_if_missing(node: Node) -> bool:
    """Return whether an operation is its left side, or leaves: `find(id) ?? throw …`, `find(id) ?: return`.

    Where the transparent types of a grammar have operations with two sides, these alone are meant."""
    right = node.child_by_field_name("right")
    if right is None:
        return False
    # The grammar of Kotlin reads `continue` as a name.
    return right.type in _LEAVES or (right.type == "identifier" and right.text in (b"continue", b"break"))


def names_in(node: Node, grammar: Grammar) -> list[Node]:
    """Return the names in a pattern."""
    found, todo = list[Node](), [node]
    while todo:
        each = todo.pop()
        if each.type in grammar.names or each.type.endswith("identifier_pattern"):
            found.append(each)
        elif each.type not in grammar.members and each.type not in grammar.subscripts:
            todo += each.named_children
    return found


# Roles of nodes: those below which the walk of `collect` need not look, or seldom.


NAME, TEXT, CLOSED = 1, 2, 3


def role_of(kind: str, grammar: Grammar) -> int:
    """Return the role of nodes of a type; 0 if they have none."""
    if kind in grammar.names:
        return NAME
    if kind in grammar.texts:
        return TEXT
    return CLOSED if kind in grammar.closed else 0


def may_have_holes(text: Node, source: bytes) -> bool:
    """Return whether a literal has a sign of something that is put into it."""
    start, end = text.byte_range
    return source.find(b"{", start, end) >= 0 or source.find(b"$", start, end) >= 0
