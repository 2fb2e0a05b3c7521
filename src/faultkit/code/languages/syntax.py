"""Text as a syntax tree: a thin layer over tree-sitter. Pure, and safe in threads.

A broken text still gives a tree; `has_errors` reports it. Offsets are bytes of the UTF-8 text; lines and
columns count from 1, columns in characters. This module does not know the meaning of a node.

A text may be a whole file (`parse`), a part of one that stands alone (`parse_snippet`), or lines out of a
function (`parse_fragment`).

tree-sitter is imported when a text is parsed, so that commands about code show their help without it.
"""

from __future__ import annotations

import re
import tokenize
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from faultkit.base.errors import InputError, RunError
from faultkit.base.patterns import utf8_finder
from faultkit.code.languages import Language

if TYPE_CHECKING:
    import tree_sitter
    from tree_sitter import Node
else:
    Node = Any
    """Nodes of tree-sitter, for annotations."""

__all__ = [
    "ERROR_KIND",
    "NAMELESS",
    "Fragment",
    "Node",
    "Snippet",
    "Span",
    "Syntax",
    "field_number",
    "kind_count",
    "named_kinds",
    "parse",
    "parse_fragment",
    "parse_snippet",
    "walk",
]


ERROR_KIND = 0xFFFF
"""The `Node.kind_id` of a part of a text that could not be parsed."""


class Span(NamedTuple):
    """Bytes from `start` up to but not including `end`."""

    start: int
    end: int


@dataclass(frozen=True)
class Syntax:
    """A text and its tree."""

    language: Language
    source: bytes
    tree: tree_sitter.Tree

    @property
    def root(self) -> Node:
        return self.tree.root_node

    @property
    def has_errors(self) -> bool:
        return self.tree.root_node.has_error

    @cached_property
    def _starts(self) -> list[int]:
        lengths = [len(line) + 1 for line in self.source.split(b"\n")]
        return [0, *accumulate(lengths[:-1])]

    @property
    def line_count(self) -> int:
        """Return the number of lines as editors count: text after the last line break counts if it is
        not empty."""
        return len(self._starts) - (self._starts[-1] == len(self.source))

    def line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def column(self, offset: int) -> int:
        before = self.source[self._starts[self.line(offset) - 1] : offset]
        return len(before.decode("utf-8", "replace")) + 1

    def line_text(self, line: int) -> str:
        """Return one line without its end; empty if there is no such line."""
        if not 1 <= line <= len(self._starts):
            return ""
        end = self._starts[line] if line < len(self._starts) else len(self.source)
        return self.source[self._starts[line - 1] : end].decode("utf-8", "replace").rstrip("\r\n")

    def line_span(self, line: int) -> Span:
        """Return the span of a line's text, without its indentation and its end."""
        end = self._starts[line] if line < len(self._starts) else len(self.source)
        text = self.source[self._starts[line - 1] : end]
        start = self._starts[line - 1] + len(text) - len(text.lstrip(b" \t"))
        return Span(start, start + len(text.strip()))

    def text(self, part: Node | Span) -> str:
        if isinstance(part, Span):
            return self.source[part.start : part.end].decode("utf-8", "replace")
        return self.source[part.start_byte : part.end_byte].decode("utf-8", "replace")

    @cached_property
    def text_of(self) -> Callable[[Node], str]:
        """Return the text of a node, in half the time of `Node.text`: for the names that every text is full
        of."""
        source = self.source
        if source.isascii():
            whole = source.decode("ascii")
            return lambda node: whole[node.start_byte : node.end_byte]
        return lambda node: source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def has_any(self, *parts: bytes) -> bool:
        """Return whether the text has one of these parts, in small letters or capitals. They are given in
        small letters."""
        in_words, in_text = _finders_of(parts)
        return (in_words is not None and in_words(self._lowered_words)) or (
            in_text is not None and in_text(self._lowered)
        )

    @cached_property
    def _lowered(self) -> bytes:
        return self.source.lower()

    @cached_property
    def words(self) -> frozenset[bytes]:
        """The different words of the text."""
        return words_of(self.source)

    @cached_property
    def _lowered_words(self) -> bytes:
        """The different words in small letters: a quarter of the text."""
        return b" ".join(self.words).lower()

    def place_of(self, found: re.Match[str], start: int = 0) -> Span:
        """Return the bytes of a match in the text, or in a part of it that starts at this byte."""
        if found.string.isascii():
            return Span(start + found.start(), start + found.end())
        begin = start + len(found.string[: found.start()].encode())
        return Span(begin, begin + len(found[0].encode()))

    def nodes_of(self, types: Iterable[str]) -> list[Node]:
        """Return all named nodes of these types in the order of the text, outer nodes before inner ones."""
        wanted = frozenset(types)
        if self.has_errors:
            # The time of a query grows with the square of the size of a broken node; that of a walk does not.
            return [node for node in walk(self.root) if node.type in wanted and node.is_named]
        listed = " ".join(f"({each})" for each in sorted(wanted))
        return self.captures(f"[{listed}] @node").get("node", [])

    def captures(self, query: str, within: Node | Span | None = None) -> dict[str, list[Node]]:
        """Return nodes by the capture names of a query, each list in the order of the text."""
        found = self._cursor(query, within).captures(self._top(within))
        return {
            name: sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte))
            for name, nodes in found.items()
        }

    def matches(self, query: str, within: Node | Span | None = None) -> list[dict[str, list[Node]]]:
        """Return the captures of each match."""
        cursor = self._cursor(query, within)
        return [found for _, found in cursor.matches(self._top(within))]

    def _top(self, within: Node | Span | None) -> Node:
        return self.root if within is None or isinstance(within, Span) else within

    def _cursor(self, query: str, within: Node | Span | None) -> tree_sitter.QueryCursor:
        import tree_sitter

        # A cursor holds state and belongs to one thread; the query is costly to make, and shared.
        cursor = tree_sitter.QueryCursor(_query(self.language, query))
        if isinstance(within, Span):
            cursor.set_byte_range(within.start, within.end)
        return cursor

    def broken_lines(self) -> list[int]:
        """Return lines that could not be parsed as the language."""
        if not self.has_errors:
            return []
        nodes = walk(self.root, lambda node: node.has_error or node.is_missing)
        return sorted({self.line(node.start_byte) for node in nodes if node.is_error or node.is_missing})


