"""Codemod that puts files, responses, clients and connections that are never closed into `with` blocks.

The statements up to the last use of the object move into the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import libcst as cst

from faultkit.code.changes.change import Source
from faultkit.code.changes.python.codemod import CodemodContext, python_codemod
from faultkit.code.changes.python.tree import free_name, is_unconditional, nodes_in, variables_in
from faultkit.code.changes.questions import faked_question
from faultkit.code.facts import Call
from faultkit.code.rules.rule import Finding

_ASYNC = ("httpx.AsyncClient", "aiohttp.ClientSession")
_CLOSING = ("sqlite3.connect", "psycopg2.connect", "psycopg.connect", "pymysql.connect", "MySQLdb.connect")
"""Types whose own `with` ends a transaction, or that have none: `contextlib.closing` is used."""
_PLAIN = (
    "open", "io.open", "gzip.open", "bz2.open", "codecs.open", "zipfile.ZipFile", "tarfile.open", "os.fdopen",
    "builtins.open", "urllib.request.urlopen", "httpx.Client", "requests.Session", "requests.session",
    "socket.create_connection", "socket.socket", "smtplib.SMTP", "ftplib.FTP",
    "concurrent.futures.ThreadPoolExecutor", "concurrent.futures.ProcessPoolExecutor",
)  # fmt: skip

_CLOSES = frozenset({"close", "aclose"})
_DATA = frozenset(
    (
        "read", "readline", "readlines", "recv", "write", "fetchall", "fetchone", "fetchmany",
        "json", "decode", "get", "post", "put", "patch", "delete", "head", "strip", "split",
        "splitlines", "loads", "len", "fileno", "getnames", "namelist", "tell",
    )
)  # fmt: skip
"""Methods whose results do not need the object any more."""
_EAGER = frozenset(
    (
        "all", "any", "bool", "bytes", "dict", "float", "frozenset", "int", "isinstance", "join", "len",
        "list", "load", "max", "min", "repr", "safe_load", "set", "sorted", "str", "sum", "tuple",
    )
)  # fmt: skip
"""Functions that are done with what they are given when they return."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A `with` block to be made from consecutive statements."""

    head: str
    """The `with` statement up to the colon."""
    first: int
    """Index of the opening statement in its block."""
    last: int
    keeps_first: bool
    """Whether the opening statement does more than bind a name, so that it moves into the block."""


def _collect_context_managers(context: CodemodContext) -> None:
    for _, call, node in context.calls():
        streams = call.name.startswith("requests.") and call.has("stream")
        if call.name not in (*_PLAIN, *_ASYNC, *_CLOSING) and not streams:
            continue
        line = context.tree.statement(node)
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            continue
        block = context.tree.block(line)
        if block is None or context.new.has(block) or (call.name in _ASYNC and not _in_async(context, node)):
            continue
        with_block = _named(context, call, node, line, block) or _unnamed(context, call, node, line, block)
        if with_block is not None:
            _insert_with(context, with_block, block)


def _in_async(context: CodemodContext, node: cst.CSTNode) -> bool:
    function = context.tree.function(node)
    return function is not None and function.asynchronous is not None


def _named(
    context: CodemodContext,
    call: Call,
    node: cst.Call,
    line: cst.SimpleStatementLine,
    block: cst.IndentedBlock | cst.Module,
) -> _Block | None:
    """Handle `f = open(p)` and what follows."""
    small = line.body[0]
    if not isinstance(small, cst.Assign) or small.value is not node or len(small.targets) != 1:
        return None
    target = small.targets[0].target
    if not isinstance(target, cst.Name):
        return None
    lines = list(block.body)
    first = lines.index(line)
    last = _last_use(context, lines, first, target.value)
    if last is None:
        return None
    return _Block(f"{_head(context, call, node)} as {target.value}", first, last, False)


def _last_use(context: CodemodContext, lines: Sequence[cst.CSTNode], first: int, name: str) -> int | None:
    """Return the index of the last statement that needs the object or something made of it.

    None if that is unknown, or elsewhere.
    """
    scope: cst.CSTNode = context.tree.function(lines[first]) or context.tree.module
    names, last = {name}, first
    while True:
        uses = [at for at, each in enumerate(lines) if at > first and _mentions(context, each, names)]
        if not uses or any(_is_handed_on(context, each, names) for each in lines[first : uses[-1] + 1]):
            return None
        derived = _derived_names(context, lines[first + 1 : uses[-1] + 1], names)
        if derived is None:
            return None
        if derived <= names and uses[-1] == last:
            break
        names, last = names | derived, uses[-1]
    if any(_outlives(context, each, names) for each in lines[first : last + 1]):
        return None
    inside = sum(_count(context, each, names) for each in lines[first : last + 1])
    return last if _count(context, scope, names) == inside else None


def _outlives(context: CodemodContext, line: cst.CSTNode, names: set[str]) -> bool:
    """Return whether a function made there, or what is returned, may need the object after the block."""
    if isinstance(line, (cst.FunctionDef, cst.ClassDef)):
        return True
    closures = (*nodes_in(line, cst.Lambda), *nodes_in(line, cst.FunctionDef))
    if any(_mentions(context, each, names) for each in closures):
        return True
    given = (*nodes_in(line, cst.Return), *nodes_in(line, cst.Yield))
    return any(
        not _is_used_up(context, use, value)
        for value in given
        for use in variables_in(context.tree, value)
        if use.value in names
    )


