"""How Go and Rust write functions. In Go they are declared, have a receiver, or are held by a variable."""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.code.languages.dialect import (
    Dialect,
    Kind,
    Parts,
    body_by_field,
    child_of,
    end_before_comment,
    field_of,
    last_of,
    named_by_field,
    parameters_by_field,
    plain,
    span_of,
    text_of,
)
from faultkit.code.languages.syntax import Node, Span

_HOLDERS = {"short_var_declaration": "left", "var_spec": "name", "assignment_statement": "left"}


def _go_name(node: Node) -> Parts:
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
    """Return the variable of `f := func() {…}`. Where one statement fills several variables, the
    position decides."""
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


def _go_parameters(node: Node) -> Iterable[Node]:
    """Return parameter nodes: `a, b int` declares two names; `int` alone has none."""
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
    name=_go_name,
    parameters=_go_parameters,
    fits_around=_fits_around,
)


# Rust.


_WRAPPED = {
    "reference_type": "type",
    "pointer_type": "type",
    "generic_type": "type",
    "dynamic_type": "trait",
}


def _scope(node: Node) -> Parts:
    """Return the type of an `impl`, whichever trait it implements."""
    name = node.child_by_field_name("type" if node.type == "impl_item" else "name")
    while name is not None and name.type in _WRAPPED:
        name = name.child_by_field_name(_WRAPPED[name.type])
    if name is None or name.type.endswith("identifier"):
        return plain(text_of(name))
    return (" ".join(text_of(name).split()),)


RUST = Dialect(
    functions={"function_item": "function"},
    types=("impl_item", "trait_item"),
    namespaces=("mod_item",),
    decorators=("attribute_item",),
    modifiers=("function_modifiers",),
    comments=("line_comment", "block_comment"),
    scope=_scope,
)


# How Java, Kotlin and Scala write functions. The package of a file is no part of a name.


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
    """An extension is named with the type that it extends: `String.shout`."""
    if node.type == "secondary_constructor":
        return ("constructor",)
    if node.type in ("getter", "setter"):
        return _kotlin_property(node)
    name = named_by_field(node)
    before: list[Node] = []
    for child in node.children:
        if child.type == "." and before and before[-1].type in ("user_type", "nullable_type"):
            return (*plain(text_of(before[-1]).rstrip("?")), *name)
        before.append(child)
    return name


def _kotlin_property(node: Node) -> Parts:
    holder = node.parent
    declared = None if holder is None else child_of(holder, "variable_declaration")
    name = None if declared is None else child_of(declared, "identifier")
    return (text_of(name),) if name is not None else ()


def _kotlin_body(node: Node) -> Span | None:
    """A block with its braces, or the expression after `=`."""
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


# How Swift writes functions: also initialisers, computed properties and subscripts.


_FIXED = {"init_declaration": ("init",), "deinit_declaration": ("deinit",)}
_COMPUTED = ("computed_getter", "computed_setter", "computed_property")


def _swift_name(node: Node) -> Parts:
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
    """Return the sign after `func`: the grammar's field `name` of an operator holds its result type."""
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


def _swift_parameters(node: Node) -> Iterable[Node]:
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
    name=_swift_name,
    body=_body,
    parameters=_swift_parameters,
    kind=_kind,
)
