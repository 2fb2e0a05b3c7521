"""Expressions of JavaScript and TypeScript that surely are a string or a `URL`, as far as a file shows. Pure.

A variable is one if everything that it is given is. A parameter is one by its type, or if the file shows all
calls of its function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.changes.change import Source
from faultkit.code.languages.syntax import Node, walk

FUNCTIONS = (
    "arrow_function", "function", "function_declaration", "function_expression", "generator_function",
    "generator_function_declaration", "method_definition",
)  # fmt: skip
_NAMES = ("identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern")
_WRAPPERS = ("parenthesized_expression", "non_null_expression", "as_expression", "satisfies_expression")
_TYPE = re.compile(r"\s*:?\s*(string|URL)(\s*\|\s*(string|URL))*\s*")
_MAKES_TEXT = re.compile(
    r"(String|encodeURI|decodeURI)$|.*\.(toString|trim|replace|replaceAll|toLowerCase)$", re.DOTALL
)
_HOLDS_TEXT = re.compile(r"process\.env\b|process\.argv\[|.*\.href$|import\.meta\.url$", re.DOTALL)
_LEVELS = 3
"""Levels of variables and callers that are followed."""


def is_url(source: Source, node: Node, levels: int = _LEVELS) -> bool:
    """Return whether an expression is surely a string or a `URL`."""
    text = source.syntax.text(node)
    if node.type in ("string", "template_string"):
        return True
    if node.type in _WRAPPERS:
        typed = node.named_children[-1]
        is_typed = (
            typed.id != node.named_children[0].id and _TYPE.fullmatch(source.syntax.text(typed)) is not None
        )
        return is_typed or is_url(source, node.named_children[0], levels)
    if node.type == "binary_expression":
        return _is_url_of_two(source, node, levels)
    if node.type == "ternary_expression":
        return all(is_url(source, each, levels) for each in node.named_children[1:])
    if node.type == "new_expression":
        return re.match(r"new\s+URL\s*\(", text) is not None
    if node.type == "call_expression":
        called = node.child_by_field_name("function")
        return called is not None and _MAKES_TEXT.match(source.syntax.text(called)) is not None
    if node.type in ("member_expression", "subscript_expression"):
        return _HOLDS_TEXT.match(text) is not None
    return node.type == "identifier" and levels > 0 and _is_url_by_name(source, node, levels - 1)


def _is_url_of_two(source: Source, node: Node, levels: int) -> bool:
    sign = node.child_by_field_name("operator")
    sides = [is_url(source, each, levels) for each in node.named_children]
    if sign is not None and source.syntax.text(sign) == "+":
        return any(sides)
    return sign is not None and source.syntax.text(sign) in ("||", "??") and all(sides)


def _is_url_by_name(source: Source, use: Node, levels: int) -> bool:
    """Return whether the innermost variable of this name is given nothing but URLs."""
    name = source.syntax.text(use)
    for scope in _scopes_around(use):
        bound = [each for each in mentions_of(source, scope, name) if _binding(each) is not None]
        own = [each for each in bound if scope_of(each).id == scope.id or _is_assignment(each)]
        if len(own) > sum(map(_is_assignment, own)):
            return all(_is_given_url(source, each, levels) for each in own)
    return False


def _is_assignment(node: Node) -> bool:
    return node.parent is not None and node.parent.type in _ASSIGNMENTS


def _scopes_around(node: Node) -> Iterator[Node]:
    scope = scope_of(node)
    yield scope
    while scope.parent is not None:
        scope = scope_of(scope)
        yield scope


def scope_of(node: Node) -> Node:
    """Return the function around a node; the whole tree if there is none."""
    while node.parent is not None:
        node = node.parent
        if node.type in FUNCTIONS:
            break
    return node


def mentions_of(source: Source, top: Node, name: str) -> Iterator[Node]:
    """Return the places of a variable's name."""
    return (each for each in walk(top) if each.type in _NAMES and source.syntax.text(each) == name)


_ANY_BINDING = (
    "array_pattern", "catch_clause", "class_declaration", "formal_parameters", "function_declaration",
    "generator_function_declaration", "import_clause", "import_specifier", "namespace_import",
    "object_assignment_pattern", "object_pattern", "rest_pattern",
)  # fmt: skip
_BINDING_FIELDS = {
    "arrow_function": "parameter", "assignment_expression": "left", "assignment_pattern": "left",
    "augmented_assignment_expression": "left", "for_in_statement": "left", "optional_parameter": "pattern",
    "pair_pattern": "value", "required_parameter": "pattern", "update_expression": "argument",
    "variable_declarator": "name",
}  # fmt: skip
_ASSIGNMENTS = ("assignment_expression", "augmented_assignment_expression", "update_expression")


def _binding(node: Node) -> Node | None:
    """Return what gives a value to a name: a declaration, a parameter, an assignment; None if it is read."""
    outer = node.parent
    if outer is None or outer.type in _ANY_BINDING:
        return outer
    field = _BINDING_FIELDS.get(outer.type)
    return outer if field is not None and outer.child_by_field_name(field) == node else None


def _is_given_url(source: Source, node: Node, levels: int) -> bool:
    outer = _binding(node)
    if outer is None:
        return False
    typed = outer.child_by_field_name("type")
    if typed is not None and outer.type != "assignment_expression":
        return _TYPE.fullmatch(source.syntax.text(typed)) is not None
    if outer.type == "variable_declarator":
        value = outer.child_by_field_name("value")
        return value is not None and is_url(source, value, levels)
    if outer.type == "assignment_expression":
        right = outer.child_by_field_name("right")
        return right is not None and is_url(source, right, levels)
    is_parameter = outer.type in ("formal_parameters", "required_parameter", "arrow_function")
    return outer.type == "augmented_assignment_expression" or (
        is_parameter and _is_called_with_urls(source, node, levels)
    )


def _is_called_with_urls(source: Source, parameter: Node, levels: int) -> bool:
    """Return whether the file shows all calls of a function, and each gives a URL for a parameter."""
    function = scope_of(parameter)
    named = function.child_by_field_name("name")
    holder = function
    if function.type == "arrow_function" and function.parent is not None:
        holder = function.parent
        named = holder.child_by_field_name("name") if holder.type == "variable_declarator" else None
    if named is None or function.type == "method_definition" or is_exported(holder):
        return False
    at = _place_of(function, parameter)
    uses = [
        each
        for each in mentions_of(source, source.syntax.root, source.syntax.text(named))
        if each.id != named.id
    ]
    return bool(uses) and all(_gives_url(source, each, at, levels) for each in uses)


def _place_of(function: Node, parameter: Node) -> int:
    given = function.child_by_field_name("parameters")
    places = [] if given is None else [each for each in given.named_children if not each.is_extra]
    return next((at for at, each in enumerate(places) if each.start_byte == parameter.start_byte), 0)


def is_exported(node: Node) -> bool:
    """Return whether the statement of a node is exported."""
    outer: Node | None = node
    while outer is not None and outer.type not in ("statement_block", "program"):
        if outer.type == "export_statement":
            return True
        outer = outer.parent
    return False


def _gives_url(source: Source, use: Node, at: int, levels: int) -> bool:
    call = use.parent
    if call is None or call.type != "call_expression" or call.child_by_field_name("function") != use:
        return False
    arguments = call.child_by_field_name("arguments")
    given = [] if arguments is None else [each for each in arguments.named_children if not each.is_extra]
    if any(each.type == "spread_element" for each in given) or at >= len(given):
        return False
    return is_url(source, given[at], levels)
