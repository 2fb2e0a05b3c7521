"""Finding one function by the name that a user wrote. Pure.

A name is looked for as the whole qualified name first, then as the end of one. So `run` is the function
`run` if there is one, and otherwise the only `….run`. `name:12` is the one on line 12.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from faultkit.base.errors import InputError
from faultkit.code.function import Function

_MOST_SHOWN = 10
_POINTER = re.compile(r"\(\s*\*?\s*([^()\s]+)\s*\)")
_HASH = re.compile(r"(?<=\w)#(?=\w)")
_LINE = re.compile(r"(?<=[^:]):(\d{1,9})$")


def find_function(functions: Sequence[Function], name: str, line: int | None = None) -> Function:
    wanted, written_line = _read(name)
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
            raise InputError("function", _which(name, candidates))
    same = [each for stage in stages for each in stage]
    raise InputError("function", _unknown(name, functions) if not same else _elsewhere(name, line, same))


def _read(name: str) -> tuple[tuple[str, str], int | None]:
    """The name as written and as we write it, and a line if it has one.

    People write `(*Server).Serve`, `Pool::get`, `Orders#list`, `main()` and `run:12`."""
    text = name.strip()
    found = _LINE.search(text)
    if found is not None:
        text = text[: found.start()]
    ours = _POINTER.sub(r"\1", text.removesuffix("()")).replace("::", ".")
    return (text, _HASH.sub(".", ours)), None if found is None else int(found[1])


def _on_line(candidates: Iterable[Function], line: int) -> list[Function]:
    """The first that begins on the line; if none does, the innermost that holds it."""
    holding = [each for each in candidates if each.start_line <= line <= each.end_line]
    begun = [each for each in holding if each.line == line]
    return begun[:1] or sorted(holding, key=lambda each: each.full.start)[-1:]


def _which(name: str, candidates: Sequence[Function]) -> str:
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
    (_, wanted), _ = _read(name)
    near = get_close_matches(wanted, known, n=3)
    near += [bare[each] for each in get_close_matches(wanted.rpartition(".")[2], bare, n=3)]
    if near:
        quoted = " or ".join([f'"{each}"' for each in dict.fromkeys(near)][:3])
        return f'unknown name "{name}"; did you mean {quoted}?'
    return f'unknown name "{name}"; expected one of {_listed(known)}'


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(names[:_MOST_SHOWN]) + more
