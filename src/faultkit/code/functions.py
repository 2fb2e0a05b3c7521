"""The functions of a text, in its order: named with what they stand in, each with its exact span. Pure.

Only functions with a body are listed: a prototype, an abstract method or an overload's signature has no
code to look at. What differs by language is in `faultkit.code.dialects`.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.code.comments import comment_text
from faultkit.code.dialects import DIALECTS
from faultkit.code.dialects.dialect import Dialect, Kind, Parts, text_of
from faultkit.code.function import Function
from faultkit.code.parameters import parameter_name
from faultkit.code.syntax import Node, Span, Syntax

MOST_PARTS = 50
"""Of a qualified name; of what is nested deeper than that, the innermost parts are kept."""
MOST_COMMENTS = 500
"""That are looked at above one function: a wall of them is no doc, and to go up it takes time."""

_SPACE = b" \t\r\n\f\v"


@dataclass(slots=True)
class _Open:
    """A function or scope that is not yet closed. Its name is found out when something in it needs it."""

    node: Node
    end: int
    is_type: bool
    parts: Parts | None = None


def list_functions(syntax: Syntax) -> tuple[Function, ...]:
    dialect = DIALECTS[syntax.language.name]
    functions: list[Function] = []
    opened: list[_Open] = []
    for node in syntax.nodes_of((*dialect.functions, *dialect.types, *dialect.namespaces)):
        while opened and opened[-1].end <= node.start_byte:
            opened.pop()
        entry = _Open(node, node.end_byte, is_type=node.type in dialect.types)
        if node.type in dialect.functions:
            entry.parts = _parts_around(opened, dialect)
            own, body = dialect.name(node), dialect.body(node)
            if own and body is not None:
                entry.parts = (*entry.parts, *own)[-MOST_PARTS:]
                in_type = bool(opened) and opened[-1].is_type
                functions.append(_function(syntax, dialect, node, entry.parts, body, in_type))
        opened.append(entry)
    functions.sort(key=lambda each: (each.full.start, -each.full.end))
    return tuple(functions)


def _parts_around(opened: list[_Open], dialect: Dialect) -> Parts:
    parts: Parts = ()
    for entry in opened:
        if entry.parts is None:
            entry.parts = (*parts, *dialect.scope(entry.node))[-MOST_PARTS:]
        parts = entry.parts
    return parts


def _function(
    syntax: Syntax, dialect: Dialect, node: Node, parts: Parts, body: Span, in_type: bool
) -> Function:
    outer = _outermost(node, dialect)
    head = _head(syntax, dialect, outer, node)
    end = dialect.end(node) if outer.end_byte == node.end_byte else outer.end_byte
    full = Span(head.start, _trimmed(syntax.source, head.start, end))
    start = min(body.start, full.end)
    body = Span(start, _trimmed(syntax.source, start, max(start, min(body.end, full.end))))
    signature_end = max(
        (
            child.end_byte
            for child in node.children
            if child.start_byte < child.end_byte <= body.start and child.type not in dialect.comments
        ),
        default=body.start,
    )
    signature = syntax.text(Span(head.signature_start, max(signature_end, head.signature_start)))
    return Function(
        name=parts[-1],
        qualified_name=".".join(parts),
        kind=_kind(dialect, node, parts, in_type),
        full=full,
        body=body,
        line=syntax.line(head.signature_start),
        start_line=syntax.line(full.start),
        end_line=syntax.line(max(full.start, full.end - 1)),
        signature=signature.removesuffix(" =").rstrip("; \t\r\n"),
        is_async=_is_async(node, dialect),
        decorators=head.decorators,
        parameters=tuple(filter(None, map(parameter_name, dialect.parameters(node)))),
        doc=comment_text(head.comments) if dialect.doc is None else dialect.doc(node),
    )


def _outermost(node: Node, dialect: Dialect) -> Node:
    if not dialect.around:
        return node
    outer = node
    while (parent := outer.parent) is not None:
        if parent.type not in dialect.around or not dialect.fits_around(parent, outer):
            break
        outer = parent
    return outer


def _kind(dialect: Dialect, node: Node, parts: Parts, in_type: bool) -> Kind:
    kind = dialect.kind(node, dialect.functions[node.type], parts[-1])
    if kind not in ("function", "method"):
        return kind
    if in_type or kind == "method":
        if parts[-1] in dialect.constructors:
            return "constructor"
        if parts[-1] in dialect.destructors:
            return "destructor"
        kind = "method"
    is_same = dialect.constructor_is_type_name and parts[-2:-1] == parts[-1:]
    return "constructor" if is_same else kind


def _is_async(node: Node, dialect: Dialect) -> bool:
    for child in node.children:
        if child.type in dialect.asynchronous:
            return True
        if child.type in dialect.modifiers:
            words = (child, *child.children)
            if any(text_of(word) in dialect.asynchronous for word in words):
                return True
    return False


@dataclass(frozen=True, slots=True)
class _Head:
    """What stands before the signature."""

    start: int
    signature_start: int
    decorators: tuple[str, ...]
    comments: tuple[str, ...]


def _head(syntax: Syntax, dialect: Dialect, outer: Node, node: Node) -> _Head:
    decorators, comments, start = _before(syntax, dialect, outer)
    inner = [*outer.children] if outer == node else [*outer.children, *node.children]
    inner += [child for each in inner if each.type in dialect.modifiers for child in each.children]
    decorators += sorted((each for each in inner if each.type in dialect.decorators), key=_start)
    signature_start = outer.start_byte
    skipped = (*dialect.decorators, *dialect.comments)
    for each in sorted((each for each in inner if each.type in skipped), key=_start):
        if each.start_byte < signature_start:
            continue
        if syntax.source[signature_start : each.start_byte].strip():
            break
        signature_start = each.end_byte
    while syntax.source[signature_start : signature_start + 1].isspace():
        signature_start += 1
    return _Head(start, signature_start, tuple(map(text_of, decorators)), tuple(map(text_of, comments)))


def _before(syntax: Syntax, dialect: Dialect, outer: Node) -> tuple[list[Node], list[Node], int]:
    """Decorators that stand beside and not in the function, and the comment right above all of it."""
    decorators: list[Node] = []
    comments: list[Node] = []
    start, row = outer.start_byte, outer.start_point[0]
    beside = outer.prev_sibling if dialect.doc is None else None
    while beside is not None and len(comments) < MOST_COMMENTS:
        if beside.type in dialect.decorators:
            decorators.append(beside)
            start = beside.start_byte
        elif beside.type in dialect.comments and _is_doc(syntax, beside, row):
            comments.append(beside)
        else:
            break
        row = beside.start_point[0]
        beside = beside.prev_sibling
    return decorators[::-1], comments[::-1], start


def _is_doc(syntax: Syntax, comment: Node, row: int) -> bool:
    """On lines of its own right above `row`; and neither of a whole file nor for the system."""
    last_row = comment.end_point[0] - (comment.end_point[1] == 0)
    line_start = comment.start_byte - comment.start_point[1]
    text = text_of(comment)
    return (
        last_row >= row - 1
        and not syntax.source[line_start : comment.start_byte].strip()
        and not text.startswith(("#!", "//!"))
    )


def _start(node: Node) -> int:
    return node.start_byte


def _trimmed(source: bytes, start: int, end: int) -> int:
    """Some grammars let a block run up to the next one."""
    while end > start and source[end - 1] in _SPACE:
        end -= 1
    return end
