"""How Go, Rust and Swift write functions."""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.base.text import one_line
from faultkit.code.languages.dialect import (
    Dialect,
    FunctionKind,
    Parts,
    body_by_field,
    child_of,
    field_of,
    name_parts,
    named_by_field,
    parameters_by_field,
    span_of,
    text_of,
)
from faultkit.code.languages.syntax import Node, Span

# Go. A function is declared, has a receiver, or is held by a variable.


_GO_HOLDERS = {"short_var_declaration": "left", "var_spec": "name", "assignment_statement": "left"}


def _go_name(node: Node) -> Parts:
    if node.type == "func_literal":
        return _go_variable(node)
    name = named_by_field(node)
    receiver = node.child_by_field_name("receiver")
    if receiver is None or not name:
        return name
    declared = next((each for each in receiver.named_children if each.type == "parameter_declaration"), None)
    kind = None if declared is None else declared.child_by_field_name("type")
    return (*name_parts(text_of(kind).lstrip("*( ").rstrip(") ")), *name)


def _go_variable(node: Node) -> Parts:
    """Return the variable of `f := func() {…}`. Where one statement fills several variables, the
    position decides."""
    values = node.parent
    holder = None if values is None or values.type != "expression_list" else values.parent
    if values is None or holder is None or holder.type not in _GO_HOLDERS:
        return ()
    place = [each.start_byte for each in values.named_children].index(node.start_byte)
    names = holder.children_by_field_name(_GO_HOLDERS[holder.type])
    if names and names[0].type == "expression_list":
        names = names[0].named_children
    if place >= len(names) or names[place].type not in ("identifier", "selector_expression"):
        return ()
    return tuple(text_of(names[place]).split("."))


def _go_parameters(node: Node) -> Iterable[Node]:
    """Return parameter nodes: `a, b int` declares two names; `int` alone has none."""
    for declared in parameters_by_field(node):
        yield from declared.children_by_field_name("name")


def _go_fits_around(parent: Node, node: Node) -> bool:
    if parent.type in ("expression_list", "var_declaration"):
        return parent.named_child_count == 1
    return parent.named_child_count <= 3


GO = Dialect(
    functions={
        "function_declaration": "function",
        "method_declaration": "method",
        "func_literal": "function",
    },
    around=("expression_list", *_GO_HOLDERS, "var_declaration"),
    name=_go_name,
    parameters=_go_parameters,
    fits_around=_go_fits_around,
)


# Rust.


_RUST_WRAPPERS = {
    "reference_type": "type",
    "pointer_type": "type",
    "generic_type": "type",
    "dynamic_type": "trait",
}


def _rust_scope(node: Node) -> Parts:
    """Return the type of an `impl`, whichever trait it implements."""
    name = node.child_by_field_name("type" if node.type == "impl_item" else "name")
    while name is not None and name.type in _RUST_WRAPPERS:
        name = name.child_by_field_name(_RUST_WRAPPERS[name.type])
    if name is None or name.type.endswith("identifier"):
        return name_parts(text_of(name))
    return (one_line(text_of(name)),)


def _rust_body(node: Node) -> Span | None:
    """Return the body; that of an async block has no field."""
    return span_of(child_of(node, "block")) if node.type == "async_block" else body_by_field(node)


RUST = Dialect(
    functions={"function_item": "function"},
    types=("impl_item", "trait_item"),
    namespaces=("mod_item",),
    decorators=("attribute_item",),
    modifiers=("function_modifiers",),
    comments=("line_comment", "block_comment"),
    scope=_rust_scope,
    body=_rust_body,
)


# Swift. Initialisers, computed properties and subscripts are functions, too.


_SWIFT_NAMES = {"init_declaration": ("init",), "deinit_declaration": ("deinit",)}
_SWIFT_COMPUTED = ("computed_getter", "computed_setter", "computed_property")


def _swift_name(node: Node) -> Parts:
    if node.type in _SWIFT_NAMES:
        return _SWIFT_NAMES[node.type]
    if node.type not in _SWIFT_COMPUTED:
        return _swift_operator(node) or named_by_field(node)
    if node.type == "computed_property" and child_of(node, "computed_getter", "computed_setter"):
        return ()
    holder = node.parent if node.type == "computed_property" else node.parent and node.parent.parent
    if holder is None:
        return ()
    if holder.type == "subscript_declaration":
        return ("subscript",)
    name = field_of(holder, "name", "bound_identifier")
    return (text_of(name),) if name is not None else ()


def _swift_operator(node: Node) -> Parts:
    """Return the sign after `func`: the grammar's field `name` of an operator holds its result type."""
    names = False
    for child in node.children:
        if names:
            return () if child.type == "simple_identifier" else (text_of(child),)
        names = child.type == "func"
    return ()


def _swift_body(node: Node) -> Span | None:
    if node.type not in _SWIFT_COMPUTED:
        return body_by_field(node)
    brace = child_of(node, "{")
    return None if brace is None else Span(brace.start_byte, node.end_byte)


def _swift_parameters(node: Node) -> Iterable[Node]:
    holder = node.parent if node.type == "computed_property" else node
    listed = [] if holder is None else holder.named_children
    return [child for child in listed if child.type == "parameter"]


def _swift_kind(node: Node, kind: FunctionKind, name: str) -> FunctionKind:
    return "operator" if node.type == "function_declaration" and _swift_operator(node) else kind


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
    name=_swift_name,
    body=_swift_body,
    parameters=_swift_parameters,
    kind=_swift_kind,
)
