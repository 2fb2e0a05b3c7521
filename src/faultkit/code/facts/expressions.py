"""Reads expressions: what is inside parentheses and `await`, and the shape of a value."""

from __future__ import annotations

import re

from faultkit.code.facts.collected import span
from faultkit.code.facts.fact_values import Shape, StepDetails, StepKind, Text, Value
from faultkit.code.facts.grammar import Grammar, leaves_if_missing, passed_on
from faultkit.code.languages.dialect import text_of
from faultkit.code.languages.syntax import Node

_ESCAPED = re.compile(r"""\\([\\"'`/])""")
_ITEM = re.compile(r"""\s*(@?[rRuU]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`$]*`))\s*(?:,|$)""", re.DOTALL)
_LONGEST_WORD = 20
"""Bytes of a word that is a value, such as `null`, at most."""


def unwrap(grammar: Grammar, node: Node) -> Node:
    """Return the expression without parentheses, `await` and similar nodes around it."""
    if grammar.passes:
        node = passed_on(grammar, node)
    while node.type in grammar.transparent and node.named_child_count:
        if node.type == "unary_expression" and grammar.sees_through.search(text_of(node)) is None:
            return node
        if node.type == "binary_expression" and not leaves_if_missing(node):
            return node
        inner = [child for child in node.named_children if not child.is_extra]
        if not inner:
            return node
        node = inner[-1] if node.type in ("cast_expression", "type_assertion") else inner[0]
        if grammar.passes:
            node = passed_on(grammar, node)
    return node


def value_of(grammar: Grammar, node: Node) -> Value:
    """Return an expression as a value with its shape."""
    inner = unwrap(grammar, node)
    shape: Shape = grammar.shapes.get(inner.type, "other")
    if shape == "text" and has_holes(inner, grammar):
        shape = "other"
    if grammar.words and shape in ("name", "other") and inner.end_byte - inner.start_byte <= _LONGEST_WORD:
        shape = grammar.words.get(text_of(inner), shape)
    return Value(node, shape, span(node))


def unescaped(value: Value) -> str:
    """Return the content of a string literal with escaped quotes and slashes as they are at run time."""
    is_raw = value.text[:1] in ("r", "R", "@")
    return value.literal if is_raw else _ESCAPED.sub(r"\1", value.literal)


def literals_of(value: Value) -> tuple[str, ...]:
    """Return the contents of a string literal, or of a list of them; empty for anything else."""
    if value.shape == "text":
        return (unescaped(value),)
    if value.shape != "list":
        return ()
    inner, items, at = value.text[1:-1].rstrip().rstrip(","), list[str](), 0
    while at < len(inner):
        item = _ITEM.match(inner, at)
        if item is None:
            return ()
        items.append(unescaped(Value(item[1], "text", value.span)))
        at = item.end()
    return tuple(items)


def has_holes(text: Node, grammar: Grammar) -> bool:
    """Return whether a text is put together at run time: an f-string, a template."""
    holes = grammar.interpolations
    # Everything that is put into a text stands in braces; to ask for the children of all takes long.
    if holes and b"{" in (text.text or b"") and any(child.type in holes for child in text.children):
        return True
    return grammar.hole is not None and grammar.hole.search(text_of(text)) is not None


def text_fact(grammar: Grammar, node: Node) -> Text:
    """Return a string literal as a fact; of a template, the parts that are literal."""
    if has_holes(node, grammar):
        content = "".join(text_of(child) for child in node.children if "content" in child.type)
    else:
        content = Value(text_of(node), grammar.shapes.get(node.type, "other"), span(node)).literal
    return Text(content, span(node), node.start_point[0] + 1)


def step_details(grammar: Grammar, kind: StepKind, node: Node) -> StepDetails:
    """Return the text of a step: what follows its keyword, the condition of a branch, or two sides."""
    word, sides = "", tuple[Value, ...]()
    parts = [child for child in node.named_children if not child.is_extra]
    if kind == "binary":
        left = node.child_by_field_name("left") or (parts[0] if parts else None)
        right = node.child_by_field_name("right") or (parts[-1] if parts else None)
        word = text_of(node.child_by_field_name("operator") or node.child_by_field_name("operators"))
        if not word:
            word = " ".join(text_of(child) for child in node.children if not child.is_named)
        sides = tuple(value_of(grammar, each) for each in (left, right) if each is not None)
    condition = node.child_by_field_name("condition") or (parts[0] if parts else None)
    return StepDetails(node.start_point[0] + 1, text_of(condition), word, sides)
