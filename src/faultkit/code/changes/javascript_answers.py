"""Answers of HTTP calls that a file surely reads at once. Pure.

A time limit of `fetch` and of Node's `http` covers the body. An answer that is returned or passed on may be
read for long, by code that is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.changes.change import Source
from faultkit.code.changes.javascript_values import FUNCTIONS, is_exported, mentions_of, scope_of
from faultkit.code.facts import Call
from faultkit.code.languages.syntax import Node, walk

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
_REQUEST = frozenset(
    (
        "abort", "addListener", "destroy", "end", "flushHeaders", "on", "once", "setHeader", "setTimeout",
        "write",
    )
)  # fmt: skip
"""What is done with a request of http."""
_COLLECTS = frozenset(("concat", "from", "push", "toString"))
"""Methods with which a handler of `data` keeps the pieces of a body until its end."""


def is_read_here(source: Source, call: Call, *, is_node: bool) -> bool:
    """Return whether every use of an answer is seen, and none may take its body piece by piece."""
    node = source.node_at(call.span)
    if node is None:
        return False
    if is_node:
        return _is_request_kept(source, node) and all(
            _takes_parts(source, each, _NODE) and _collects(source, each) for each in _handlers(source, call)
        )
    while node.parent is not None and node.parent.type in _AROUND:
        node = node.parent
    return _is_read(source, node)


def _is_request_kept(source: Source, node: Node) -> bool:
    """Return whether a request of Node's http stays in its function: no other code can take its answer."""
    while (method := _called_on(source, node)) is not None:
        member, call = method
        if _part_of(source, member) not in _REQUEST:
            return False
        node = call
    outer = node.parent
    if outer is None or outer.type == "expression_statement":
        return outer is not None
    if outer.type != "variable_declarator" or is_exported(outer):
        return False
    name = outer.child_by_field_name("name")
    return (
        name is not None
        and name.type == "identifier"
        and _has_parts_only(source, name, scope_of(outer), _REQUEST)
    )


def _called_on(source: Source, node: Node) -> tuple[Node, Node] | None:
    """Return the member and the call of a method that is called on a node: `http.get(u).on("error", f)`."""
    member = node.parent
    call = None if member is None or member.type != "member_expression" else member.parent
    if member is None or call is None or call.type != "call_expression":
        return None
    return (member, call) if call.child_by_field_name("function") == member else None


def _collects(source: Source, function: Node) -> bool:
    """Return whether a function that takes a response passes no piece of its body on."""
    return all(
        handler.type in FUNCTIONS and all(_keeps(source, each) for each in walk(handler))
        for handler in _data_handlers(source, function)
    )


def _data_handlers(source: Source, function: Node) -> Iterator[Node]:
    """Yield what is called with the pieces of a body: `r.on("data", handler)`."""
    for call in walk(function):
        called = call.child_by_field_name("function") if call.type == "call_expression" else None
        given = call.child_by_field_name("arguments")
        if called is None or given is None or called.type != "member_expression":
            continue
        first = [each for each in given.named_children if not each.is_extra]
        is_listener = _part_of(source, called) in ("on", "once", "addListener") and len(first) > 1
        if is_listener and source.syntax.text(first[0])[1:-1] == "data":
            yield first[1]


def _keeps(source: Source, node: Node) -> bool:
    """Return whether a node is no call, or one that keeps a piece of a body for later."""
    if node.type != "call_expression":
        return True
    called = node.child_by_field_name("function")
    is_member = called is not None and called.type == "member_expression"
    return is_member and called is not None and _part_of(source, called) in _COLLECTS


def _is_read(source: Source, node: Node) -> bool:
    outer = node.parent
    if outer is None or outer.type == "expression_statement":
        return outer is not None
    if outer.type == "variable_declarator":
        name = outer.child_by_field_name("name")
        if name is None or name.type == "object_pattern" or is_exported(outer):
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