def _is_used_up(context: CodemodContext, use: cst.CSTNode, top: cst.CSTNode) -> bool:
    """Return whether only data of an object remains in an expression around its name."""
    inner, node = use, context.tree.parent(use)
    while node is not None and node is not top:
        if isinstance(node, cst.Call):
            function = node.func
            name = function.attr if isinstance(function, cst.Attribute) else function
            known = _DATA if inner is function else _EAGER
            if isinstance(name, cst.Name) and name.value in known:
                return True
        if isinstance(node, (cst.Comparison, cst.FormattedString)):
            return True
        if isinstance(inner, cst.CompFor) and not isinstance(node, cst.GeneratorExp):
            return True
        inner, node = node, context.tree.parent(node)
    return False


def _is_handed_on(context: CodemodContext, line: cst.CSTNode, names: set[str]) -> bool:
    """Return whether closing is handed on, as in `on_exit(f.close)`."""
    for each in nodes_in(line, cst.Attribute):
        above = context.tree.parent(each)
        is_called = isinstance(above, cst.Call) and above.func is each
        if isinstance(each.value, cst.Name) and each.value.value in names and each.attr.value in _CLOSES:
            return not is_called
    return False


def _derived_names(context: CodemodContext, lines: Sequence[cst.CSTNode], names: set[str]) -> set[str] | None:
    """Return names that may still need the object, as a cursor does; None if it goes elsewhere."""
    found = set[str]()
    for line in lines:
        for assign in nodes_in(line, cst.Assign):
            if not _mentions(context, assign.value, names) or _is_plain(assign.value):
                continue
            for target in assign.targets:
                bound = {each.value for each in variables_in(context.tree, target.target)}
                if any(nodes_in(target.target, cst.Attribute)) or any(nodes_in(target.target, cst.Subscript)):
                    return None
                found |= bound
    return found


def _is_plain(value: cst.BaseExpression) -> bool:
    """Return whether a value is plain data."""
    while isinstance(value, (cst.Await, cst.Subscript)):
        value = value.expression if isinstance(value, cst.Await) else value.value
    return (
        isinstance(value, cst.Call)
        and isinstance(value.func, cst.Attribute)
        and value.func.attr.value in _DATA
    )


def _unnamed(
    context: CodemodContext,
    call: Call,
    node: cst.Call,
    line: cst.SimpleStatementLine,
    block: cst.IndentedBlock | cst.Module,
) -> _Block | None:
    """Handle `data = open(p).read()`, where the object has no name."""
    above = context.tree.parent(node)
    if (
        not isinstance(above, cst.Attribute)
        or above.attr.value not in _DATA
        or not is_unconditional(context.tree, node, line.body[0])
    ):
        return None
    wanted = {"urllib.request.urlopen": "response"}.get(call.name, "file")
    name = free_name(context.tree, wanted, line)
    context.new.swap(node, cst.Name(name))
    at = list(block.body).index(line)
    return _Block(f"{_head(context, call, node)} as {name}", at, at, True)


def _head(context: CodemodContext, call: Call, node: cst.Call) -> str:
    text = context.tree.code(node.with_changes(lpar=(), rpar=()))
    if call.name in _CLOSING:
        return f"with {context.new.need('contextlib', 'closing')}({text})"
    return f"async with {text}" if call.name in _ASYNC else f"with {text}"


def _mentions(context: CodemodContext, top: cst.CSTNode, names: set[str]) -> bool:
    return any(each.value in names for each in variables_in(context.tree, top))


def _count(context: CodemodContext, top: cst.CSTNode, names: set[str]) -> int:
    return sum(each.value in names for each in variables_in(context.tree, top))


def _insert_with(context: CodemodContext, with_block: _Block, block: cst.IndentedBlock | cst.Module) -> None:
    head = cst.ensure_type(_in_async_def(context, f"{with_block.head}:\n    pass\n"), cst.With)

    def step(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, (cst.IndentedBlock, cst.Module))
        body = list(node.body)
        opening = cast(cst.SimpleStatementLine, body[with_block.first])
        inner = body[
            with_block.first if with_block.keeps_first else with_block.first + 1 : with_block.last + 1
        ]
        inner[0] = inner[0].with_changes(
            leading_lines=_comments(inner[0]) if not with_block.keeps_first else ()
        )
        whole = head.with_changes(body=cst.IndentedBlock(inner), leading_lines=opening.leading_lines)
        if not with_block.keeps_first and opening.trailing_whitespace.comment is not None:
            whole = whole.with_changes(body=whole.body.with_changes(header=opening.trailing_whitespace))
        return node.with_changes(body=[*body[: with_block.first], whole, *body[with_block.last + 1 :]])

    context.new.replace(block, step)


def _comments(node: cst.CSTNode) -> tuple[cst.EmptyLine, ...]:
    """Return comments without a blank line at the start of a block."""
    lines = list(getattr(node, "leading_lines", ()))
    while lines and lines[0].comment is None:
        del lines[0]
    return tuple(lines)


def _in_async_def(context: CodemodContext, text: str) -> cst.BaseStatement:
    """Wrap a statement that may only stand in an async function."""
    indented = "".join(f"    {line}" for line in text.splitlines(keepends=True))
    function = cst.ensure_type(context.new.statements(f"async def _():\n{indented}")[0], cst.FunctionDef)
    return next(iter(nodes_in(function.body, cst.With)))


def _question(source: Source, finding: Finding) -> str:
    call = source.call_at(finding)
    if call is not None and call.name.endswith("PoolExecutor"):
        return "May the code wait at the end of the block until all tasks of the executor are done?"
    return "" if call is None else faked_question(source.project, call.name)


CONTEXT_MANAGERS = python_codemod(
    "context-managers",
    ("file-not-closed", "response-not-closed", "client-not-closed", "connection-not-closed"),
    "close what is opened, on every way out, with a with block",
    _collect_context_managers,
    asks=_question,
)
