"""Dialects: how a language writes functions, as data: which nodes are functions, their scopes and names.

Most languages are a set of node types; where a grammar is special, a small function handles it. Spans,
order and nesting belong to `faultkit.code.functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from faultkit.code.languages.syntax import Node, Span

FunctionKind = Literal[
    "function", "method", "constructor", "destructor", "getter", "setter", "operator", "arrow"
]
Parts = tuple[str, ...]
"""A name with its enclosing scopes, outermost first: `("Server", "Serve")`."""


def text_of(node: Node | None) -> str:
    """Return the text of a node; empty for None."""
    if node is None or (text := node.text) is None:
        return ""
    return text.decode("utf-8", "replace")


def field_of(node: Node, *path: str) -> Node | None:
    """Follow a path of fields; None where one is missing."""
    found: Node | None = node
    for name in path:
        if found is None:
            return None
        found = found.child_by_field_name(name)
    return found


def child_of(node: Node, *types: str) -> Node | None:
    """Return the first child of one of these types, or None."""
    return next((child for child in node.children if child.type in types), None)


def parts_in(node: Node | None) -> list[Node]:
    """Return the named children without comments; none for None."""
    return [] if node is None else [child for child in node.named_children if not child.is_extra]


def last_of(node: Node) -> Node | None:
    """Return the last named child, or None."""
    return next(iter(reversed(node.named_children)), None)


def span_of(node: Node | None) -> Span | None:
    """Return the bytes of a node; None for None."""
    return None if node is None or node.is_missing else Span(node.start_byte, node.end_byte)


def name_parts(name: str) -> Parts:
    """Return the parts of a name as written: `A::B<T>` gives `A`, `B`."""
    kept, depth = [], 0
    for character in name:
        depth += (character in "<[") - (character in ">]" and depth > 0)
        if depth == 0 and character not in ">]":
            kept.append(character)
    return tuple(part for part in "".join(kept).replace("::", ".").replace("\\", ".").split(".") if part)


def named_by_field(node: Node) -> Parts:
    """Return the name in the field `name`."""
    text = text_of(node.child_by_field_name("name")).strip("`")
    return (text,) if text else ()


def scope_by_field(node: Node) -> Parts:
    """Return the name that a scope lends to its contents, from the field `name`."""
    return name_parts(text_of(node.child_by_field_name("name")))


def body_by_field(node: Node) -> Span | None:
    """Return the span of the field `body`, or None."""
    return span_of(node.child_by_field_name("body"))


def end_of_node(node: Node) -> int:
    """Return the end of a function: the end of its node."""
    return node.end_byte


def end_before_comment(node: Node) -> int:
    """Return the end of the last statement: where indentation ends blocks, a grammar may include later
    comments."""
    last = node.descendant_for_byte_range(node.end_byte - 1, node.end_byte)
    if last is None or (last.child_count == 0 and "comment" not in last.type):
        return node.end_byte
    last = node
    while children := [each for each in last.children if _is_code(each)]:
        last = children[-1]
    return last.end_byte


def _is_code(node: Node) -> bool:
    return "comment" not in node.type and node.end_byte > node.start_byte


def parameters_by_field(node: Node) -> Iterable[Node]:
    """Return the children of the field `parameters`."""
    for listed in node.children_by_field_name("parameters"):
        if listed.type != "type_parameters":
            yield from listed.named_children


def kind_by_table(node: Node, kind: FunctionKind, name: str) -> FunctionKind:
    """Return the kind of the node type unchanged: the default."""
    return kind


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one language writes functions, as node types and functions over nodes."""

    functions: dict[str, FunctionKind]
    """Node types that are functions if they have a name and a body."""
    types: tuple[str, ...] = ()
    """Node types whose functions are methods."""
    namespaces: tuple[str, ...] = ()
    """Node types that only lend their name to their contents."""
    around: tuple[str, ...] = ()
    """Parents that belong to the function: decorators, `export`, `template <…>`, the variable that holds
    it."""
    decorators: tuple[str, ...] = ()
    modifiers: tuple[str, ...] = ()
    """Nodes in which decorators and `async` may stand."""
    comments: tuple[str, ...] = ("comment",)
    constructors: tuple[str, ...] = ()
    """Names that make a method a constructor."""
    destructors: tuple[str, ...] = ()
    constructor_is_type_name: bool = False
    asynchronous: tuple[str, ...] = ("async",)
    name: Callable[[Node], Parts] = named_by_field
    """Returns the name; empty if there is none, and the function is not listed."""
    scope: Callable[[Node], Parts] = scope_by_field
    """Returns the name that a scope lends; empty if its contents belong to the scope around it."""
    body: Callable[[Node], Span | None] = body_by_field
    end: Callable[[Node], int] = end_of_node
    parameters: Callable[[Node], Iterable[Node]] = parameters_by_field
    kind: Callable[[Node, FunctionKind, str], FunctionKind] = kind_by_table
    doc: Callable[[Node], str] | None = None
    """Returns the docstring inside the body, where the language has one; otherwise the comment above is
    used."""
    fits_around: Callable[[Node, Node], bool] = field(default=lambda parent, node: True)
    """Returns whether a parent of a type in `around` exists for this node alone."""

    @property
    def holders(self) -> tuple[str, ...]:
        """The types of nodes that give functions their names: these, types and namespaces."""
        return (*self.functions, *self.types, *self.namespaces)
