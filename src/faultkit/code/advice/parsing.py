"""Whether a text that was changed can still be read as its language. Pure."""

from __future__ import annotations

import ast
import warnings

from faultkit.code.changes.change import Source
from faultkit.code.languages import Language


def parse_problem(old: str, new: str, language: Language) -> str:
    """Why the new text cannot be read, with a line; empty if it can, at least as well as the old one."""
    syntax = Source(new, language).syntax
    if syntax.has_errors:
        return f"it cannot be read as {language.title}: see line {(syntax.broken_lines() or [1])[0]}"
    if language.name != "python":
        return ""
    # A body without its function may `return`: it must be as good as it was, and no better.
    reads, why = _python_reads(new)
    return why if reads < _python_reads(old)[0] else ""


def _python_reads(text: str) -> tuple[int, str]:
    """2: compiles; 1: parses; 0: neither; and why it is no more."""
    first = next((line for line in text.splitlines() if line.strip() and line.lstrip()[0] != "#"), "")
    is_inside = first[:1] in (" ", "\t")
    whole = f"if True:\n{text}" if is_inside else text
    reads = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(whole)
            reads = 1
            compile(tree, "<changed>", "exec", dont_inherit=True)
        except SyntaxError as error:
            line = max((error.lineno or 1) - is_inside, 1)
            return reads, f"Python refuses it: {error.msg}, line {line}"
        except (ValueError, RecursionError, MemoryError) as error:
            return reads, f"Python refuses it: {error}"
    return 2, ""
