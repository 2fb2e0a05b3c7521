"""Imports at the top of a Python file: what is known there, and where a new one belongs. Pure.

New ones stand where isort would put them: the standard library, then packages, then the file's own; in each
group plain imports first, by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import libcst as cst
from libcst.helpers import get_full_name_for_node

_STANDARD = frozenset(
    (
        "abc", "argparse", "array", "ast", "asyncio", "atexit", "base64", "bisect", "builtins", "bz2",
        "calendar", "cmath", "codecs", "collections", "concurrent", "configparser", "contextlib",
        "contextvars", "copy", "csv", "ctypes", "dataclasses", "datetime", "decimal", "difflib", "dis",
        "email", "enum", "errno", "faulthandler", "fcntl", "fnmatch", "fractions", "ftplib",
        "functools", "gc", "getpass", "glob", "gzip", "hashlib", "heapq", "hmac", "html", "http",
        "imaplib", "importlib", "inspect", "io", "ipaddress", "itertools", "json", "logging", "lzma",
        "math", "mimetypes", "multiprocessing", "numbers", "operator", "os", "pathlib", "pickle",
        "platform", "pprint", "queue", "random", "re", "resource", "sched", "secrets", "select",
        "selectors", "shelve", "shlex", "shutil", "signal", "smtplib", "socket", "socketserver",
        "sqlite3", "ssl", "stat", "statistics", "string", "struct", "subprocess", "sys", "sysconfig",
        "tarfile", "tempfile", "textwrap", "threading", "time", "timeit", "tomllib", "traceback",
        "types", "typing", "unicodedata", "unittest", "urllib", "uuid", "warnings", "weakref", "xml",
        "zipfile", "zlib", "zoneinfo",
    )
)  # fmt: skip
_FUTURE, _OWN_STANDARD, _PACKAGES, _RELATIVE = range(4)


@dataclass(frozen=True, slots=True)
class Wanted:
    module: str
    name: str = ""
    """What of it; empty for the module itself."""

    @property
    def statement(self) -> str:
        return f"from {self.module} import {self.name}" if self.name else f"import {self.module}"


def known_name(module: cst.Module, wanted: str, name: str) -> str | None:
    """How the top of the file calls it: `h.Timeout` after `import httpx as h`; None if it does not."""
    for line in _imports(module):
        for small in line.body:
            if isinstance(small, cst.Import):
                for alias in small.names:
                    if get_full_name_for_node(alias.name) == wanted:
                        called = wanted if alias.asname is None else get_full_name_for_node(alias.asname.name)
                        return f"{called}.{name}" if name else called
            elif isinstance(small, cst.ImportFrom) and not isinstance(small.names, cst.ImportStar):
                found = _from(small, wanted, name)
                if found is not None:
                    return found
    return None


def imports_from(module: cst.Module, wanted: str) -> bool:
    """Whether the file has `from wanted import …`."""
    return any(_origin(line)[:2] == (wanted, True) for line in _imports(module))


def _from(small: cst.ImportFrom, wanted: str, name: str) -> str | None:
    origin = "" if small.module is None else get_full_name_for_node(small.module) or ""
    if small.relative:
        return None
    for alias in cast(Sequence[cst.ImportAlias], small.names):
        what = alias.evaluated_name
        called = alias.evaluated_alias or what
        if name and (origin, what) == (wanted, name):
            return called
        if f"{origin}.{what}" == wanted:
            return f"{called}.{name}" if name else called
    return None


def with_imports(module: cst.Module, wanted: Sequence[Wanted]) -> cst.Module:
    for each in wanted:
        if known_name(module, each.module, each.name) is None:
            module = _with_import(module, each)
    return module


def _with_import(module: cst.Module, wanted: Wanted) -> cst.Module:
    body = list(module.body)
    if wanted.name:
        for at, line in enumerate(body):
            merged = _merged(line, wanted)
            if merged is not None:
                body[at] = merged
                return module.with_changes(body=body)
    made = cst.parse_module(wanted.statement, config=module.config_for_parsing).body[0]
    assert isinstance(made, cst.SimpleStatementLine)
    places = [at for at, line in enumerate(body) if _is_import(line)]
    if not places:
        return _before_all(module, made)
    group, key = _group(made), _key(made)
    mates = [at for at in places if _group(body[at]) == group]
    if mates:
        follower = next((at for at in mates if _key(body[at]) > key), None)
        if follower is None:
            body.insert(mates[-1] + 1, made)
        else:
            lines = _lines(body[follower])
            body[follower] = body[follower].with_changes(leading_lines=())
            body.insert(follower, made.with_changes(leading_lines=lines))
        return module.with_changes(body=body)
    earlier = [at for at in places if _group(body[at]) < group]
    if earlier:
        body.insert(earlier[-1] + 1, made.with_changes(leading_lines=(cst.EmptyLine(indent=False),)))
        after = earlier[-1] + 2
    else:
        lines = _lines(body[places[0]])
        body.insert(places[0], made.with_changes(leading_lines=lines))
        after = places[0] + 1
        body[after] = body[after].with_changes(leading_lines=())
    if after < len(body) and not _lines(body[after]):
        body[after] = body[after].with_changes(leading_lines=(cst.EmptyLine(indent=False),))
    return module.with_changes(body=body)


def _before_all(module: cst.Module, made: cst.SimpleStatementLine) -> cst.Module:
    """A file without imports: below its docstring."""
    body = list(module.body)
    start = 1 if module.get_docstring() is not None else 0
    blank = cst.EmptyLine(indent=False)
    body.insert(start, made.with_changes(leading_lines=(blank,) * start))
    if start + 1 < len(body):
        after = body[start + 1]
        has = len(_lines(after))
        wants = 2 if isinstance(after, (cst.FunctionDef, cst.ClassDef)) else 1
        lines = (*(blank,) * max(wants - has, 0), *_lines(after))
        body[start + 1] = after.with_changes(leading_lines=lines)
    return module.with_changes(body=body)


def _merged(line: cst.CSTNode, wanted: Wanted) -> cst.SimpleStatementLine | None:
    """A line `from module import …` with one name more."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    small = line.body[0]
    if not isinstance(small, cst.ImportFrom) or small.relative or isinstance(small.names, cst.ImportStar):
        return None
    if small.module is None or get_full_name_for_node(small.module) != wanted.module:
        return None
    names = list(small.names)
    at = next(
        (n for n, each in enumerate(names) if _folded(each.evaluated_name) > _folded(wanted.name)), len(names)
    )
    alias = cst.ImportAlias(cst.Name(wanted.name))
    if at < len(names):
        comma = names[at].comma
        if isinstance(comma, cst.MaybeSentinel) or at == len(names) - 1:
            comma = names[at - 1].comma if at else cst.MaybeSentinel.DEFAULT
        if isinstance(comma, cst.MaybeSentinel):
            comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        names.insert(at, alias.with_changes(comma=comma))
    else:
        last = names[-1]
        between = names[-2].comma if len(names) > 1 else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        names[-1] = last.with_changes(comma=between)
        names.append(alias.with_changes(comma=last.comma))
    return line.with_changes(body=[small.with_changes(names=names)])