_BETWEEN = bytes(
    code if code >= 128 or chr(code).isalnum() or chr(code) == "_" else ord(" ") for code in range(256)
)
"""Replaces everything that is no part of a word by a space."""


_Finder: TypeAlias = Callable[[bytes], bool]
_FEW = 3
"""Parts that are found as fast one by one as by an expression."""


@lru_cache(maxsize=512)
def _finders_of(parts: tuple[bytes, ...]) -> tuple[_Finder | None, _Finder | None]:
    """Return what finds the parts that stand in a word, and what finds the others, which only a whole text
    has; None for no parts."""
    plain = tuple(part for part in parts if part.replace(b"_", b"").isalnum())
    return _finder_of(plain), _finder_of(tuple(part for part in parts if part not in plain))


def _finder_of(parts: tuple[bytes, ...]) -> _Finder | None:
    if len(parts) > _FEW:
        return utf8_finder("|".join(re.escape(part.decode("ascii")) for part in parts))
    return (lambda text: any(part in text for part in parts)) if parts else None


def words_of(source: bytes) -> frozenset[bytes]:
    """Return the different words of a text."""
    return frozenset(source.translate(_BETWEEN).split())


def parse(source: bytes, language: Language) -> Syntax:
    """Parse a UTF-8 text. Never fails because of the text."""
    import tree_sitter

    if language.name == "php" and b"<?" not in source:
        language = replace(language, loader="language_php_only")
    parser = tree_sitter.Parser(_grammar(language))
    tree = parser.parse(source)
    if tree.root_node.has_error and language.name == "python":
        clearer = with_leading_dots(source)
        again = tree if clearer == source else parser.parse(clearer)
        tree = tree if again.root_node.has_error else again
    return Syntax(language, source, tree)


def walk(top: Node, enters: Callable[[Node], bool] | None = None) -> Iterator[Node]:
    """Yield the node and all below it, parents first, in the order of the text, without recursion.

    With `enters`, only nodes that it accepts are yielded and entered.
    """
    cursor = top.walk()
    while True:
        node = cursor.node
        assert node is not None
        if enters is None or enters(node):
            yield node
            if cursor.goto_first_child():
                continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


@cache
def _grammar(language: Language) -> tree_sitter.Language:
    import tree_sitter

    try:
        return tree_sitter.Language(getattr(import_module(language.module), language.loader)())
    except (AttributeError, ValueError) as error:
        raise RunError(f"{language.title} cannot be read: {language.wheel} does not fit: {error}") from None


@cache
def named_kinds(language: Language) -> dict[int, str]:
    """Return the types of the named nodes of a language by `Node.kind_id`, which is read faster than the
    type."""
    grammar = _grammar(language)
    return {
        number: kind
        for number in range(grammar.node_kind_count)
        if grammar.node_kind_is_named(number) and (kind := grammar.node_kind_for_id(number)) is not None
    }


def kind_count(language: Language) -> int:
    """Return the number of kinds of nodes; each `Node.kind_id` is below it, or is ERROR_KIND."""
    return _grammar(language).node_kind_count


def field_number(language: Language, name: str) -> int:
    """Return the number of a field, for `Node.child_by_field_id`; 0 if there is no such field."""
    return _grammar(language).field_id_for_name(name) or 0


@lru_cache(maxsize=512)
def _query(language: Language, query: str) -> tree_sitter.Query:
    import tree_sitter

    return tree_sitter.Query(_grammar(language), query)


# A workaround for a defect of the Python grammar: inside brackets it fails where a line ends with a dot and
# the next is indented less. The same text with the dot at the start of the next line has the same length
# and meaning, and is parsed.


