"""Reads the alternatives of a text, of which one runs: arms of `if`, `switch`, `match`, `? :` and `try`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from faultkit.code.facts.fact_values import Arm, Leaving
from faultkit.code.facts.grammar import Grammar, TryParts
from faultkit.code.languages.syntax import Node, Span

_BLOCKS = frozenset(
    (
        "block", "statement_block", "statement_list", "else_clause", "elif_clause", "case_clause",
        "switch_case", "switch_default", "switch_block_statement_group", "switch_rule", "expression_case",
        "default_case", "type_case", "communication_case", "except_clause", "except_group_clause",
        "catch_clause", "with_statement", "match_arm", "when_entry", "switch_section", "expression_statement",
    )
)  # fmt: skip
"""Types whose last part is a statement."""
_CASES_THAT_FALL_THROUGH = frozenset(("switch_case", "switch_default", "switch_block_statement_group"))
_ENDING_MACRO = re.compile(rb"(?:\w+::)*(?:bail|panic|unreachable|todo|unimplemented)!")
"""Macros that leave the function (Rust)."""
_LEAVES: dict[str, Leaving] = {"return": "function", "raise": "function", "break": "loop", "continue": "loop"}


def all_arms(forks: Iterable[tuple[Node, TryParts | None]], grammar: Grammar) -> tuple[Arm, ...]:
    """Return the arms of nodes that choose, outer ones before inner ones; a try comes with its parts."""
    found = [
        arm
        for node, parts in forks
        for arm in (arms_of(node, grammar) if parts is None else arms_of_try(node, parts, grammar))
    ]
    return tuple(sorted(found, key=lambda arm: (arm.span.start, -arm.span.end)))


def arms_of(node: Node, grammar: Grammar) -> Iterator[Arm]:
    """Yield the arms of a node that is among `grammar.forks`."""
    arms = [each for each in grammar.forks[node.type](node) if not each.is_extra]
    whole, place, start = _span(node), 0, -1
    for each in arms:
        is_case = each.type in _CASES_THAT_FALL_THROUGH
        last = _last(each)
        start = each.start_byte if start < 0 else start
        if is_case and (last is None or grammar.steps.get(last.type) not in _LEAVES) and each is not arms[-1]:
            continue  # It goes on in the next case.
        leaves = _leaves(last, grammar, in_switch=_is_case(each))
        yield Arm(whole, place, Span(start, each.end_byte), leaves)
        place, start = place + 1, -1


def arms_of_try(node: Node, parts: TryParts, grammar: Grammar) -> Iterator[Arm]:
    """Yield the body of a try and its handlers: a handler runs instead of the rest of the body."""
    whole = _span(node)
    yield Arm(whole, 0, _span(parts.body))
    for child in node.named_children:
        if child.type == "else_clause":
            yield Arm(whole, 0, _span(child))
    for place, handler in enumerate(parts.handlers, 1):
        yield Arm(whole, place, _span(handler.body), _leaves(_last(handler.body), grammar))


def outcomes(value: Node, grammar: Grammar) -> list[Node]:
    """Return the parts of which a value is one: of `a() if x else b()` and `a() or b()` both calls."""
    if value.type in ("conditional_expression", "ternary_expression"):
        return list(grammar.forks[value.type](value))
    return value.named_children if value.type == "boolean_operator" else []


def _is_case(node: Node) -> bool:
    return node.type.endswith("_case") or node.type in (*_CASES_THAT_FALL_THROUGH, "switch_section")


def _last(node: Node) -> Node | None:
    """Return the last statement of a block, or the statement itself."""
    while node.type in _BLOCKS:
        inside = [child for child in node.named_children if not child.is_extra]
        if not inside or inside[-1].type == "switch_label":
            return None
        if _is_case(node) and inside[-1] in node.children_by_field_name("value"):
            return None
        node = inside[-1]
    return node


def _leaves(node: Node | None, grammar: Grammar, *, in_switch: bool = False) -> Leaving:
    if node is None:
        return ""
    kind = grammar.steps.get(node.type, "")
    if kind == "break" and in_switch:
        return ""
    if node.type in ("if_statement", "if_expression"):
        arms = [*node.children_by_field_name("consequence"), *node.children_by_field_name("alternative")]
        ways = {_leaves(_last(each), grammar, in_switch=in_switch) for each in arms}
        if len(arms) < 2 or "" in ways or arms[-1].type == "elif_clause":
            return ""
        return "loop" if "loop" in ways else "function"
    if not kind and node.type in ("macro_invocation", "expression_statement"):
        return "function" if _ENDING_MACRO.match(node.text or b"") else ""
    return _LEAVES.get(kind, "")


def _span(node: Node) -> Span:
    return Span(node.start_byte, node.end_byte)
