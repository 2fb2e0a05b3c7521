"""How Python writes functions."""

from __future__ import annotations

import re
from inspect import cleandoc

from faultkit.code.languages.dialect import (
    Dialect,
    Kind,
    Parts,
    end_before_comment,
    named_by_field,
    span_of,
    text_of,
)
from faultkit.code.languages.syntax import Node, Span

_PREFIX = re.compile(r"[rRuU]?(?=['\"])")
_QUOTES = ('"""', "'''", '"', "'")


def _python_body(node: Node) -> Span | None:
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
    body=_python_body,
    end=end_before_comment,
    doc=_doc,
)


# How Bash, PHP and Ruby write functions.


BASH = Dialect(functions={"function_definition": "function"})


# PHP. The namespace of a file is no part of a name; variables keep their `$`.


def _php_name(node: Node) -> Parts:
    """Return the name; a closure is named after its variable."""
    if node.type not in ("anonymous_function", "arrow_function"):
        return named_by_field(node)
    holder = node.parent
    if holder is None or holder.type != "assignment_expression":
        return ()
    left = holder.child_by_field_name("left")
    return (text_of(left),) if left is not None and left.type == "variable_name" else ()


PHP = Dialect(
    functions={
        "function_definition": "function",
        "method_declaration": "method",
        "anonymous_function": "function",
        "arrow_function": "arrow",
    },
    types=("class_declaration", "trait_declaration", "interface_declaration", "enum_declaration"),
    around=("assignment_expression", "expression_statement"),
    decorators=("attribute_group",),
    modifiers=("attribute_list",),
    constructors=("__construct",),
    destructors=("__destruct",),
    name=_php_name,
    fits_around=lambda parent, node: node.type != "function_definition",
)


# Ruby.


def _ruby_name(node: Node) -> Parts:
    """Return the name: `def self.open` as any other method of its class, `def Other.open` with its object."""
    name, owner = named_by_field(node), node.child_by_field_name("object")
    return name if owner is None or owner.type == "self" else (text_of(owner), *name)


def _body(node: Node) -> Span | None:
    """Return the body; a method without statements has an empty one before `end`."""
    body = node.child_by_field_name("body")
    if body is not None:
        return span_of(body)
    last = node.children[-1]
    return Span(last.start_byte, last.start_byte) if last.type == "end" else None


def _kind(node: Node, kind: Kind, name: str) -> Kind:
    shape = node.child_by_field_name("name")
    kinds: dict[str, Kind] = {"setter": "setter", "operator": "operator"}
    return kind if shape is None else kinds.get(shape.type, kind)


def _fits_around(parent: Node, node: Node) -> bool:
    """Return whether `private def …` is one block."""
    return parent.named_child_count == (1 if parent.type == "argument_list" else 2)


RUBY = Dialect(
    functions={"method": "function", "singleton_method": "method"},
    types=("class", "module"),
    around=("argument_list", "call"),
    constructors=("initialize",),
    name=_ruby_name,
    body=_body,
    kind=_kind,
    fits_around=_fits_around,
)
