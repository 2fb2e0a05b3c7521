"""Chunks of a file, the units of search: one for each function, and the rest of the module. Pure.

A function that is too long is cut between statements and leaves out the functions inside it, which have
chunks of their own. No text, however nested, therefore grows by more than a small factor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from uuid import UUID

from faultkit.code.functions import Function, list_functions
from faultkit.code.languages.syntax import Node, Span, Syntax

MOST_BYTES = 3000
"""Bytes of the text of a chunk: about eighty lines."""
MOST_SIGNATURE, MOST_DOC = 400, 1200
"""Characters that are kept of them; longer ones are cut."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a file, as it is indexed."""

    id: str
    """The same for the same project, path, name and content, so that writing it twice has no effect."""
    path: str
    """The path from the root of the project, with `/`."""
    name: str
    """The qualified name; empty for code outside functions."""
    language: str
    start_line: int
    end_line: int
    signature: str
    doc: str
    text: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """The spans of one chunk, before their text is taken."""

    name: str
    spans: tuple[Span, ...]
    signature: str = ""
    doc: str = ""


def chunk_file(project: str, path: str, syntax: Syntax) -> tuple[Chunk, ...]:
    """Return chunks in the order of the text, functions first. A blank file has none."""
    functions = list_functions(syntax)
    pieces = [
        *(piece for index in range(len(functions)) for piece in _of_function(syntax, functions, index)),
        *_of_module(syntax, functions),
    ]
    seen: dict[str, int] = {}
    return tuple(_chunk(project, path, syntax, piece, seen) for piece in pieces)


def _of_function(syntax: Syntax, functions: Sequence[Function], index: int) -> Iterator[_Piece]:
    function = functions[index]
    signature, doc = function.signature[:MOST_SIGNATURE], function.doc[:MOST_DOC]
    if function.full.end - function.full.start <= MOST_BYTES:
        yield _Piece(function.qualified_name, (function.full,), signature, doc)
        return
    left = _without(function.full, _outermost(functions, index + 1, function.full.end))
    for number, spans in enumerate(_packed(syntax, left)):
        yield _Piece(function.qualified_name, spans, signature, doc if number == 0 else "")


def _of_module(syntax: Syntax, functions: Sequence[Function]) -> Iterator[_Piece]:
    whole = Span(0, len(syntax.source))
    for spans in _packed(syntax, _without(whole, _outermost(functions, 0, whole.end))):
        yield _Piece("", spans)


def _outermost(functions: Sequence[Function], first: int, end: int) -> Iterator[Span]:
    """Yield spans of functions from `first` on that lie before `end` and are in no other of them."""
    reached = 0
    for function in functions[first:]:
        if function.full.start >= end:
            return
        if function.full.start >= reached:
            yield function.full
            reached = function.full.end


def _without(whole: Span, holes: Iterator[Span]) -> list[Span]:
    left, at = [], whole.start
    for hole in holes:
        left.append(Span(at, max(at, hole.start)))
        at = max(at, hole.end)
    return [*left, Span(at, max(at, whole.end))]


def _packed(syntax: Syntax, spans: Sequence[Span]) -> Iterator[tuple[Span, ...]]:
    """Group spans so that no group is longer than a chunk; a longer span is cut."""
    borders: _Borders | None = None
    group: list[Span] = []
    size = 0
    for span in spans:
        parts = [span]
        if span.end - span.start > MOST_BYTES:
            borders = borders or _borders(syntax)
            parts = _cut(syntax.source, span, borders)
        for part in parts:
            if not syntax.source[part.start : part.end].strip():
                continue
            length = part.end - part.start
            if group and size + length > MOST_BYTES:
                yield tuple(group)
                group, size = [], 0
            group.append(part)
            size += length
    if group:
        yield tuple(group)


@dataclass(frozen=True, slots=True)
class _Borders:
    """Offsets where a text may be cut, and the depth in the tree there: less deep is better."""

    places: list[int]
    depths: list[int]


def _borders(syntax: Syntax) -> _Borders:
    found: dict[int, int] = {}
    waiting: list[tuple[Node, int]] = [(syntax.root, 0)]
    while waiting:
        node, depth = waiting.pop()
        for child in node.children:
            place = _line_start(syntax.source, child.start_byte)
            found[place] = min(depth, found.get(place, depth))
            if child.end_byte - child.start_byte > MOST_BYTES:
                waiting.append((child, depth + 1))
    places = sorted(found)
    return _Borders(places, [found[place] for place in places])


def _line_start(source: bytes, offset: int) -> int:
    """Go back over the indentation, which belongs to what follows it."""
    start = source.rfind(b"\n", 0, offset) + 1
    return offset if source[start:offset].strip() else start


def _cut(source: bytes, span: Span, borders: _Borders) -> list[Span]:
    parts, start = [], span.start
    while span.end - start > MOST_BYTES:
        end = _best(borders, start + MOST_BYTES // 2, start + MOST_BYTES)
        if end is None:
            end = source.rfind(b"\n", start + 1, start + MOST_BYTES) + 1 or _character(source, start)
        parts.append(Span(start, end))
        start = end
    return [*parts, Span(start, span.end)]


def _best(borders: _Borders, after: int, upto: int) -> int | None:
    """Return the last of the least deep borders."""
    first, last = bisect_right(borders.places, after), bisect_right(borders.places, upto)
    if first == last:
        return None
    return borders.places[min(range(first, last), key=lambda each: (borders.depths[each], -each))]


def _character(source: bytes, start: int) -> int:
    """Cut a very long line anywhere, but not inside a character."""
    end = start + MOST_BYTES
    while source[end] & 0xC0 == 0x80:
        end -= 1
    return end


def _chunk(project: str, path: str, syntax: Syntax, piece: _Piece, seen: dict[str, int]) -> Chunk:
    text = "\n".join(
        syntax.text(Span(_line_start(syntax.source, span.start), span.end)).strip("\r\n").rstrip()
        for span in piece.spans
    )
    key = _key(project, path, piece.name, piece.signature, piece.doc, text)
    seen[key] = seen.get(key, 0) + 1
    first, last = piece.spans[0], piece.spans[-1]
    head = syntax.source[first.start : first.end]
    start = first.start + len(head) - len(head.lstrip())
    end = last.start + len(syntax.source[last.start : last.end].rstrip())
    return Chunk(
        id=_id(_key(key, str(seen[key]))),
        path=path,
        name=piece.name,
        language=syntax.language.name,
        start_line=syntax.line(start),
        end_line=syntax.line(max(start, end - 1)),
        signature=piece.signature,
        doc=piece.doc,
        text=text,
    )


def _id(key: str) -> str:
    """Return the id, never with leading zeros: see `faultkit.code.index.points`."""
    return str(UUID(key if int(key[:8], 16) else f"1{key[1:]}"))


def _key(*parts: str) -> str:
    digest = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
