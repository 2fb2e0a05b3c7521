"""What the nodes around a call say about it: whether its result is awaited, returned, used or closed.

The type of the node right around a call decides alone in most cases; in the others, the nodes around that are
asked, from the inside out.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from faultkit.code.facts.fact_values import CallFlags
from faultkit.code.facts.grammar import Grammar, leaves_if_missing, member_name
from faultkit.code.languages.syntax import Node

_CARRIES = "carries"
"""A value is a part of this node: what is around that decides."""
_ASKS = "asks"
"""The type does not suffice."""
_NAMES = (
    "is_awaited", "is_managed", "is_deferred", "is_launched", "is_returned", "is_discarded", "is_argument",
    "is_decorator",
)  # fmt: skip
_CARRIERS = frozenset(
    [
        "expression_list",
        "tuple",
        "list",
        "array",
        "dictionary",
        "object",
        "pair",
        "conditional_expression",
        "ternary_expression",
        "boolean_operator",
        "as_pattern",
        "literal_value",
        "keyed_element",
        "literal_element",
        "spread_element",
        "parenthesized_expression",
        "list_comprehension",
        "generator_expression",
        "set_comprehension",
        "when_entry",
        "when_expression",
        "if_expression",
        "match_expression",
        "match_block",
        "match_arm",
    ]
)
"""Node types whose parts are returned or assigned with them."""
ARGUMENTS = frozenset({"argument_list", "arguments", "keyword_argument", "list_splat", "value_arguments"})
_LAMBDAS = frozenset({"arrow_function", "lambda_expression", "lambda"})


@cache
def flags_with(*names: str) -> CallFlags:
    """Return flags of which these are set; an empty name sets none."""
    awaited, managed, deferred, launched, returned, discarded, argument, decorator = (
        each in names for each in _NAMES
    )
    return awaited, managed, deferred, launched, returned, discarded, argument, decorator


def _flag_around(kind: str, grammar: Grammar, carried: bool) -> str:
    """Return the flag that a node of this type gives to a call right below it, or to a value that carries
    the call; empty if it gives none. It may also be _CARRIES or _ASKS."""
    if kind in grammar.statements and not carried:
        return "is_discarded"
    if kind in grammar.returns:
        return "is_returned"
    if kind in _LAMBDAS or kind in grammar.managed or (kind in grammar.tails and not carried):
        return _ASKS
    return _flag_of_others(kind, grammar, carried)


def _flag_of_others(kind: str, grammar: Grammar, carried: bool) -> str:
    """Return the flag that a node gives if it neither ends a function nor closes what it holds."""
    if kind == "as_pattern" and not carried:
        return "is_managed"
    if kind in grammar.deferred:
        return "is_deferred"
    if kind in grammar.launched:
        return "is_launched"
    if kind in ARGUMENTS:
        return "is_argument"
    if kind == "decorator":
        return "is_decorator"
    return _CARRIES if kind in _CARRIERS else ""


def first_flags(kind: str, grammar: Grammar) -> CallFlags | None:
    """Return the flags of a call right below a node of this type; None if that depends on more."""
    if kind in grammar.transparent or kind in grammar.awaits:
        return None
    if grammar.passes and (kind in grammar.calls or kind in grammar.members):
        return None
    flag = _flag_around(kind, grammar, carried=False)
    return None if flag in (_ASKS, _CARRIES) else flags_with(flag)


def flags_of_path(call: Node, around: Iterable[tuple[Node, str]], grammar: Grammar) -> CallFlags:
    """Return the flags of a call by the nodes around it, the innermost first, each with its type."""
    inner, carried, awaited = call, False, ""
    for node, kind in around:
        if kind in grammar.awaits:
            awaited = "is_awaited"
        is_seen_through = kind in grammar.transparent and (
            kind != "binary_expression" or leaves_if_missing(node)
        )
        if is_seen_through or (grammar.passes and _passes_on(node, grammar)):
            inner = node
            continue
        flag = _flag_around(kind, grammar, carried)
        if flag == _ASKS:
            flag = _flag_by_parts(node, kind, inner, grammar, carried)
        if flag != _CARRIES:
            return flags_with(awaited, flag)
        inner, carried = node, True
    return flags_with(awaited)


def awaited_callee(callee: Node, grammar: Grammar) -> Node | None:
    """Return the callee of a call of which the grammar takes only the beginning for awaited, else None.

    TypeScript: `await get<T>(url)` as `(await get)<T>(url)`; C#: `await a?.Get()` as `(await a)?.Get()`.
    """
    if callee.type in grammar.awaits:
        return callee.named_children[0] if callee.named_child_count else None
    if callee.type != "conditional_access_expression":
        return None
    condition = callee.child_by_field_name("condition")
    return callee if condition is not None and condition.type in grammar.awaits else None


def _flag_by_parts(node: Node, kind: str, inner: Node, grammar: Grammar, carried: bool) -> str:
    if kind in _LAMBDAS and node.child_by_field_name("body") == inner:
        return "is_returned"
    if kind in grammar.tails and not carried:
        return "is_returned" if node.named_children[-1] == inner else "is_discarded"
    if kind in grammar.managed and grammar.manages(node):
        return "is_managed"
    return _flag_of_others(kind, grammar, carried)


def _passes_on(node: Node, grammar: Grammar) -> bool:
    """Return whether a node is `x.ConfigureAwait` or the call of it."""
    callee = grammar.callee(node) if node.type in grammar.calls else node
    if callee is None or callee.type not in grammar.members:
        return False
    return member_name(callee, grammar.members[callee.type][1]) in grammar.passes
