"""Where text edits go so that the layout of the code around them stays: lines, indents, lists of keys. Pure.

For languages without a tree that can be written back; offsets are those of `Source.facts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from faultkit.code.changes.change import Edit, Source
from faultkit.code.syntax import Node

_INDENT = re.compile(rb"[ \t]*")


def indent_at(source: Source, offset: int) -> str:
    """The white space that the line of this byte begins with."""
    text = source.syntax.source
    start = max(text.rfind(b"\n", 0, offset) + 1, source.shift)
    found = _INDENT.match(text, start)
    assert found is not None
    return found[0].decode()


def newline_of(source: Source) -> str:
    return "\r\n" if "\r\n" in source.text else "\n"


def unit_of(source: Source, usual: str) -> str:
    """One level of indentation, as the text has it."""
    for line in source.text.split("\n"):
        found = re.match(r"(\t| {2,8})(?=\S)(?!\*)", line)
        if found:
            return found[1]
    return usual


def insert(source: Source, offset: int, text: str) -> Edit:
    return source.edit(offset, offset, text)


def add_key(source: Source, braces: Node, entry: str) -> Edit:
    """As the first entry of a literal in braces, on a line of its own if the others are."""
    inner = [each for each in braces.named_children if not each.is_extra]
    if not inner:
        pad = "" if source.language.name == "go" else " "
        return source.edit(braces.start_byte, braces.end_byte, f"{{{pad}{entry}{pad}}}")
    first = inner[0]
    if first.start_point.row == braces.start_point.row:
        return insert(source, first.start_byte, f"{entry}, ")
    return insert(
        source, first.start_byte, f"{entry},{newline_of(source)}{indent_at(source, first.start_byte)}"
    )


def after_statement(source: Source, statement: Node, lines: Iterable[str]) -> Edit:
    """Lines below a statement, as deep as it is."""
    if _shares_line(source, statement):
        text = source.syntax.source[statement.start_byte : statement.end_byte]
        is_open = source.language.name == "go" or not text.endswith(b";")
        said = " ".join(line.strip() for line in lines)
        return insert(source, statement.end_byte, f"{';' if is_open else ''} {said}")
    indent, end = indent_at(source, statement.start_byte), newline_of(source)
    return insert(source, statement.end_byte, "".join(f"{end}{indent}{line}" for line in lines))


def _shares_line(source: Source, statement: Node) -> bool:
    """Code stands before it and behind it: `func f() { x := g(); return x }`."""
    text = source.syntax.source
    before = text[text.rfind(b"\n", 0, statement.start_byte) + 1 : statement.start_byte]
    end = text.find(b"\n", statement.end_byte)
    after = text[statement.end_byte : len(text) if end < 0 else end].lstrip(b"; \t\r")
    return bool(before.strip()) and bool(after) and not after.startswith(b"//")


def before_statement(source: Source, statement: Node, lines: Iterable[str]) -> Edit:
    indent, end = indent_at(source, statement.start_byte), newline_of(source)
    return insert(source, statement.start_byte, "".join(f"{line}{end}{indent}" for line in lines))


def statement_of(node: Node | None, blocks: Iterable[str]) -> Node | None:
    """The statement around a node that stands directly in one of these blocks."""
    wanted = {*blocks}
    while node is not None and node.parent is not None:
        if node.parent.type in wanted:
            return node
        node = node.parent
    return None
