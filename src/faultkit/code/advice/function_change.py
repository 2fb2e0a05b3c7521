"""A change of one function of a file, as a change of the file. Other functions stay unchanged.

The rules need the file around a function: its imports, clients and helpers. They receive the whole file
with the bodies of all other functions blanked out, and their change is carried over. A model receives the
function alone, and its answer replaces the function.
"""

from __future__ import annotations

import ast
import os
import re
import textwrap
import threading
from dataclasses import dataclass, replace

from faultkit.base.errors import InputError, RunError
from faultkit.code.advice.advisor import Advisor
from faultkit.code.advice.answers import RULES, ChangeAnswer
from faultkit.code.advice.changed_text import parse_problem
from faultkit.code.advice.project_settings import project_of
from faultkit.code.advice.selection import EVERY_CHANGE, Selection
from faultkit.code.changes.change import Source, edits_between, lines_of, unified_diff
from faultkit.code.functions import Function, find_function, list_functions
from faultkit.code.languages import Language
from faultkit.code.languages.syntax import Syntax, parse
from faultkit.code.rules.rule import Kind
from faultkit.code.source_files import ChangeableFile, read_changeable

_BOM = "\ufeff"
_MARK = "blanked out: "
_COMMENTS = {"python": "#"}
"""The mark that begins a comment, where it is not `//`."""


def change_function(
    advisor: Advisor,
    path: str | os.PathLike[str],
    function: str,
    kind: Kind | None,
    *,
    target_score: float,
    language: Language | None = None,
    selection: Selection = EVERY_CHANGE,
    cancel: threading.Event | None = None,
) -> ChangeAnswer:
    """Change one function of a file.

    In the answer, `old`, `new` and `diff` are those of the file; scores are those of the function and the
    top-level code.
    """
    file = read_changeable(path, language)
    text = file.text.removeprefix(_BOM)
    syntax = parse(text.encode("utf-8"), file.language)
    functions = list_functions(syntax)
    try:
        found = find_function(functions, function)
    except InputError as error:
        raise error.at(f"{file.path}: {error.path}") from None
    if advisor.engine == RULES:
        blanked = _blanked(syntax, found, functions)
        answer = advisor.suggest(
            blanked,
            file.language,
            kind,
            target_score=target_score,
            selection=selection,
            project=project_of(file.path),
            cancel=cancel,
        )
        new = _carried_over(text, blanked, answer.new)
    else:
        lines = _function_lines(syntax, found)
        answer = advisor.suggest(lines.text, file.language, kind, target_score=target_score, cancel=cancel)
        new = _replaced(text, lines, answer)
    return _file_answer(file, answer, text, new)


def _file_answer(file: ChangeableFile, answer: ChangeAnswer, text: str, new: str) -> ChangeAnswer:
    before = Source(text, file.language)
    problem = parse_problem(before, Source(new, file.language))
    if problem and parse_problem(before, before):
        # The file did not parse before the change, and a change of the whole file would be rejected, too.
        return _unchanged(file, answer, f"the file cannot be changed: {problem}")
    if problem:
        raise RunError(
            f"{file.path}: the change does not fit into the file ({problem}): change the whole file"
        )
    mark = _BOM if file.text.startswith(_BOM) else ""
    return replace(
        answer,
        old=file.text,
        new=mark + new,
        imports=(),
        diff=unified_diff(file.text, mark + new, file.name),
    )


def _unchanged(file: ChangeableFile, answer: ChangeAnswer, reason: str) -> ChangeAnswer:
    return replace(
        answer,
        old=file.text,
        new=file.text,
        diff="",
        changes=(),
        imports=(),
        dependencies=(),
        score_after=answer.score,
        reason=reason,
    )


# The file with the bodies of all other functions blanked out.


def _blanked(syntax: Syntax, wanted: Function, functions: tuple[Function, ...]) -> str:
    """Return the file with other functions blanked, line by line; each blanked line differs from all
    others."""
    pieces, at = list[bytes](), 0
    for each in sorted(functions, key=lambda each: each.full.start):
        is_around = each.full.start <= wanted.full.start and wanted.full.end <= each.full.end
        is_inside = wanted.full.start <= each.full.start and each.full.end <= wanted.full.end
        if is_around or is_inside or each.full.start < at:
            continue
        pieces += [syntax.source[at : each.body.start], _filler(syntax, each).encode()]
        at = each.body.end
    return b"".join((*pieces, syntax.source[at:])).decode("utf-8")


