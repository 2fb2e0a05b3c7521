"""What a language calls things, as data: which nodes are functions, what they stand in, how they are named.

Most languages are a row of node types; where a grammar has its own way, a small function says so. Spans,
order and nesting are the business of `faultkit.code.functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from faultkit.code.syntax import Node, Span

Kind = Literal["function", "method", "constructor", "destructor", "getter", "setter", "operator", "arrow"]
Parts = tuple[str, ...]
"""A name and what it stands in, outermost first: `("Server", "Serve")`."""


def text_of(node: Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


def field_of(node: Node, *path: str) -> Node | None:
    """Down a row of fields, or None where one is missing."""
    found: Node | None = node
    for name in path:
        if found is None:
            return None
        found = found.child_by_field_name(name)
    return found


def child_of(node: Node, *types: str) -> Node | None:
    return next((child for child in node.children if child.type in types), None)


def last_of(node: Node) -> Node | None:
    return next(iter(reversed(node.named_children)), None)


def span_of(node: Node | None) -> Span | None:
    return None if node is None or node.is_missing else Span(node.start_byte, node.end_byte)


def plain(name: str) -> Parts:
    """The parts of a name as written: `A::B<T>` is `A`, `B`."""
    kept, depth = [], 0
    for character in name:
        depth += (character in "<[") - (character in ">]" and depth > 0)
        if depth == 0 and character not in ">]":
            kept.append(character)
    return tuple(part for part in "".join(kept).replace("::", ".").replace("\\", ".").split(".") if part)


def named_by_field(node: Node) -> Parts:
    text = text_of(node.child_by_field_name("name")).strip("`")
    return (text,) if text else ()


def scope_by_field(node: Node) -> Parts:
    return plain(text_of(node.child_by_field_name("name")))


def body_by_field(node: Node) -> Span | None:
    return span_of(node.child_by_field_name("body"))


def end_of_node(node: Node) -> int:
    return node.end_byte


def end_before_comment(node: Node) -> int:
    """Where blocks end by indentation, a grammar may count in comments after the last statement."""
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
    for listed in node.children_by_field_name("parameters"):
        if listed.type != "type_parameters":
            yield from listed.named_children


def kind_by_table(node: Node, kind: Kind, name: str) -> Kind:
    return kind


@dataclass(frozen=True, slots=True)
class Dialect:
    functions: dict[str, Kind]
    """Node types that are functions if they have a name and a body."""
    types: tuple[str, ...] = ()
    """Node types whose functions are methods."""
    namespaces: tuple[str, ...] = ()
    """Node types that only lend their name to what is in them."""
    around: tuple[str, ...] = ()
    """Parents that belong to the function: decorators, `export`, `template <…>`, the variable it is in."""
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
    """Empty: it has no name, and is not listed."""
    scope: Callable[[Node], Parts] = scope_by_field
    """Empty: what it holds belongs to what is around it."""
    body: Callable[[Node], Span | None] = body_by_field
    end: Callable[[Node], int] = end_of_node
    parameters: Callable[[Node], Iterable[Node]] = parameters_by_field
    kind: Callable[[Node, Kind, str], Kind] = kind_by_table
    doc: Callable[[Node], str] | None = None
    """Where the language writes it inside the body; otherwise it is the comment above."""
    fits_around: Callable[[Node, Node], bool] = field(default=lambda parent, node: True)
    """Whether a parent of a type in `around` is there for this node alone."""
