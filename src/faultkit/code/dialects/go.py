"""How Go writes functions: declared, with a receiver, or put in a variable."""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.code.dialects.dialect import (
    Dialect,
    Parts,
    named_by_field,
    parameters_by_field,
    plain,
    text_of,
)
from faultkit.code.syntax import Node

_HOLDERS = {"short_var_declaration": "left", "var_spec": "name", "assignment_statement": "left"}


def _name(node: Node) -> Parts:
    if node.type == "func_literal":
        return _held_name(node)
    name = named_by_field(node)
    receiver = node.child_by_field_name("receiver")
    if receiver is None or not name:
        return name
    declared = next((each for each in receiver.named_children if each.type == "parameter_declaration"), None)
    kind = None if declared is None else declared.child_by_field_name("type")
    return (*plain(text_of(kind).lstrip("*( ").rstrip(") ")), *name)


def _held_name(node: Node) -> Parts:
    """`f := func() {…}`. Where one statement fills several variables, the place in the row counts."""
    values = node.parent
    holder = None if values is None or values.type != "expression_list" else values.parent
    if values is None or holder is None or holder.type not in _HOLDERS:
        return ()
    place = [each.start_byte for each in values.named_children].index(node.start_byte)
    names = holder.children_by_field_name(_HOLDERS[holder.type])
    if names and names[0].type == "expression_list":
        names = names[0].named_children
    if place >= len(names) or names[place].type not in ("identifier", "selector_expression"):
        return ()
    return tuple(text_of(names[place]).split("."))


def _parameters(node: Node) -> Iterable[Node]:
    """`a, b int` is one declaration of two names; `int` alone has none."""
    for declared in parameters_by_field(node):
        yield from declared.children_by_field_name("name")


def _fits_around(parent: Node, node: Node) -> bool:
    if parent.type in ("expression_list", "var_declaration"):
        return parent.named_child_count == 1
    return parent.named_child_count <= 3


GO = Dialect(
    functions={
        "function_declaration": "function",
        "method_declaration": "method",
        "func_literal": "function",
    },
    around=("expression_list", *_HOLDERS, "var_declaration"),
    name=_name,
    parameters=_parameters,
    fits_around=_fits_around,
)