def _imports(module: cst.Module) -> Iterator[cst.SimpleStatementLine]:
    for line in module.body:
        if isinstance(line, cst.SimpleStatementLine) and _is_import(line):
            yield line


def _is_import(line: cst.CSTNode) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and isinstance(
        line.body[0], (cst.Import, cst.ImportFrom)
    )


def _lines(node: cst.CSTNode) -> tuple[cst.EmptyLine, ...]:
    return tuple(getattr(node, "leading_lines", ()))


def _origin(line: cst.CSTNode) -> tuple[str, bool, bool]:
    """The module of an import, whether it is `from …`, and whether it is relative."""
    assert isinstance(line, cst.SimpleStatementLine)
    small = line.body[0]
    if isinstance(small, cst.Import):
        return get_full_name_for_node(small.names[0].name) or "", False, False
    assert isinstance(small, cst.ImportFrom)
    name = "" if small.module is None else get_full_name_for_node(small.module) or ""
    return name, True, bool(small.relative)


def _group(line: cst.CSTNode) -> int:
    name, _, is_relative = _origin(line)
    root = name.partition(".")[0]
    if root == "__future__":
        return _FUTURE
    if is_relative:
        return _RELATIVE
    return _OWN_STANDARD if root in _STANDARD else _PACKAGES


def _key(line: cst.CSTNode) -> tuple[bool, str]:
    name, is_from, _ = _origin(line)
    return is_from, name.lower()


def _folded(name: str) -> tuple[int, str]:
    """As isort sorts names: CONSTANTS, Classes, functions."""
    rank = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return rank, name
