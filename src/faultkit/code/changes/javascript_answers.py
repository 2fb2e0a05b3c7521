"""Answers of HTTP calls that a file surely reads at once. Pure.

A time limit of `fetch` and of Node's `http` covers the body. An answer that is returned or passed on may be
read for long, by code that is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.changes.change import Source
from faultkit.code.changes.javascript_values import FUNCTIONS, mentions_of, scope_of
from faultkit.code.facts import Call
from faultkit.code.languages.syntax import Node

_AROUND = ("await_expression", "parenthesized_expression", "non_null_expression", "as_expression")
_FETCHED = frozenset(
    (
        "bodyUsed", "formData", "headers", "json", "ok", "redirected", "status", "statusText", "text", "type",
        "url",
    )
)  # fmt: skip
"""What is read of a response of fetch; its body only as a whole."""
_NODE = frozenset(
    ("complete", "destroy", "headers", "on", "once", "resume", "setEncoding", "statusCode", "statusMessage")
)
"""What is read of a response of http."""


def is_read_here(source: Source, call: Call, *, is_node: bool) -> bool:
    """Return whether every use of an answer is seen, and none may take its body piece by piece."""
    node = source.node_at(call.span)
    if node is None:
        return False
    if is_node:
        return all(_takes_parts(source, each, _NODE) for each in _handlers(source, call))
    while node.parent is not None and node.parent.type in _AROUND:
        node = node.parent
    return _is_read(source, node)


def _is_read(source: Source, node: Node) -> bool:
    outer = node.parent
    if outer is None or outer.type == "expression_statement":
        return outer is not None
    if outer.type == "variable_declarator":
        name = outer.child_by_field_name("name")
        if name is None or name.type == "object_pattern":
            return False
        return _has_parts_only(source, name, scope_of(outer), _FETCHED)
    if outer.type != "member_expression":
        return False
    part = _part_of(source, outer)
    if part != "then":
        return part in _FETCHED
    then = outer.parent
    given = None if then is None else then.child_by_field_name("arguments")
    first = None if given is None or not given.named_children else given.named_children[0]
    return first is not None and _takes_parts(source, first, _FETCHED)


def _handlers(source: Source, call: Call) -> Iterator[Node]:
    """Yield what may receive an answer of Node's http: callbacks, and handlers of events of this file."""
    listeners = source.facts.calls_of_method("on", "once", "addListener")
    receivers = [*call.positional[1:]]
    for each in listeners:
        if each.positional and each.positional[0].value.literal == "response":
            receivers += each.positional[1:]
    for argument in receivers:
        handler = source.node_at(argument.value.span)
        if handler is not None and handler.type != "object":
            yield handler


def _takes_parts(source: Source, function: Node, parts: frozenset[str]) -> bool:
    """Return whether a function uses only these parts of its first parameter."""
    if function.type not in FUNCTIONS:
        return False
    name = function.child_by_field_name("parameter")
    given = function.child_by_field_name("parameters")
    if name is None and given is not None:
        name = next((each for each in given.named_children if not each.is_extra), None)
        if name is None:
            return True
    if name is not None and name.type == "required_parameter":
        name = name.child_by_field_name("pattern")
    return name is not None and name.type == "identifier" and _has_parts_only(source, name, function, parts)


def _has_parts_only(source: Source, name: Node, scope: Node, parts: frozenset[str]) -> bool:
    for each in mentions_of(source, scope, source.syntax.text(name)):
        if each.id == name.id:
            continue
        outer = each.parent
        is_part = (
            outer is not None and outer.type == "member_expression" and outer.start_byte == each.start_byte
        )
        if outer is None or not is_part or _part_of(source, outer) not in parts:
            return False
    return True


def _part_of(source: Source, member: Node) -> str:
    part = member.child_by_field_name("property")
    return "" if part is None else source.syntax.text(part)
