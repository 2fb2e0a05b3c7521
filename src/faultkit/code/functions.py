"""Functions of a text: lists them with their exact spans, and finds one by the name that a user wrote. Pure.

Only functions with a body are listed: a prototype, an abstract method or an overload's signature has no
code to look at. What differs by language is in the dialects of `faultkit.code.languages`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import dedent

from faultkit.base.errors import InputError
from faultkit.base.text import close_names, one_line
from faultkit.code.languages.bash_php_ruby import BASH, PHP, RUBY
from faultkit.code.languages.c_family import CPP, CSHARP, C
from faultkit.code.languages.dialect import Dialect, FunctionKind, Parts, text_of
from faultkit.code.languages.go_rust_swift import GO, RUST, SWIFT
from faultkit.code.languages.javascript import JAVASCRIPT, TYPESCRIPT
from faultkit.code.languages.jvm_languages import JAVA, KOTLIN, SCALA
from faultkit.code.languages.python import PYTHON
from faultkit.code.languages.syntax import Node, Span, Syntax


@dataclass(frozen=True, slots=True)
class Function:
    """A function in a text: its name, its spans, and the parts of its head."""

    name: str
    qualified_name: str
    """The name with its enclosing scopes, joined by dots in every language: `Class.method`, `outer.inner`."""
    kind: FunctionKind
    full: Span
    """The whole block: decorators, `export` or `template <…>`, signature and body. No comment above it."""
    body: Span
    """The part after the signature, with its braces where the language writes them. After an arrow or a `=`
    the body is an expression. In Python it begins with the first statement (the
    docstring, if there is one) or with a comment on a line of its own before that."""
    line: int
    """The line where the signature begins, after the decorators."""
    start_line: int
    end_line: int
    """The last line of the whole block."""
    signature: str
    """The text from the first word after the decorators up to the body."""
    is_async: bool
    decorators: tuple[str, ...]
    """The decorators as written: `@app.get("/")`, `#[inline]`, `[HttpGet]`."""
    parameters: tuple[str, ...]
    """Names in order; a destructured parameter is given as it is written."""
    doc: str
    """The docstring, or the comment right above; empty if there is none."""


MOST_PARTS = 50
"""Parts of a qualified name. Of deeper nesting, the innermost parts are kept."""
MOST_COMMENTS = 500
"""Comments above a function that are examined; a longer run of them is no documentation."""

_SPACE = b" \t\r\n\f\v"


@dataclass(slots=True)
class _Open:
    """A function or scope that is still open. Its name is computed when something inside needs it."""

    node: Node
    end: int
    is_type: bool
    parts: Parts | None = None


def list_functions(syntax: Syntax) -> tuple[Function, ...]:
    """Return the functions of a text in its order, outer functions before those inside them."""
    dialect = DIALECTS[syntax.language.name]
    functions = [_function(syntax, dialect, *each) for each in _named_functions(syntax, dialect)]
    functions.sort(key=lambda each: (each.full.start, -each.full.end))
    return tuple(functions)


def _named_functions(syntax: Syntax, dialect: Dialect) -> Iterator[tuple[Node, Parts, Span, bool]]:
    """Yield functions with their names, bodies, and whether a type contains them."""
    names = FunctionNames(dialect)
    for node in syntax.nodes_of(dialect.holders):
        if (named := names.enter(node, node.type)) is not None:
            around = names.opened[:-1]
            yield node, *named, bool(around) and around[-1].is_type


class FunctionNames:
    """The names of functions, for nodes of `dialect.holders` that are given in the order of the text."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.opened: list[_Open] = []
        """The functions and scopes around the last node, and the node itself."""

    def enter(self, node: Node, kind: str) -> tuple[Parts, Span] | None:
        """Return the qualified name and the body of a function; None for what is none, or has no name."""
        opened, dialect, named = self.opened, self._dialect, None
        while opened and opened[-1].end <= node.start_byte:
            opened.pop()
        entry = _Open(node, node.end_byte, is_type=kind in dialect.types)
        if kind in dialect.functions:
            entry.parts = _parts_around(opened, dialect)
            own, body = dialect.name(node), dialect.body(node)
            # In a broken text the parser may invent an identifier: a node without text is no name.
            if own and own[-1] and body is not None:
                entry.parts = (*entry.parts, *filter(None, own))[-MOST_PARTS:]
                named = entry.parts, body
        opened.append(entry)
        return named


def _parts_around(opened: list[_Open], dialect: Dialect) -> Parts:
    parts: Parts = ()
    for entry in opened:
        if entry.parts is None:
            entry.parts = (*parts, *filter(None, dialect.scope(entry.node)))[-MOST_PARTS:]
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


def _kind(dialect: Dialect, node: Node, parts: Parts, in_type: bool) -> FunctionKind:
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
    """The part of a function before its signature."""

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
    """Return decorators beside the function node, and the comment right above all of it."""
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
    """Return whether a comment documents the function: on lines of its own right above `row`, and not a
    file header or pragma."""
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
    """Cut trailing white space, because some grammars extend a block up to the next one."""
    while end > start and source[end - 1] in _SPACE:
        end -= 1
    return end


# Names of parameters. They depend on node types only, not on the language.


_FIELDS = ("name", "pattern", "left", "declarator")
_INSIDE = {
    "typed_parameter": 0,
    "list_splat_pattern": 0,
    "dictionary_splat_pattern": 0,
    "rest_pattern": 0,
    "parameter": 0,
    "spread_parameter": -1,
    "self_parameter": -1,
}
"""The node type that holds the name, where the grammar has no field for it."""
_NONE = ("keyword_separator", "positional_separator", "attribute_item", "this")


