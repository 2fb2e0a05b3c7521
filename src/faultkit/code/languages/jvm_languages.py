"""How Java, Kotlin and Scala write functions. The package of a file is no part of a name."""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.code.languages.dialect import (
    Dialect,
    Parts,
    child_of,
    end_before_comment,
    last_of,
    name_parts,
    named_by_field,
    span_of,
    text_of,
)
from faultkit.code.languages.syntax import Node, Span

JAVA = Dialect(
    functions={
        "method_declaration": "method",
        "constructor_declaration": "constructor",
        "compact_constructor_declaration": "constructor",
    },
    types=(
        "class_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "annotation_type_declaration",
    ),
    decorators=("annotation", "marker_annotation"),
    modifiers=("modifiers",),
    comments=("line_comment", "block_comment"),
)


def _kotlin_name(node: Node) -> Parts:
    """Return the name; that of an extension has the type that it extends: `String.shout`."""
    if node.type == "secondary_constructor":
        return ("constructor",)
    if node.type in ("getter", "setter"):
        return _kotlin_property(node)
    name = named_by_field(node)
    before: list[Node] = []
    for child in node.children:
        if child.type == "." and before and before[-1].type in ("user_type", "nullable_type"):
            return (*name_parts(text_of(before[-1]).rstrip("?")), *name)
        before.append(child)
    return name


def _kotlin_property(node: Node) -> Parts:
    holder = node.parent
    declared = None if holder is None else child_of(holder, "variable_declaration")
    name = None if declared is None else child_of(declared, "identifier")
    return (text_of(name),) if name is not None else ()


def _kotlin_body(node: Node) -> Span | None:
    """Return a block with its braces, or the expression after `=`."""
    if node.type == "lambda_literal":
        return span_of(node)
    body = child_of(node, "function_body", "block")
    if body is None or body.type == "block" or body.child_count < 2:
        return span_of(body)
    first = body.children[0]
    return span_of(last_of(body) if first.type == "=" else body)


def _kotlin_parameters(node: Node) -> Iterable[Node]:
    if node.type == "setter":
        return [child for child in node.named_children if child.type == "identifier"]
    listed = child_of(node, "function_value_parameters")
    return [] if listed is None else [each for each in listed.named_children if each.type == "parameter"]


KOTLIN = Dialect(
    functions={
        "function_declaration": "function",
        "secondary_constructor": "constructor",
        "getter": "getter",
        "setter": "setter",
    },
    types=("class_declaration", "object_declaration", "companion_object"),
    decorators=("annotation",),
    modifiers=("modifiers", "function_modifier"),
    comments=("line_comment", "block_comment"),
    asynchronous=("suspend",),
    name=_kotlin_name,
    body=_kotlin_body,
    parameters=_kotlin_parameters,
)

SCALA = Dialect(
    functions={"function_definition": "function"},
    types=(
        "class_definition",
        "object_definition",
        "trait_definition",
        "enum_definition",
        "given_definition",
    ),
    decorators=("annotation",),
    comments=("comment", "block_comment"),
    constructors=("this",),
    end=end_before_comment,
)
