"""How JavaScript, TypeScript and TSX write functions: declared, exported, held by variables, fields, objects.

A function without a name of its own is named after its holder. A function that is only passed on, such as a
callback, has no name and is not listed.
"""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.code.languages.dialect import (
    Dialect,
    FunctionKind,
    Parts,
    field_of,
    parameters_by_field,
    text_of,
)
from faultkit.code.languages.syntax import Node

_CLEAR = ("parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression")
"""Node types that may stand between a value and its holder."""
_HOLDERS = {
    "variable_declarator": "name",
    "assignment_expression": "left",
    "pair": "key",
    "field_definition": "property",
    "public_field_definition": "name",
}
_NOT_NAMES = {"this", "exports", "prototype"}
_STATEMENTS = ("lexical_declaration", "variable_declaration", "expression_statement")


def _name(node: Node) -> Parts:
    own = _key(node.child_by_field_name("name"))
    if node.type not in ("arrow_function", "function_expression", "generator_function", "class", "object"):
        return own
    held = _held_name(node)
    return own if own and held in ((), ("default",), ("exports",)) else held


def _held_name(node: Node) -> Parts:
    holder = node.parent
    while holder is not None and holder.type in _CLEAR:
        holder = holder.parent
    if holder is None:
        return ()
    if holder.type == "export_statement":
        return ("default",) if node.type != "object" else ()
    if holder.type not in _HOLDERS:
        return ()
    if holder.type == "assignment_expression" and not _is_right(holder, node):
        return ()
    return _key(holder.child_by_field_name(_HOLDERS[holder.type]))


def _is_right(assignment: Node, node: Node) -> bool:
    right = assignment.child_by_field_name("right")
    return right is not None and right.start_byte <= node.start_byte


def _key(node: Node | None) -> Parts:
    """Return the name that a key, variable or member gives: `module.exports.f` is `f`, `A.prototype.f`
    is `A.f`."""
    if node is None:
        return ()
    text = text_of(node)
    if node.type == "string":
        return (text[1:-1],) if len(text) > 2 else ()
    if node.type == "member_expression":
        return _member(node)
    if node.type in ("object_pattern", "array_pattern", "subscript_expression"):
        return ()
    return (text,) if text else ()


def _member(node: Node) -> Parts:
    """Return the parts of a path of plain names; after anything else, such as a call, only those that
    follow it."""
    parts: list[str] = []
    step: Node | None = node
    while step is not None and step.type == "member_expression":
        parts.append(text_of(step.child_by_field_name("property")))
        step = step.child_by_field_name("object")
    if step is not None and step.type in ("identifier", "this"):
        parts.append(text_of(step))
    if parts[-1] == "module" and parts[-2] == "exports":
        parts.pop()
    named = tuple(part for part in reversed(parts) if part not in _NOT_NAMES)
    return named if named or "exports" not in parts else ("exports",)


def _parameters(node: Node) -> Iterable[Node]:
    only = node.child_by_field_name("parameter")
    return parameters_by_field(node) if only is None else (only,)


def _kind(node: Node, kind: FunctionKind, name: str) -> FunctionKind:
    for child in node.children:
        if child.type == "get":
            return "getter"
        if child.type == "set":
            return "setter"
        if child.type in ("property_identifier", "formal_parameters"):
            break
    return kind


def _fits_around(parent: Node, node: Node) -> bool:
    """Return whether the parent holds this function alone: a declaration of two variables belongs to
    neither."""
    if parent.type in ("lexical_declaration", "variable_declaration"):
        return parent.named_child_count == 1
    if parent.type == "assignment_expression":
        return _is_right(parent, node)
    if parent.type in ("pair", "variable_declarator", "field_definition", "public_field_definition"):
        value = field_of(parent, "value")
        return value is not None and value.start_byte <= node.start_byte
    if parent.type in _CLEAR:
        return _held_name(node) != ()
    return parent.type != "expression_statement" or node.type == "assignment_expression"


JAVASCRIPT = Dialect(
    functions={
        "function_declaration": "function",
        "generator_function_declaration": "function",
        "function_expression": "function",
        "generator_function": "function",
        "arrow_function": "arrow",
        "method_definition": "method",
    },
    types=("class_declaration", "class"),
    namespaces=("object",),
    around=("export_statement", *_STATEMENTS, *_HOLDERS, *_CLEAR),
    decorators=("decorator",),
    constructors=("constructor",),
    name=_name,
    scope=_name,
    parameters=_parameters,
    kind=_kind,
    fits_around=_fits_around,
)

TYPESCRIPT = Dialect(
    functions=JAVASCRIPT.functions,
    types=(*JAVASCRIPT.types, "abstract_class_declaration"),
    namespaces=("object", "internal_module", "module"),
    around=JAVASCRIPT.around,
    decorators=JAVASCRIPT.decorators,
    constructors=JAVASCRIPT.constructors,
    name=_name,
    scope=_name,
    parameters=_parameters,
    kind=_kind,
    fits_around=_fits_around,
)