def with_leading_dots(source: bytes) -> bytes:
    """Return the text with such dots moved; unchanged if there are none, or if Python cannot parse it
    either."""
    lines = source.splitlines(keepends=True)
    moved = bytearray(source)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    dot: tuple[int, int] | None = None
    try:
        for token in tokenize.tokenize(iter(lines).__next__):
            row, column = token.start
            if token.type in (tokenize.NL, tokenize.COMMENT) or row == 0:
                continue
            # Columns count characters; the offset in bytes follows from the text before them.
            at = starts[row - 1] + len(token.line[:column].encode())
            if dot is not None and row > dot[0] and column > 0:
                moved[dot[1]], moved[at - 1] = ord(" "), ord(".")
            dot = (row, at) if token.string == "." else None
    except (tokenize.TokenError, SyntaxError, UnicodeError):
        return source
    return bytes(moved)


# Snippets: code that stands alone, such as a function without its file or a method without its class. Most
# grammars parse such code as it is. Where one does not, the code is parsed inside a class or an object whose
# text stands on the same first line, so that line numbers stay those of the snippet.


_CLASS = ("class _ { ", "\n}")
_SURROUNDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "javascript": (_CLASS, ("_ = { ", "\n}")),
    "typescript": (_CLASS, ("_ = { ", "\n}")),
    "tsx": (_CLASS, ("_ = { ", "\n}")),
    "java": (_CLASS,),
    "csharp": (_CLASS,),
    "php": (_CLASS,),
    "kotlin": (_CLASS,),
    "swift": (_CLASS,),
    "cpp": (("class _ { ", "\n};"),),
}


@dataclass(frozen=True, slots=True)
class Snippet:
    """Parsed code with its place in the text that was parsed."""

    syntax: Syntax
    start: int
    """Offset of the snippet in the text of `syntax`; 0 if nothing was put around it."""


def parse_snippet(text: str, language: Language) -> Snippet:
    """Parse code as it is, else inside a class or object. Code that parses in no way is returned as it is."""
    if not text.strip():
        raise InputError("snippet", "expected source code, got nothing")
    as_is = parse(text.encode("utf-8", "replace"), language)
    if as_is.has_errors:
        for before, after in _SURROUNDINGS.get(language.name, ()):
            inside = parse(f"{before}{text}{after}".encode("utf-8", "replace"), language)
            if not inside.has_errors:
                return Snippet(inside, len(before))
    return Snippet(as_is, 0)


# Fragments: code to be judged by rules. Lines out of a function are parsed as the body of a function without
# a name, so that rules about functions (what is opened must be closed) hold for them.


NAMELESS = "_"
_JS = ("async function _() { ", "\n}")
_BODIES: dict[str, tuple[str, str]] = {
    "python": ("async def _():\n", ""),
    "javascript": _JS,
    "typescript": _JS,
    "tsx": _JS,
    "go": ("func _() { ", "\n}"),
    "java": ("class _ { void _() { ", "\n}}"),
    "rust": ("fn _() { ", "\n}"),
}
_STATEMENTS: dict[str, frozenset[str]] = {
    "javascript": frozenset({"return_statement"}),
    "typescript": frozenset({"return_statement"}),
    "tsx": frozenset({"return_statement"}),
    "java": frozenset({"return_statement", "local_variable_declaration", "expression_statement"}),
    "rust": frozenset({"let_declaration", "expression_statement"}),
}
"""Node types that can only stand in a function, by language."""
_DECLARATIONS = frozenset(
    {
        "package_clause",
        "import_declaration",
        "function_declaration",
        "method_declaration",
        "type_declaration",
        "var_declaration",
        "const_declaration",
        "comment",
    }
)
"""All node types that Go allows at the top of a file."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """Parsed code to be judged, and what was put around it to parse it."""

    syntax: Syntax
    shift: int = 0
    """Bytes that were put before the code."""
    lines: int = 0
    """Lines that were put before the code."""


def parse_fragment(text: str, language: Language) -> Fragment:
    """Parse a file, a function, a method or some lines of a function."""
    snippet = parse_snippet(text, language)
    if snippet.start == 0 and _is_body(text, snippet.syntax):
        before, after = _BODIES[language.name]
        inside = parse(f"{before}{text}{after}".encode("utf-8", "replace"), language)
        if not inside.has_errors:
            return Fragment(inside, len(before), before.count("\n"))
    return Fragment(snippet.syntax, snippet.start)


def _is_body(text: str, syntax: Syntax) -> bool:
    language = syntax.language.name
    if language == "python":
        first = next((line for line in text.splitlines() if line.strip()), "")
        is_definition = first.strip().startswith(("def ", "async def ", "class ", "@"))
        return first[:1].isspace() and not is_definition
    tops = [node for node in syntax.root.children if node.is_named]
    if language == "go":
        return any(node.type not in _DECLARATIONS for node in tops)
    return any(node.type in _STATEMENTS.get(language, ()) for node in tops)
