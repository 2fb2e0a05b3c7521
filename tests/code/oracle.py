"""Python's own parser as the judge of ours: every function that `ast` finds, with its exact text."""

from __future__ import annotations

import ast
import re
import sysconfig
import warnings
from dataclasses import dataclass
from pathlib import Path

from faultkit.code.functions import list_functions
from faultkit.code.source_file import read_source

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
_LINE_END = re.compile(rb"\r\n|\n|\r")
_LEADING_COMMENTS = re.compile(r"^(?:#[^\n]*\s+)+")
ESCAPED = "escaped"
"""Ours keeps escapes as they are written, so texts with one are not compared."""
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Seen:
    """What both must agree on."""

    qualified_name: str
    full: str
    line: int
    end_line: int
    is_async: bool
    decorators: int
    parameters: tuple[str, ...]
    body: str
    """From the first statement on."""
    doc: str


def library_files() -> list[Path]:
    skipped = {"site-packages", "__pycache__"}
    return [path for path in sorted(LIBRARY.rglob("*.py")) if not skipped & set(path.parts)]


def tree_of(source: bytes) -> ast.Module | None:
    """None if Python itself cannot read the file: the library holds some such on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError):
            return None


def seen_by_ast(tree: ast.Module, path: Path) -> list[Seen]:
    source = read_source(path).source
    starts = [0, *(found.end() for found in _LINE_END.finditer(source))]
    found: list[tuple[int, int, Seen]] = []
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, prefix = waiting.pop()
        if isinstance(node, Scope):
            prefix = f"{prefix}{node.name}."
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            start = starts[node.lineno - 1] + node.col_offset
            if node.decorator_list:
                start = _decorated(node.decorator_list, source, starts)
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            found.append((start, -end, _seen(node, prefix[:-1], source, starts, start, end)))
        waiting += [(child, prefix) for child in ast.iter_child_nodes(node)]
    return [seen for _, _, seen in sorted(found, key=lambda each: each[:2])]


def _decorated(decorators: list[ast.expr], source: bytes, starts: list[int]) -> int:
    """To `ast` a decorator begins after its `@`, and after brackets around it."""
    return source.rindex(b"@", 0, starts[decorators[0].lineno - 1] + decorators[0].col_offset)


def _seen(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    name: str,
    source: bytes,
    starts: list[int],
    start: int,
    end: int,
) -> Seen:
    args = node.args
    optional = [args.vararg] if args.vararg else []
    optional_last = [args.kwarg] if args.kwarg else []
    every = [*args.posonlyargs, *args.args, *optional, *args.kwonlyargs, *optional_last]
    first = node.body[0]
    body_start = starts[first.lineno - 1] + first.col_offset
    if isinstance(first, Scope) and first.decorator_list:
        body_start = _decorated(first.decorator_list, source, starts)
    first_text = source[body_start : starts[(first.end_lineno or 0) - 1] + (first.end_col_offset or 0)]
    return Seen(
        qualified_name=name,
        full=source[start:end].decode(),
        line=node.lineno,
        end_line=node.end_lineno or 0,
        is_async=isinstance(node, ast.AsyncFunctionDef),
        decorators=len(node.decorator_list),
        parameters=tuple(arg.arg for arg in every),
        body=source[body_start:end].decode(),
        doc=ESCAPED if b"\\" in first_text and ast.get_docstring(node) else ast.get_docstring(node) or "",
    )


def seen_by_us(path: Path) -> list[Seen]:
    syntax = read_source(path).parse()
    return [
        Seen(
            qualified_name=each.qualified_name,
            full=syntax.text(each.full),
            line=each.line,
            end_line=each.end_line,
            is_async=each.is_async,
            decorators=len(each.decorators),
            parameters=each.parameters,
            body=_LEADING_COMMENTS.sub("", syntax.text(each.body)),
            doc=ESCAPED if "\\" in each.doc else each.doc,
        )
        for each in list_functions(syntax)
    ]
