"""Changes of a Python tree, collected and made in one pass, and the imports that they need. Pure.

Codemods need no visitor of their own. New statements are given as text. Everything that is not changed keeps
its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, cast

import libcst as cst
from libcst.helpers import get_full_name_for_node

from faultkit.code.changes.python.comments import comment_of, with_comment, without_comment
from faultkit.code.changes.python.names import NameTakenError, is_taken
from faultkit.code.changes.python.tree import Tree

# Imports at the top of a file: which names are known, and where a new import belongs. New imports stand where
# isort would put them: standard library, packages, own modules; in each group plain imports first, by name.


STANDARD = frozenset(
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
_FUTURE, _OWN_STANDARD, _PACKAGES, _FIRST_PARTY, _RELATIVE = range(5)


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """A module, or a name in it, that a codemod needs."""

    module: str
    name: str = ""
    """The imported name; empty for the module itself."""

    @property
    def statement(self) -> str:
        return f"from {self.module} import {self.name}" if self.name else f"import {self.module}"


def known_name(module: cst.Module, wanted: str, name: str) -> str | None:
    """Return the name under which it is imported: `h.Timeout` after `import httpx as h`; None if it is
    not."""
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
    """Return whether the file has `from wanted import …`."""
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


def with_imports(
    module: cst.Module, wanted: Sequence[ImportRequest], own: frozenset[str] = frozenset()
) -> cst.Module:
    """Return the module with the imports added. `own` names the packages of the project itself."""
    for each in wanted:
        if known_name(module, each.module, each.name) is None:
            module = _with_import(module, each, own)
    return module


def _with_import(module: cst.Module, wanted: ImportRequest, own: frozenset[str]) -> cst.Module:
    body = list(module.body)
    if wanted.name:
        for at, line in enumerate(body):
            merged = _merged(line, wanted)
            if merged is not None:
                body[at] = merged
                return module.with_changes(body=body)
    new_line = cst.parse_module(wanted.statement, config=module.config_for_parsing).body[0]
    assert isinstance(new_line, cst.SimpleStatementLine)
    places = [at for at, line in enumerate(body) if _is_import(line)]
    if not places:
        return _before_all(module, new_line)
    group, key = _group(new_line, own), _key(new_line)
    mates = [at for at in places if _group(body[at], own) == group]
    if mates:
        follower = next((at for at in mates if _key(body[at]) > key), None)
        if follower is None:
            body.insert(mates[-1] + 1, new_line)
        else:
            lines = _lines(body[follower])
            body[follower] = body[follower].with_changes(leading_lines=())
            body.insert(follower, new_line.with_changes(leading_lines=lines))
        return module.with_changes(body=body)
    earlier = [at for at in places if _group(body[at], own) < group]
    if earlier:
        body.insert(earlier[-1] + 1, new_line.with_changes(leading_lines=(cst.EmptyLine(indent=False),)))
        after = earlier[-1] + 2
    else:
        lines = _lines(body[places[0]])
        body.insert(places[0], new_line.with_changes(leading_lines=lines))
        after = places[0] + 1
        body[after] = body[after].with_changes(leading_lines=())
    if after < len(body) and not _lines(body[after]):
        body[after] = body[after].with_changes(leading_lines=(cst.EmptyLine(indent=False),))
    return module.with_changes(body=body)


def _before_all(module: cst.Module, new_line: cst.SimpleStatementLine) -> cst.Module:
    """Return the module with the first import of the file, below its docstring."""
    body = list(module.body)
    start = 1 if module.get_docstring() is not None else 0
    blank = cst.EmptyLine(indent=False)
    body.insert(start, new_line.with_changes(leading_lines=(blank,) * start))
    if start + 1 < len(body):
        after = body[start + 1]
        has = len(_lines(after))
        wants = 2 if isinstance(after, (cst.FunctionDef, cst.ClassDef)) else 1
        lines = (*(blank,) * max(wants - has, 0), *_lines(after))
        body[start + 1] = after.with_changes(leading_lines=lines)
    return module.with_changes(body=body)


def _merged(line: cst.CSTNode, wanted: ImportRequest) -> cst.SimpleStatementLine | None:
    """Return a line `from module import …` with one more name."""
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
        names.insert(at, alias.with_changes(comma=without_comment(comma)))
    else:
        small, names = _with_last(small, names, alias)
    return line.with_changes(body=[small.with_changes(names=names)])


def _with_last(
    small: cst.ImportFrom, names: list[cst.ImportAlias], alias: cst.ImportAlias
) -> tuple[cst.ImportFrom, list[cst.ImportAlias]]:
    """Return the statement and its names with one more at the end. Comments stay with their names."""
    *others, last = names
    between = others[-1].comma if others else cst.MaybeSentinel.DEFAULT
    if isinstance(between, cst.MaybeSentinel):
        between = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    between = without_comment(between)
    end = small.rpar.whitespace_before if small.rpar is not None else cst.SimpleWhitespace("")
    comment = comment_of(last.comma) or comment_of(end)
    if comment is not None and small.rpar is not None:
        between = with_comment(between, comment)
        rpar = small.rpar.with_changes(whitespace_before=without_comment(end))
        small = small.with_changes(rpar=rpar)
    alias = alias.with_changes(comma=without_comment(last.comma))
    return small, [*others, last.with_changes(comma=between), alias]


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
    """Return the module of an import, whether it is `from …`, and whether it is relative."""
    assert isinstance(line, cst.SimpleStatementLine)
    small = line.body[0]
    if isinstance(small, cst.Import):
        return get_full_name_for_node(small.names[0].name) or "", False, False
    assert isinstance(small, cst.ImportFrom)
    name = "" if small.module is None else get_full_name_for_node(small.module) or ""
    return name, True, bool(small.relative)


def _group(line: cst.CSTNode, own: frozenset[str]) -> int:
    name, _, is_relative = _origin(line)
    root = name.partition(".")[0]
    if root == "__future__":
        return _FUTURE
    if is_relative:
        return _RELATIVE
    if root in STANDARD:
        return _OWN_STANDARD
    return _FIRST_PARTY if root in own else _PACKAGES


def _key(line: cst.CSTNode) -> tuple[bool, str]:
    name, is_from, _ = _origin(line)
    return is_from, name.lower()


def _folded(name: str) -> tuple[int, str]:
    """Return the sort key of isort for names: CONSTANTS, Classes, functions."""
    rank = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return rank, name


# The changes.


Replacement: TypeAlias = "cst.CSTNode | cst.FlattenSentinel[cst.CSTNode]"
NodeChange: TypeAlias = Callable[[cst.CSTNode], cst.CSTNode]


class Rewriting:
    """Changes of one tree, collected and then made."""

    def __init__(self, tree: Tree, own: frozenset[str] = frozenset()) -> None:
        """Collect changes of a tree; `own` names the packages of the project itself."""
        self.tree = tree
        self._own = own
        self.left_out: list[ImportRequest] = []
        """Imports for which there is no place in the text."""
        self._steps: dict[cst.CSTNode, list[NodeChange]] = {}
        self._before: dict[cst.CSTNode, list[cst.BaseStatement]] = {}
        self._after: dict[cst.CSTNode, list[cst.BaseStatement]] = {}
        self._unwrapped: set[cst.CSTNode] = set()
        self._wanted: list[ImportRequest] = []

    @cached_property
    def _code(self) -> str:
        return self.tree.module.code

    @property
    def is_empty(self) -> bool:
        return not (self._steps or self._before or self._after or self._unwrapped)

    def has(self, node: cst.CSTNode) -> bool:
        """Return whether this node is to be changed."""
        return node in self._steps

    def replace(self, node: cst.CSTNode, step: NodeChange) -> None:
        """Add a step for a node. Steps on one node run in order, after changes inside it."""
        self._steps.setdefault(node, []).append(step)

    def swap(self, node: cst.CSTNode, new: cst.CSTNode) -> None:
        """Replace a node."""
        self.replace(node, lambda _: new)

    def unwrap(self, block: cst.With) -> None:
        """Replace a block by its body."""
        self._unwrapped.add(block)

    def before(self, statement: cst.BaseStatement, text: str, *, below_comments: bool = True) -> None:
        """Insert lines before a statement, below the comments above it if these describe the new lines
        as well."""
        new = self.statements(text)
        if below_comments and statement not in self._before:
            new[0] = new[0].with_changes(leading_lines=getattr(statement, "leading_lines", ()))
            self.replace(statement, lambda node: node.with_changes(leading_lines=()))
        self._before.setdefault(statement, []).extend(new)

    def after(self, statement: cst.BaseStatement, text: str) -> None:
        self._after.setdefault(statement, []).extend(self.statements(text))

    def above(self, statement: cst.BaseStatement, text: str) -> None:
        """Insert at the top level before a statement, with the blank lines of PEP 8."""
        new = self.statements(text)
        body = list(self.tree.module.body)
        at = body.index(statement)  # type: ignore[arg-type]
        above = (self._before.get(statement) or body[:at])[-1:]
        if above:
            new[0] = cast(cst.BaseStatement, spaced(new[0], 2 if _is_definition(above[0], new[0]) else 1))
        self._before.setdefault(statement, []).extend(new)
        lines = 2 if _is_definition(statement, new[-1]) else 1
        self.replace(statement, lambda node: spaced(node, lines))

    def statements(self, text: str) -> list[cst.BaseStatement]:
        module = cst.parse_module(text, config=self.tree.module.config_for_parsing)
        return [_without_blanks(cast(cst.BaseStatement, each)) for each in module.body]

    def expression(self, text: str) -> cst.BaseExpression:
        return cst.parse_expression(text, config=self.tree.module.config_for_parsing)

    def need(self, module: str, name: str = "") -> str:
        """Return the local name of a module or of a name in it; it is imported if it is not yet.

        Raises NameTakenError if the file binds the name to anything else."""
        found = known_name(self.tree.module, module, name)
        local = found or name or module
        is_new, root = found is None, module.partition(".")[0]
        # An own module hides one of the standard library, such as `random.py` beside the file.
        if is_taken(self._code, local.partition(".")[0], module, name, is_new=is_new) or (
            is_new and root in self._own & STANDARD
        ):
            raise NameTakenError(local)
        wanted = ImportRequest(module, name)
        if is_new and wanted not in self._wanted:
            self._wanted.append(wanted)
        return local

    def member(self, module: str, name: str) -> str:
        """Return the local name of something in a module, imported in the way the file imports from it."""
        if known_name(self.tree.module, module, name) is not None or imports_from(self.tree.module, module):
            return self.need(module, name)
        return f"{self.need(module)}.{name}"

    def done(self) -> str:
        """Return the new text."""
        changed = self.tree.module.visit(_Visitor(self._steps, self._before, self._after, self._unwrapped))
        assert isinstance(changed, cst.Module)
        if self.tree.is_indented:
            self.left_out = list(self._wanted)
        else:
            changed = with_imports(changed, self._wanted, self._own)
        return changed.code[self.tree.shift :] + self.tree.tail


class _Visitor(cst.CSTTransformer):
    """Makes the collected changes in one pass over the tree."""

    def __init__(
        self,
        steps: dict[cst.CSTNode, list[NodeChange]],
        before: dict[cst.CSTNode, list[cst.BaseStatement]],
        after: dict[cst.CSTNode, list[cst.BaseStatement]],
        unwrapped: set[cst.CSTNode],
    ) -> None:
        super().__init__()
        self._steps, self._before, self._after, self._unwrapped = steps, before, after, unwrapped

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> Replacement:  # type: ignore[override]
        node: cst.CSTNode = updated_node
        for step in self._steps.get(original_node, ()):
            node = step(node)
        around = self._before.get(original_node, []), self._after.get(original_node, [])
        if original_node in self._unwrapped:
            inner = _first_lines(original_node, cst.ensure_type(node, cst.With).body.body)  # type: ignore[arg-type]
            return cst.FlattenSentinel([*around[0], *inner, *around[1]])
        if any(around):
            return cst.FlattenSentinel([*around[0], node, *around[1]])
        return node


def _first_lines(removed: cst.CSTNode, replacement: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """Keep comments above a removed statement above its replacement."""
    if not replacement:
        return []
    lines = (*getattr(removed, "leading_lines", ()), *getattr(replacement[0], "leading_lines", ()))
    return [replacement[0].with_changes(leading_lines=lines), *replacement[1:]]


def _is_definition(*nodes: cst.CSTNode) -> bool:
    return any(isinstance(each, (cst.FunctionDef, cst.ClassDef)) for each in nodes)


def _without_blanks(node: cst.BaseStatement) -> cst.BaseStatement:
    """Make blank lines in an indented block empty."""
    lines = [
        each.with_changes(indent=False) if each.comment is None else each
        for each in getattr(node, "leading_lines", ())
    ]
    return node.with_changes(leading_lines=lines)


def spaced(node: cst.CSTNode, blank_lines: int) -> cst.CSTNode:
    """Return a statement with at least this many blank lines above it; its comments stay with it."""
    lines = list(getattr(node, "leading_lines", ()))
    have = next((at for at, line in enumerate(lines) if line.comment is not None), len(lines))
    missing = [cst.EmptyLine(indent=False) for _ in range(blank_lines - have)]
    return node.with_changes(leading_lines=(*missing, *lines))
