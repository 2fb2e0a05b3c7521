"""How Bash, PHP and Ruby write functions."""

from __future__ import annotations

from faultkit.code.languages.dialect import (
    Dialect,
    FunctionKind,
    Parts,
    named_by_field,
    span_of,
    text_of,
)
from faultkit.code.languages.syntax import Node, Span

BASH = Dialect(functions={"function_definition": "function"})


# PHP. The namespace of a file is no part of a name; variables keep their `$`.


def _php_name(node: Node) -> Parts:
    """Return the name; a closure is named after its variable."""
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
    name=_php_name,
    fits_around=lambda parent, node: node.type != "function_definition",
)


# Ruby.


def _ruby_name(node: Node) -> Parts:
    """Return the name: `def self.open` as any other method of its class, `def Other.open` with its object."""
    name, owner = named_by_field(node), node.child_by_field_name("object")
    return name if owner is None or owner.type == "self" else (text_of(owner), *name)


def _ruby_body(node: Node) -> Span | None:
    """Return the body; a method without statements has an empty one before `end`."""
    body = node.child_by_field_name("body")
    if body is not None:
        return span_of(body)
    last = node.children[-1]
    return Span(last.start_byte, last.start_byte) if last.type == "end" else None


def _ruby_kind(node: Node, kind: FunctionKind, name: str) -> FunctionKind:
    shape = node.child_by_field_name("name")
    kinds: dict[str, FunctionKind] = {"setter": "setter", "operator": "operator"}
    return kind if shape is None else kinds.get(shape.type, kind)


def _ruby_fits_around(parent: Node, node: Node) -> bool:
    """Return whether `private def …` is one block."""
    return parent.named_child_count == (1 if parent.type == "argument_list" else 2)


RUBY = Dialect(
    functions={"method": "function", "singleton_method": "method"},
    types=("class", "module"),
    around=("argument_list", "call"),
    constructors=("initialize",),
    name=_ruby_name,
    body=_ruby_body,
    kind=_ruby_kind,
    fits_around=_ruby_fits_around,
)
