"""How Swift writes functions: also initialisers, computed properties and subscripts."""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.code.dialects.dialect import (
    Dialect,
    Kind,
    Parts,
    body_by_field,
    child_of,
    field_of,
    named_by_field,
    text_of,
)
from faultkit.code.syntax import Node, Span

_FIXED = {"init_declaration": ("init",), "deinit_declaration": ("deinit",)}
_COMPUTED = ("computed_getter", "computed_setter", "computed_property")


def _name(node: Node) -> Parts:
    if node.type in _FIXED:
        return _FIXED[node.type]
    if node.type not in _COMPUTED:
        return _operator(node) or named_by_field(node)
    if node.type == "computed_property" and child_of(node, "computed_getter", "computed_setter"):
        return ()
    holder = node.parent if node.type == "computed_property" else node.parent and node.parent.parent
    if holder is None:
        return ()
    if holder.type == "subscript_declaration":
        return ("subscript",)
    name = field_of(holder, "name", "bound_identifier")
    return (text_of(name),) if name is not None else ()


def _operator(node: Node) -> Parts:
    """The field `name` of an operator is its result type: the sign is what follows `func`."""
    names = False
    for child in node.children:
        if names:
            return () if child.type == "simple_identifier" else (text_of(child),)
        names = child.type == "func"
    return ()


def _body(node: Node) -> Span | None:
    if node.type not in _COMPUTED:
        return body_by_field(node)
    brace = child_of(node, "{")
    return None if brace is None else Span(brace.start_byte, node.end_byte)


def _parameters(node: Node) -> Iterable[Node]:
    holder = node.parent if node.type == "computed_property" else node
    listed = [] if holder is None else holder.named_children
    return [child for child in listed if child.type == "parameter"]


def _kind(node: Node, kind: Kind, name: str) -> Kind:
    return "operator" if node.type == "function_declaration" and _operator(node) else kind


SWIFT = Dialect(
    functions={
        "function_declaration": "function",
        "init_declaration": "constructor",
        "deinit_declaration": "destructor",
        "computed_getter": "getter",
        "computed_setter": "setter",
        "computed_property": "getter",
    },
    types=("class_declaration", "protocol_declaration"),
    around=("property_declaration", "subscript_declaration"),
    decorators=("attribute",),
    modifiers=("modifiers",),
    comments=("comment", "multiline_comment"),
    name=_name,
    body=_body,
    parameters=_parameters,
    kind=_kind,
)
