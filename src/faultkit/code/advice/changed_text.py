"""Checks of a changed text: it still parses, and keeps its names. Pure."""

from __future__ import annotations

import ast
import warnings
from collections import Counter

from faultkit.code.changes.change import Source
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.functions import list_functions


def parse_problem(old: Source, new: Source) -> str:
    """Return why the new text does not parse, with a line; empty if it parses at least as well as the
    old one."""
    if new.syntax.has_errors:
        broken = new.syntax.broken_lines() or [1]
        return f"it cannot be read as {new.language.title}: see line {broken[0]}"
    if new.language.name != "python":
        return ""
    # A body without its function may hold a `return`, which does not compile: compare with the old text.
    level, why = _python_level(new.text)
    return why if level < _python_level(old.text)[0] else ""


def _python_level(text: str) -> tuple[int, str]:
    """Return 2 if it compiles, 1 if it parses, 0 if neither; and the reason."""
    first = next((line for line in text.splitlines() if line.strip() and line.lstrip()[0] != "#"), "")
    is_inside = first[:1] in (" ", "\t")
    whole = f"if True:\n{text}" if is_inside else text
    level = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(whole)
            level = 1
            compile(tree, "<changed>", "exec", dont_inherit=True)
        except SyntaxError as error:
            line = max((error.lineno or 1) - is_inside, 1)
            return level, f"Python refuses it: {error.msg}, line {line}"
        except (ValueError, RecursionError, MemoryError) as error:
            return level, f"Python refuses it: {error}"
    return 2, ""


def removed_names(old: Source, new: Source) -> tuple[str, ...]:
    """Return functions, types and public names at the top of the old text that the new one has not."""
    return tuple(sorted((_defined(old) - _defined(new)).elements()))


def _defined(source: Source) -> Counter[str]:
    found = Counter(each.qualified_name for each in list_functions(source.syntax))
    if source.language.name in GRAMMARS:
        found.update({*source.facts.classes})
        found.update(
            {
                target
                for each in source.facts.assignments
                if each.scope is None and not each.owner
                for target in each.targets
                if target.isidentifier() and not target.startswith("_")
            }
        )
    return found
