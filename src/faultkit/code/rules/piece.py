"""Code to be judged, as a tree: a file, a function, or some lines out of one.

Lines out of a function are read as the body of one that has no name, so that what holds in functions (a thing
that is opened must be closed) holds for them, too. What is put around them is told, and taken off again.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.code.languages import Language
from faultkit.code.snippet import parse_snippet
from faultkit.code.syntax import Node, Syntax, parse

NAMELESS = "_"
_JS = ("async function _() { ", "\n}")
_BODIES: dict[str, tuple[str, str]] = {
    "python": ("async def _():\n", ""),
    "javascript": _JS,
    "typescript": _JS,
    "tsx": _JS,
    "go": ("func _() { ", "\n}"),
    "java": ("class _ { void _() { ", "\n}}"),
}
_STATEMENTS: dict[str, frozenset[str]] = {
    "javascript": frozenset({"return_statement"}),
    "typescript": frozenset({"return_statement"}),
    "tsx": frozenset({"return_statement"}),
    "java": frozenset({"return_statement", "local_variable_declaration", "expression_statement"}),
}
"""At the top of a text, what can only stand in a function."""
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
"""All that Go has at the top of a file."""


@dataclass(frozen=True, slots=True)
class Piece:
    syntax: Syntax
    shift: int = 0
    """How many bytes were put before it."""
    lines: int = 0
    """How many lines were."""


def parse_piece(text: str, language: Language) -> Piece:
    snippet = parse_snippet(text, language)
    if snippet.start == 0 and _is_body(text, snippet.syntax):
        before, after = _BODIES[language.name]
        inside = parse(f"{before}{text}{after}".encode("utf-8", "replace"), language)
        if not inside.has_errors:
            return Piece(inside, len(before), before.count("\n"))
    return Piece(snippet.syntax, snippet.start)


def _is_body(text: str, syntax: Syntax) -> bool:
    language = syntax.language.name
    if language == "python":
        first = next((line for line in text.splitlines() if line.strip()), "")
        return first[:1].isspace() and not _is_definition(first)
    tops = [node for node in syntax.root.children if node.is_named]
    if language == "go":
        return any(node.type not in _DECLARATIONS for node in tops)
    return any(_is_statement(node, language) for node in tops)


def _is_statement(node: Node, language: str) -> bool:
    return node.type in _STATEMENTS.get(language, ())


def _is_definition(line: str) -> bool:
    return line.strip().startswith(("def ", "async def ", "class ", "@"))
