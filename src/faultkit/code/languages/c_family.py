"""How C, C++ and C# write functions. In C and C++ the name is deep inside the declarator."""

from __future__ import annotations

import re
from collections.abc import Iterable

from faultkit.base.text import one_line
from faultkit.code.languages.dialect import (
    Dialect,
    FunctionKind,
    Parts,
    child_of,
    last_of,
    name_parts,
    named_by_field,
    span_of,
    text_of,
)
from faultkit.code.languages.syntax import Node, Span

_OPERATOR_SPACE = re.compile(r"operator (?=\W)")
_STEPS = ("declarator", "identifier", "destructor_name", "operator_name")


def _inner(node: Node) -> Node | None:
    """Go one step towards the name. Only some declarators have a field for it."""
    step = node.child_by_field_name("declarator")
    if step is not None or not node.type.endswith("declarator"):
        return step
    return next((each for each in node.named_children if each.type.endswith(_STEPS)), None)


def _declarators(node: Node) -> list[Node]:
    """Return declarators from the outermost to the name itself."""
    found, step = [], _inner(node)
    while step is not None:
        found.append(step)
        step = _inner(step) if step.type.endswith("declarator") else None
    return found


def _c_name(node: Node) -> Parts:
    """Return `A`, `B`, `f` for `A::B<T>::f`; the name of an operator stays whole."""
    declarators = _declarators(node)
    name = declarators[-1] if declarators else None
    scopes: list[str] = []
    while name is not None and name.type == "qualified_identifier":
        scopes += name_parts(text_of(name.child_by_field_name("scope")))
        name = name.child_by_field_name("name")
    if name is None:
        return ()
    if name.type == "operator_cast":
        return (*scopes, f"operator {text_of(name.child_by_field_name('type'))}")
    if not any(each.type == "function_declarator" for each in declarators):
        return ()
    if name.type == "template_function":
        name = name.child_by_field_name("name")
    return (*scopes, _OPERATOR_SPACE.sub("operator", one_line(text_of(name))))


def _c_parameters(node: Node) -> Iterable[Node]:
    """Return parameters of the innermost function: one that returns a pointer to a function has two lists."""
    functions = [each for each in _declarators(node) if each.type == "function_declarator"]
    listed = functions[-1].child_by_field_name("parameters") if functions else None
    if listed is None:
        return
    for parameter in listed.named_children:
        steps = [parameter] if parameter.type == "identifier" else _declarators(parameter)
        if steps and not steps[-1].type.startswith("abstract"):
            yield steps[-1]


def _c_kind(node: Node, kind: FunctionKind, name: str) -> FunctionKind:
    if name.startswith("~"):
        return "destructor"
    if name.startswith("operator") and not name[8:9].isalnum() and name[8:9] not in ("", "_"):
        return "operator"
    return "method" if len(_c_name(node)) > 1 else kind


C = Dialect(
    functions={"function_definition": "function"},
    decorators=("attribute_declaration",),
    name=_c_name,
    parameters=_c_parameters,
)

CPP = Dialect(
    functions={"function_definition": "function"},
    types=("class_specifier", "struct_specifier", "union_specifier"),
    namespaces=("namespace_definition",),
    around=("template_declaration", "linkage_specification"),
    decorators=("attribute_declaration",),
    name=_c_name,
    parameters=_c_parameters,
    kind=_c_kind,
    constructor_is_type_name=True,
)


# C#. The namespace of a file is no part of a name.


def _csharp_name(node: Node) -> Parts:
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


def _csharp_body(node: Node) -> Span | None:
    """Return a block with its braces, or the expression after `=>`."""
    body = node.child_by_field_name("body") or node.child_by_field_name("value")
    if body is not None and body.type == "arrow_expression_clause":
        return span_of(last_of(body))
    return span_of(body) if body is not None and body.type == "block" else None


def _csharp_parameters(node: Node) -> Iterable[Node]:
    """Return parameter nodes; `params int[] rest` has no node of its own in the list."""
    listed = node.child_by_field_name("parameters") or child_of(node, "bracketed_parameter_list")
    if listed is not None:
        yield from (child for child in listed.named_children if child.type == "parameter")
        yield from listed.children_by_field_name("name")


def _csharp_kind(node: Node, kind: FunctionKind, name: str) -> FunctionKind:
    """Return the kind; accessors differ by their first word: get, set, init, add or remove."""
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
    name=_csharp_name,
    body=_csharp_body,
    parameters=_csharp_parameters,
    kind=_csharp_kind,
)
