"""Go: goroutines, and what is sent and received on channels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.code.facts import Assignment, Call, Facts, is_within
from faultkit.code.languages.syntax import Node, Span


@dataclass(frozen=True, slots=True)
class ChannelUse:
    """A send or a receive."""

    channel: str
    """The channel as written."""
    sends: bool
    span: Span
    select: Span | None
    """The `select` that it is a case of."""


@lru_cache(maxsize=4)
def channel_uses(facts: Facts) -> tuple[ChannelUse, ...]:
    """Return the sends and receives of a Go text, in its order."""
    found = list[ChannelUse]()
    source = facts.syntax.source
    if b"<-" not in source and b"range" not in source:
        return ()
    for node in facts.syntax.nodes_of(["send_statement", "unary_expression", "range_clause"]):
        if node.type == "send_statement":
            channel, sends = node.child_by_field_name("channel"), True
        elif node.type == "range_clause":
            channel, sends = node.child_by_field_name("right"), False
        else:
            sign = node.child_by_field_name("operator")
            if sign is None or facts.syntax.text(sign) != "<-":
                continue
            channel, sends = node.child_by_field_name("operand"), False
        if channel is not None:
            name, span = facts.syntax.text(channel), Span(node.start_byte, node.end_byte)
            found.append(ChannelUse(name, sends, span, _select_of(node)))
    return tuple(found)


def _select_of(node: Node) -> Span | None:
    """Return the `select` of which a send or receive is the condition of a case."""
    inner, outer = node, node.parent
    while outer is not None and outer.type not in ("block", "statement_list", "func_literal"):
        if outer.type == "communication_case":
            select = outer.parent
            is_head = outer.child_by_field_name("communication") == inner
            return Span(select.start_byte, select.end_byte) if select is not None and is_head else None
        inner, outer = outer, outer.parent
    return None


def _case_nodes(select: Span, facts: Facts) -> Iterator[Node]:
    node: Node | None = facts.syntax.root.descendant_for_byte_range(select.start, select.end)
    while node is not None and node.type != "select_statement":
        node = node.parent
    for each in () if node is None else node.named_children:
        if each.type in ("communication_case", "default_case"):
            yield each


def default_of(select: Span, facts: Facts) -> Span:
    """Return the place of the `default` of a `select`; the `select` itself if it has none."""
    for each in _case_nodes(select, facts):
        if each.type == "default_case":
            return Span(each.start_byte, each.end_byte)
    return select


def cases_of(select: Span, facts: Facts) -> tuple[tuple[str, str], ...]:
    """Return condition and body of each case of a `select`; the condition of `default` is empty."""
    found = []
    for each in _case_nodes(select, facts):
        head = each.child_by_field_name("communication")
        text = facts.syntax.text(each)
        condition = "" if head is None else facts.syntax.text(head)
        found.append((condition, text[text.find(":", len(condition)) + 1 :]))
    return tuple(found)


def made_channels(facts: Facts) -> Iterator[Assignment]:
    """Yield `ch := make(chan T)` and `ch := make(chan T, n)` in functions."""
    for each in facts.assignments:
        call = each.call
        if each.scope is None or call is None or call.name != "make" or not call.arguments:
            continue
        if call.arguments[0].value.text.startswith("chan ") and len(each.targets) == 1:
            yield each


@lru_cache(maxsize=4)
def goroutines(facts: Facts) -> tuple[Call, ...]:
    """Return the calls `go func() { … }()`."""
    return tuple(call for call in facts.calls if call.is_launched)


def goroutine_around(span: Span, facts: Facts) -> Call | None:
    """Return the innermost `go func() { … }()` around a place."""
    around = [call for call in goroutines(facts) if is_within(span, call.callee)]
    return around[-1] if around else None