def _filler(syntax: Syntax, function: Function) -> str:
    body = syntax.text(function.body)
    name = syntax.language.name
    comment = _COMMENTS.get(name, "//")
    first = syntax.source.count(b"\n", 0, function.body.start) + 1
    newlines = re.findall(r"\r?\n", body)
    marks = [f"{comment} {_MARK}{first + place}" for place in range(len(newlines) + 1)]
    if name == "python":
        column = function.body.start - (syntax.source.rfind(b"\n", 0, function.body.start) + 1)
        start, indent, end = "pass  ", " " * column, ""
    elif body.startswith("{"):
        start, indent, end = "{ ", "", "}"
    else:
        return "null" + "".join(newlines)
    if not newlines:
        return start.strip() + end
    lines = [start + marks[0], *(f"{indent}{mark}" for mark in marks[1:])]
    if end:
        lines[-1] = end
    return "".join(line + newline for line, newline in zip(lines, [*newlines, ""], strict=True))


def _carried_over(text: str, blanked: str, new: str) -> str:
    """Return the difference between the blanked texts as a change of the real one."""
    lines, masked = lines_of(text), lines_of(blanked)
    starts = {0: 0}
    end = 0
    for number, line in enumerate(masked, start=1):
        end += len(line.encode("utf-8"))
        starts[end] = number
    done, at = list[str](), 0
    for edit in edits_between(blanked, new):
        first, last = starts[edit.span.start], starts[edit.span.end]
        is_hidden = lines[first:last] != masked[first:last] or _MARK in edit.text
        if is_hidden:
            raise RunError("the change reaches into other functions: change the whole file")
        done += [*lines[at:first], edit.text]
        at = last
    return "".join((*done, *lines[at:]))


# A function that a model has changed.


@dataclass(frozen=True, slots=True)
class _FunctionLines:
    """The lines of a function, from the start of the first line."""

    start: int
    end: int
    """Offset in bytes of the file."""
    text: str
    language: Language


def _function_lines(syntax: Syntax, function: Function) -> _FunctionLines:
    start = syntax.source.rfind(b"\n", 0, function.full.start) + 1
    end = syntax.source.find(b"\n", function.full.end)
    end = len(syntax.source) if end < 0 else end + 1
    return _FunctionLines(start, end, syntax.source[start:end].decode("utf-8"), syntax.language)


def _replaced(text: str, lines: _FunctionLines, answer: ChangeAnswer) -> str:
    source = text.encode("utf-8")
    code, imports = answer.new, list(answer.imports)
    if lines.language.name == "python" and answer.diff:
        code, more = _without_imports(lines, answer.new)
        imports += more
    whole = (source[: lines.start] + code.encode("utf-8") + source[lines.end :]).decode("utf-8")
    missing = [line for line in dict.fromkeys(imports) if line not in whole.splitlines()]
    if missing and lines.language.name != "python":
        raise RunError(f"the change needs {'; '.join(missing)} at the top of the file: change the whole file")
    return _with_imports(whole, missing) if missing else whole


def _without_imports(lines: _FunctionLines, new: str) -> tuple[str, list[str]]:
    """Return the received code without imports at its head, and these: they belong at the top of the file."""
    tree = ast.parse(textwrap.dedent(new))
    head = 0
    while head < len(tree.body) and isinstance(tree.body[head], (ast.Import, ast.ImportFrom)):
        head += 1
    is_indented = lines.text[:1].isspace()
    if is_indented and len(tree.body) - head != 1:
        raise RunError("the change puts more than the function where it stands: change the whole file")
    if head == 0:
        return new, []
    new_lines = lines_of(new)
    last = tree.body[head - 1].end_lineno or 0
    return "".join(new_lines[last:]).lstrip("\r\n"), [ast.unparse(node) for node in tree.body[:head]]


def _with_imports(text: str, imports: list[str]) -> str:
    """Insert imports below those at the start of the file, else below its docstring."""
    tree = ast.parse(text)
    after = 0
    for place, node in enumerate(tree.body):
        is_docstring = place == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_docstring and not isinstance(node, (ast.Import, ast.ImportFrom)):
            break
        after = node.end_lineno or 0
    lines = lines_of(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    return "".join((*lines[:after], *(each + newline for each in imports), *lines[after:]))