def parameter_name(node: Node) -> str:
    """Return the name of a parameter; empty if it has none."""
    while True:
        if node.is_extra or node.type in _NONE:
            return ""
        inner = next(filter(None, (node.child_by_field_name(each) for each in _FIELDS)), None)
        if inner is None and node.type in _INSIDE and node.named_child_count:
            inner = node.named_children[_INSIDE[node.type]]
        if inner is None:
            return one_line(text_of(node))
        node = inner


# Comments as text, without their marks, stars and common indentation.


_LINE_MARK = re.compile(r"^[ \t]*(?://[/!]?|#+|--)")
_STAR = re.compile(r"^[ \t]*\*")


def comment_text(comments: Sequence[str]) -> str:
    """Return the text of adjacent comments: `["/// Adds.", "/// Twice."]` gives `Adds.` and `Twice.` in
    two lines."""
    texts: list[str] = []
    bare = (each.strip() for each in comments)
    for is_block, group in groupby(bare, lambda each: each.startswith("/*")):
        neighbours = list(group)
        lines = "\n".join(_LINE_MARK.sub("", each) for each in neighbours)
        texts += map(_block_text, neighbours) if is_block else [dedent(lines)]
    return "\n".join(line.rstrip() for each in texts for line in each.strip("\n").splitlines()).strip()


def _block_text(comment: str) -> str:
    lines = comment.removesuffix("*/")[2:].lstrip("*!").rstrip("*").splitlines()
    starred = all(_STAR.match(line) for line in lines[1:] if line.strip())
    rest = [_STAR.sub("", line) for line in lines[1:]] if starred else lines[1:]
    return "\n".join([*(line.strip() for line in lines[:1]), dedent("\n".join(rest))])


# Lookup by name. A name is compared with whole qualified names first, then with the end of each: `run` is the
# function `run` if there is one, otherwise the only `….run`. `name:12` is the function on line 12.


_MOST_SHOWN = 10
_POINTER = re.compile(r"\(\s*\*?\s*([^()\s]+)\s*\)")
_HASH = re.compile(r"(?<=\w)#(?=\w)")
_LINE = re.compile(r"(?<=[^:]):(\d{1,9})$")


def find_function(functions: Sequence[Function], name: str, line: int | None = None) -> Function:
    """Return the function that a user's name means. Raises InputError if there is none, or more than one."""
    wanted, written_line = _parse_name(name)
    line = written_line if line is None else line
    if not all(wanted):
        raise InputError("function", "expected the name of a function, got nothing")
    stages = (
        [each for each in functions if each.qualified_name in wanted],
        [each for each in functions if each.qualified_name.endswith(tuple(f".{form}" for form in wanted))],
        [each for each in functions if each.name in wanted],
    )
    for candidates in stages:
        if line is not None:
            candidates = _on_line(candidates, line)
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise InputError("function", _ambiguous(name, candidates))
    same = [each for stage in stages for each in stage]
    raise InputError("function", _unknown(name, functions) if not same else _elsewhere(name, line, same))


def _parse_name(name: str) -> tuple[tuple[str, str], int | None]:
    """Return the name as written and in our notation, and a line if it has one.

    Users write `(*Server).Serve`, `Pool::get`, `Orders#list`, `main()` and `run:12`.
    """
    text = name.strip()
    found = _LINE.search(text)
    if found is not None:
        text = text[: found.start()]
    ours = _POINTER.sub(r"\1", text.removesuffix("()")).replace("::", ".")
    return (text, _HASH.sub(".", ours)), None if found is None else int(found[1])


def _on_line(candidates: Iterable[Function], line: int) -> list[Function]:
    """Return the first function that begins on the line; if none does, the innermost that contains it."""
    holding = [each for each in candidates if each.start_line <= line <= each.end_line]
    beginning = [each for each in holding if each.line == line]
    return beginning[:1] or sorted(holding, key=lambda each: each.full.start)[-1:]


def _ambiguous(name: str, candidates: Sequence[Function]) -> str:
    listed = _listed([f"{each.qualified_name}:{each.line}" for each in candidates])
    return f'expected one function, got "{name}", which is any of {listed}; write one of these'


def _elsewhere(name: str, line: int | None, same: Sequence[Function]) -> str:
    listed = _listed(list(dict.fromkeys(f"{each.qualified_name}:{each.line}" for each in same)))
    return f'expected "{name}" on line {line}, but it is {listed}'


def _unknown(name: str, functions: Sequence[Function]) -> str:
    if not functions:
        return f'unknown name "{name}": the text has no functions'
    known = list(dict.fromkeys(each.qualified_name for each in functions))
    bare = {each.name: each.qualified_name for each in reversed(functions)}
    (_, wanted), _ = _parse_name(name)
    near = close_names(wanted, known, most=3)
    near += [bare[each] for each in close_names(wanted.rpartition(".")[2], bare, most=3)]
    if near:
        quoted = " or ".join([f'"{each}"' for each in dict.fromkeys(near)][:3])
        return f'unknown name "{name}"; did you mean {quoted}?'
    return f'unknown name "{name}"; expected one of {_listed(known)}'


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(names[:_MOST_SHOWN]) + more


DIALECTS: dict[str, Dialect] = {
    "python": PYTHON,
    "javascript": JAVASCRIPT,
    "typescript": TYPESCRIPT,
    "tsx": TYPESCRIPT,
    "go": GO,
    "rust": RUST,
    "java": JAVA,
    "ruby": RUBY,
    "c": C,
    "cpp": CPP,
    "csharp": CSHARP,
    "php": PHP,
    "kotlin": KOTLIN,
    "swift": SWIFT,
    "scala": SCALA,
    "bash": BASH,
}
"""The dialect of each language, by its name in `LANGUAGES`."""
