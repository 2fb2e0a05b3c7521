"""How C and C++ write functions: the name is deep inside the declarator."""

from __future__ import annotations

import re
from collections.abc import Iterable

from faultkit.code.dialects.dialect import Dialect, Kind, Parts, plain, text_of
from faultkit.code.syntax import Node

_OPERATOR_SPACE = re.compile(r"operator (?=\W)")
_STEPS = ("declarator", "identifier", "destructor_name", "operator_name")


def _inner(node: Node) -> Node | None:
    """One step towards the name. Only some declarators have a field for it."""
    step = node.child_by_field_name("declarator")
    if step is not None or not node.type.endswith("declarator"):
        return step
    return next((each for each in node.named_children if each.type.endswith(_STEPS)), None)


def _declarators(node: Node) -> list[Node]:
    """From the outermost to the name itself."""
    found, step = [], _inner(node)
    while step is not None:
        found.append(step)
        step = _inner(step) if step.type.endswith("declarator") else None
    return found


def _name(node: Node) -> Parts:
    """`A::B<T>::f` is `A`, `B`, `f`; the name of an operator stays whole."""
    declarators = _declarators(node)
    name = declarators[-1] if declarators else None
    scopes: list[str] = []
    while name is not None and name.type == "qualified_identifier":
        scopes += plain(text_of(name.child_by_field_name("scope")))
        name = name.child_by_field_name("name")
    if name is None:
        return ()
    if name.type == "operator_cast":
        return (*scopes, f"operator {text_of(name.child_by_field_name('type'))}")
    if not any(each.type == "function_declarator" for each in declarators):
        return ()
    if name.type == "template_function":
        name = name.child_by_field_name("name")
    return (*scopes, _OPERATOR_SPACE.sub("operator", " ".join(text_of(name).split())))


def _parameters(node: Node) -> Iterable[Node]:
    """Of the innermost function: a function that returns a pointer to a function has two lists."""
    functions = [each for each in _declarators(node) if each.type == "function_declarator"]
    listed = functions[-1].child_by_field_name("parameters") if functions else None
    if listed is None:
        return
    for parameter in listed.named_children:
        steps = [parameter] if parameter.type == "identifier" else _declarators(parameter)
        if steps and not steps[-1].type.startswith("abstract"):
            yield steps[-1]


def _kind(node: Node, kind: Kind, name: str) -> Kind:
    if name.startswith("~"):
        return "destructor"
    if name.startswith("operator") and not name[8:9].isalnum() and name[8:9] not in ("", "_"):
        return "operator"
    return "method" if len(_name(node)) > 1 else kind


C = Dialect(
    functions={"function_definition": "function"},
    decorators=("attribute_declaration",),
    name=_name,
    parameters=_parameters,
)

CPP = Dialect(
    functions={"function_definition": "function"},
    types=("class_specifier", "struct_specifier", "union_specifier"),
    namespaces=("namespace_definition",),
    around=("template_declaration", "linkage_specification"),
    decorators=("attribute_declaration",),
    name=_name,
    parameters=_parameters,
    kind=_kind,
    constructor_is_type_name=True,
)
