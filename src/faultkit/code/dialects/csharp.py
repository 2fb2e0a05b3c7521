"""How C# writes functions. The namespace of a file is no part of a name."""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.code.dialects.dialect import (
    Dialect,
    Kind,
    Parts,
    child_of,
    last_of,
    named_by_field,
    span_of,
    text_of,
)
from faultkit.code.syntax import Node, Span


def _name(node: Node) -> Parts:
    name = named_by_field(node)
    match node.type:
        case "accessor_declaration":
            holder = node.parent.parent if node.parent is not None else None
            return () if holder is None else named_by_field(holder) or ("this",)
        case "destructor_declaration":
            return (f"~{name[0]}",) if name else ()
        case "operator_declaration":
            return (f"operator{text_of(node.child_by_field_name('operator'))}",)
        case "conversion_operator_declaration":
            return (f"operator {text_of(node.child_by_field_name('type'))}",)
        case "indexer_declaration":
            return ("this",)
    return name


def _body(node: Node) -> Span | None:
    """A block with its braces, or the expression after `=>`."""
    body = node.child_by_field_name("body") or node.child_by_field_name("value")
    if body is not None and body.type == "arrow_expression_clause":
        return span_of(last_of(body))
    return span_of(body) if body is not None and body.type == "block" else None


def _parameters(node: Node) -> Iterable[Node]:
    """`params int[] rest` stands in the list without a node of its own."""
    listed = node.child_by_field_name("parameters") or child_of(node, "bracketed_parameter_list")
    if listed is not None:
        yield from (child for child in listed.named_children if child.type == "parameter")
        yield from listed.children_by_field_name("name")


def _kind(node: Node, kind: Kind, name: str) -> Kind:
    """Accessors are told apart by their first word: get, set, init, add or remove."""
    if node.type != "accessor_declaration":
        return kind
    return "getter" if child_of(node, "get") else "setter"


CSHARP = Dialect(
    functions={
        "method_declaration": "method",
        "constructor_declaration": "constructor",
        "destructor_declaration": "destructor",
        "operator_declaration": "operator",
        "conversion_operator_declaration": "operator",
        "local_function_statement": "function",
        "accessor_declaration": "getter",
        "property_declaration": "getter",
        "indexer_declaration": "getter",
    },
    types=(
        "class_declaration",
        "struct_declaration",
        "record_declaration",
        "interface_declaration",
        "enum_declaration",
    ),
    decorators=("attribute_list",),
    modifiers=("modifier",),
    name=_name,
    body=_body,
    parameters=_parameters,
    kind=_kind,
)
