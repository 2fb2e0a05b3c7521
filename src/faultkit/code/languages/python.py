"""How Python writes functions: their bodies, docstrings and ends."""

from __future__ import annotations

import re
from inspect import cleandoc

from faultkit.code.languages.dialect import (
    Dialect,
    end_before_comment,
    text_of,
)
from faultkit.code.languages.syntax import Node, Span

_PREFIX = re.compile(r"[rRuU]?(?=['\"])")
_QUOTES = ('"""', "'''", '"', "'")


def _body(node: Node) -> Span | None:
    """Return the span from the first statement, or from a comment on a line of its own before it."""
    block = node.child_by_field_name("body")
    if block is None:
        return None
    colon_row = block.start_point[0]
    start = block.start_byte
    for child in reversed(node.children):
        if child.type == ":":
            colon_row = child.end_point[0]
            break
    for child in node.children:
        if child.type == "comment" and child.start_point[0] > colon_row:
            start = min(start, child.start_byte)
            break
    return Span(start, block.end_byte)


def _doc(node: Node) -> str:
    """Return the docstring without its quotes and indentation."""
    statement = _first(node.child_by_field_name("body"))
    text = _first(statement)
    if statement is None or text is None or statement.type != "expression_statement":
        return ""
    pieces = text.named_children if text.type == "concatenated_string" else [text]
    literals = [text_of(piece) for piece in pieces if piece.type == "string"]
    if not literals or statement.named_child_count != 1 or not all(map(_PREFIX.match, literals)):
        return ""
    return cleandoc("".join(map(_unquoted, literals)).replace("\r\n", "\n"))


def _first(node: Node | None) -> Node | None:
    return next((child for child in node.named_children if child.type != "comment"), None) if node else None


def _unquoted(literal: str) -> str:
    quoted = literal.lstrip("rRuU")
    quote = next((each for each in _QUOTES if quoted.startswith(each)), "")
    return quoted[len(quote) : -len(quote) or None]


PYTHON = Dialect(
    functions={"function_definition": "function"},
    types=("class_definition",),
    around=("decorated_definition",),
    decorators=("decorator",),
    constructors=("__init__", "__new__"),
    destructors=("__del__",),
    body=_body,
    end=end_before_comment,
    doc=_doc,
)
