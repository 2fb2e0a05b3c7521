"""Lines that a change adds to Python code, and which of them a test suite runs. Pure.

Imports, and the heads of functions and classes, run whenever a module is loaded: they say nothing about
what a test reaches, and are not counted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from difflib import SequenceMatcher
from types import CodeType


def changed_lines(old: str, new: str) -> frozenset[int]:
    """Return the lines of the new text that a change added or replaced, and that hold code."""
    before, after = old.splitlines(), new.splitlines()
    added = {
        line
        for kind, _, _, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        if kind != "equal"
        for line in range(first + 1, last + 1)
    }
    return frozenset(added & {*_code_lines(compile(new, "changed", "exec", dont_inherit=True))} - _heads(new))


def _code_lines(code: CodeType) -> Iterator[int]:
    for _, _, line in code.co_lines():
        if line:
            yield line
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _code_lines(each)


def _heads(text: str) -> set[int]:
    """Return the lines of imports, and of functions and classes up to their bodies."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min((each.lineno for each in node.decorator_list), default=node.lineno)
            found.update(range(first, node.body[0].lineno))
    return found
