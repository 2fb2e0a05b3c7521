"""How PHP writes functions. The namespace of a file is no part of a name; variables keep their `$`."""

from __future__ import annotations

from faultkit.code.dialects.dialect import Dialect, Parts, named_by_field, text_of
from faultkit.code.syntax import Node


def _name(node: Node) -> Parts:
    """A closure is called by the variable that it is put in."""
    if node.type not in ("anonymous_function", "arrow_function"):
        return named_by_field(node)
    holder = node.parent
    if holder is None or holder.type != "assignment_expression":
        return ()
    left = holder.child_by_field_name("left")
    return (text_of(left),) if left is not None and left.type == "variable_name" else ()


PHP = Dialect(
    functions={
        "function_definition": "function",
        "method_declaration": "method",
        "anonymous_function": "function",
        "arrow_function": "arrow",
    },
    types=("class_declaration", "trait_declaration", "interface_declaration", "enum_declaration"),
    around=("assignment_expression", "expression_statement"),
    decorators=("attribute_group",),
    modifiers=("attribute_list",),
    constructors=("__construct",),
    destructors=("__destruct",),
    name=_name,
    fits_around=lambda parent, node: node.type != "function_definition",
)
