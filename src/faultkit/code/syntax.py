"""Text as a tree: a small face over tree-sitter for all who read code here. Pure, and safe in threads.

A text that is broken still gives a tree; `has_errors` says so. Offsets are bytes of the UTF-8 text, lines
and columns count from 1, columns in characters. What a node means is not known here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib import import_module

import tree_sitter
from tree_sitter import Node

from faultkit.base.errors import RunError
from faultkit.code.languages import Language
from faultkit.code.leading_dots import with_leading_dots

__all__ = ["Node", "Span", "Syntax", "parse", "walk"]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Bytes from `start` up to but not including `end`."""

    start: int
    end: int


@dataclass(frozen=True)
class Syntax:
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
        starts, at = [0], self.source.find(b"\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.source.find(b"\n", at + 1)
        return starts

    @property
    def line_count(self) -> int:
        """Lines as editors number them: what follows the last line break counts if it is not empty."""
        return len(self._starts) - (self._starts[-1] == len(self.source))

    def line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def column(self, offset: int) -> int:
        before = self.source[self._starts[self.line(offset) - 1] : offset]
        return len(before.decode("utf-8", "replace")) + 1

    def line_text(self, line: int) -> str:
        """One line without its end; empty if there is no such line."""
        if not 1 <= line <= len(self._starts):
            return ""
        end = self._starts[line] if line < len(self._starts) else len(self.source)
        return self.source[self._starts[line - 1] : end].decode("utf-8", "replace").rstrip("\r\n")

    def text(self, part: Node | Span) -> str:
        if isinstance(part, Span):
            return self.source[part.start : part.end].decode("utf-8", "replace")
        return self.source[part.start_byte : part.end_byte].decode("utf-8", "replace")

    def nodes_of(self, types: Iterable[str]) -> list[Node]:
        """All named nodes of these types in the order of the text, outer ones before those in them."""
        wanted = frozenset(types)
        if self.has_errors:
            # A query takes time by the square of what a broken node holds; a walk does not.
            return [node for node in walk(self.root) if node.type in wanted and node.is_named]
        listed = " ".join(f"({each})" for each in sorted(wanted))
        return self.captures(f"[{listed}] @node").get("node", [])

    def captures(self, query: str, within: Node | Span | None = None) -> dict[str, list[Node]]:
        """Nodes by the name that the query gives them, each list in the order of the text."""
        found = self._cursor(query, within).captures(within if isinstance(within, Node) else self.root)
        return {name: sorted(nodes, key=_place) for name, nodes in found.items()}

    def matches(self, query: str, within: Node | Span | None = None) -> list[dict[str, list[Node]]]:
        """What each match captured, match by match."""
        cursor = self._cursor(query, within)
        return [found for _, found in cursor.matches(within if isinstance(within, Node) else self.root)]

    def _cursor(self, query: str, within: Node | Span | None) -> tree_sitter.QueryCursor:
        # A cursor holds state and belongs to one thread; the query is what is costly to make.
        cursor = tree_sitter.QueryCursor(_query(self.language, query))
        if isinstance(within, Span):
            cursor.set_byte_range(within.start, within.end)
        return cursor

    def broken_lines(self) -> list[int]:
        """Lines in which the text could not be read as its language; empty if all could."""
        if not self.has_errors:
            return []
        nodes = walk(self.root, lambda node: node.has_error or node.is_missing)
        return sorted({self.line(node.start_byte) for node in nodes if node.is_error or node.is_missing})


def parse(source: bytes, language: Language) -> Syntax:
    """The tree of a UTF-8 text. Never fails because of the text."""
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
    """The node and all below it, parents first, in the order of the text, however deep it goes.

    With `enters` only nodes that it allows are given and gone into."""
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


def _place(node: Node) -> tuple[int, int]:
    return node.start_byte, -node.end_byte


@cache
def _grammar(language: Language) -> tree_sitter.Language:
    try:
        return tree_sitter.Language(getattr(import_module(language.module), language.loader)())
    except ImportError:
        fix = f"pip install {language.wheel}"
        raise RunError(f"{language.title} cannot be read: its grammar is not installed ({fix})") from None
    except (AttributeError, ValueError) as error:
        raise RunError(f"{language.title} cannot be read: {language.wheel} does not fit: {error}") from None


@lru_cache(maxsize=512)
def _query(language: Language, query: str) -> tree_sitter.Query:
    return tree_sitter.Query(_grammar(language), query)
