"""How Ruby writes functions."""

from __future__ import annotations

from faultkit.code.dialects.dialect import Dialect, Kind, Parts, named_by_field, span_of, text_of
from faultkit.code.syntax import Node, Span


def _name(node: Node) -> Parts:
    """`def self.open` is named as any other method of its class, `def Other.open` with its object."""
    name, owner = named_by_field(node), node.child_by_field_name("object")
    return name if owner is None or owner.type == "self" else (text_of(owner), *name)


def _body(node: Node) -> Span | None:
    """A method may have no statement at all: then the body is the empty place before `end`."""
    body = node.child_by_field_name("body")
    if body is not None:
        return span_of(body)
    last = node.children[-1]
    return Span(last.start_byte, last.start_byte) if last.type == "end" else None


def _kind(node: Node, kind: Kind, name: str) -> Kind:
    shape = node.child_by_field_name("name")
    kinds: dict[str, Kind] = {"setter": "setter", "operator": "operator"}
    return kind if shape is None else kinds.get(shape.type, kind)


def _fits_around(parent: Node, node: Node) -> bool:
    """`private def …` is one block."""
    return parent.named_child_count == (1 if parent.type == "argument_list" else 2)


RUBY = Dialect(
    functions={"method": "function", "singleton_method": "method"},
    types=("class", "module"),
    around=("argument_list", "call"),
    constructors=("initialize",),
    name=_name,
    body=_body,
    kind=_kind,
    fits_around=_fits_around,
)
