"""Every function of the Python standard library, compared with what the parser of Python (`ast`) finds."""

from __future__ import annotations

import ast
import re
import sysconfig
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

from faultkit.code.functions import list_functions
from faultkit.code.source_files import read_source

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
_LINE_END = re.compile(rb"\r\n|\n|\r")
_LEADING_COMMENTS = re.compile(r"^(?:#[^\n]*\s+)+")
ESCAPED = "escaped"
"""Stands for a docstring with an escape: `list_functions` keeps escapes as written, so it is not compared."""
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class ListedFunction:
    """The properties of a function that both must agree on."""

    qualified_name: str
    full: str
    line: int
    end_line: int
    is_async: bool
    decorators: int
    parameters: tuple[str, ...]
    body: str
    """The text from the first statement on."""
    doc: str


def library_files() -> list[Path]:
    skipped = {"site-packages", "__pycache__"}
    return [path for path in sorted(LIBRARY.rglob("*.py")) if not skipped & set(path.parts)]


def tree_of(source: bytes) -> ast.Module | None:
    """Return the tree; None if Python cannot parse the file, which the library contains on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError):
            return None


def listed_by_ast(tree: ast.Module, path: Path) -> list[ListedFunction]:
    source = read_source(path).source
    starts = [0, *(found.end() for found in _LINE_END.finditer(source))]
    found: list[tuple[int, int, ListedFunction]] = []
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
            found.append((start, -end, _listed(node, prefix[:-1], source, starts, start, end)))
        waiting += [(child, prefix) for child in ast.iter_child_nodes(node)]
    return [listed for _, _, listed in sorted(found, key=lambda each: each[:2])]


def _decorated(decorators: list[ast.expr], source: bytes, starts: list[int]) -> int:
    """Return the offset of the `@`: in `ast` a decorator begins after it, and after brackets around it."""
    return source.rindex(b"@", 0, starts[decorators[0].lineno - 1] + decorators[0].col_offset)


def _listed(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    name: str,
    source: bytes,
    starts: list[int],
    start: int,
    end: int,
) -> ListedFunction:
    args = node.args
    optional = [args.vararg] if args.vararg else []
    optional_last = [args.kwarg] if args.kwarg else []
    every = [*args.posonlyargs, *args.args, *optional, *args.kwonlyargs, *optional_last]
    first = node.body[0]
    body_start = starts[first.lineno - 1] + first.col_offset
    if isinstance(first, Scope) and first.decorator_list:
        body_start = _decorated(first.decorator_list, source, starts)
    first_text = source[body_start : starts[(first.end_lineno or 0) - 1] + (first.end_col_offset or 0)]
    return ListedFunction(
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


def listed_by_faultkit(path: Path) -> list[ListedFunction]:
    syntax = read_source(path).parse()
    return [
        ListedFunction(
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


def compared(paths: list[Path]) -> int:
    """Compare the functions of files, and return their number."""
    count = 0
    for path in paths:
        tree = tree_of(path.read_bytes())
        if tree is None:
            continue
        expected = listed_by_ast(tree, path)
        assert listed_by_faultkit(path) == expected, path
        count += len(expected)
    return count


def test_functions_of_a_part_of_the_library_are_those_that_python_finds() -> None:
    assert compared(library_files()[::25]) > 1000


@pytest.mark.thorough
@pytest.mark.slow
def test_functions_of_the_whole_library_are_those_that_python_finds() -> None:
    count = compared(library_files())
    print(f"functions compared: {count}")  # noqa: T201
    assert count > 10_000
