"""Code that stands alone: a file, a function without its file, a method without its class, or some lines.

Most grammars parse such code as it is. Where one does not, the code is parsed inside a class or an object
whose text stands on the same first line, so that line numbers stay those of the snippet.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.base.errors import InputError
from faultkit.code.languages import Language
from faultkit.code.languages.syntax import Node, Syntax, parse

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


# Code to be judged. Lines out of a function are parsed as the body of a function without a name, so that
# rules about functions (what is opened must be closed) hold for them. `shift` and `lines` say what was put
# around.


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
        return first[:1].isspace() and not _is_definition(first)
    tops = [node for node in syntax.root.children if node.is_named]
    if language == "go":
        return any(node.type not in _DECLARATIONS for node in tops)
    return any(_is_statement(node, language) for node in tops)


def _is_statement(node: Node, language: str) -> bool:
    return node.type in _STATEMENTS.get(language, ())


def _is_definition(line: str) -> bool:
    return line.strip().startswith(("def ", "async def ", "class ", "@"))
