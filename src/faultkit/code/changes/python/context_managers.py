"""Codemod that puts files, responses, clients and connections that are never closed into `with` blocks.

The statements up to the last use of the object move into the block.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

import libcst as cst

from faultkit.code.changes.change import Source
from faultkit.code.changes.python.codemod import CodemodContext, python_codemod
from faultkit.code.changes.python.lifetimes import OPENED, kind_of, last_use, streams_later
from faultkit.code.changes.python.names import SEES_LOCALS
from faultkit.code.changes.python.rewriting import known_name
from faultkit.code.changes.python.tree import (
    free_name,
    is_binding,
    is_evaluated_first,
    nodes_in,
    variables_in,
)
from faultkit.code.changes.questions import faked_question
from faultkit.code.facts import Call
from faultkit.code.rules.rule import Finding

_ASYNC = ("httpx.AsyncClient", "aiohttp.ClientSession")
_CLOSING = ("sqlite3.connect", "psycopg2.connect", "psycopg.connect", "pymysql.connect", "MySQLdb.connect")
"""Types whose own `with` ends a transaction, or that have none: `contextlib.closing` is used."""
_LOCKS = re.compile(r"\block|_lock\b|\b(exclusive|immediate)\b|cache=shared", re.IGNORECASE)
"""Signs of locks and data that last as long as a connection."""
_WRITES = frozenset({"write", "writelines", "writestr"})
"""Methods of objects without a name after which the object is closed at once, so that all is written."""
_SEES_NAMES = SEES_LOCALS | {"globals"}
"""Functions that see all names."""
_OF_DESCRIPTORS = re.compile(r"^os\.(close|dup2?|fdatasync|fstat|fsync|ftruncate|isatty|lseek|read|write)$")


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
        if call.name not in OPENED and not streams:
            continue
        if _keeps_descriptor(context, call, node) or call.written.startswith(("self.", "cls.")):
            # What a class opens with its own attribute, a subclass may open with another.
            continue
        line = context.tree.statement(node)
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            continue
        block = context.tree.block(line)
        if block is None or context.new.has(block) or not _has_own_names(context, line):
            continue
        if call.name in _ASYNC and not _in_async(context, node):
            continue
        with_block = _named(context, call, node, line, block) or _unnamed(context, call, node, line, block)
        if with_block is not None:
            _insert_with(context, with_block, block)


def _has_own_names(context: CodemodContext, line: cst.CSTNode) -> bool:
    """Return whether names there are visible to no other code: not in a class, nor beside `locals()`."""
    scope = context.tree.function(line)
    if scope is None and any(isinstance(each, cst.ClassDef) for each in context.tree.around(line)):
        return False
    calls = nodes_in(scope or context.tree.module, cst.Call)
    return not any(context.resolved_name(each) in _SEES_NAMES for each in calls)


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
    last = last_use(context, lines, first, target.value, kind_of(call.name))
    if last < 0 or (call.name in _CLOSING and any(_LOCKS.search(context.tree.code(each)) for each in lines)):
        return None
    head = _head(context, call, node)
    return None if head is None else _Block(f"{head} as {target.value}", first, last, False)


def _keeps_descriptor(context: CodemodContext, call: Call, node: cst.Call) -> bool:
    """Return whether the object belongs to a file descriptor that others may use, as in `open(1)`."""
    if call.has("fileno") or not node.args or kind_of(call.name) is not OPENED["open"]:
        return call.has("fileno")
    source = node.args[0].value
    if isinstance(source, cst.Integer) or any(
        each.attr.value == "fileno" for each in nodes_in(source, cst.Attribute)
    ):
        return True
    if not isinstance(source, cst.Name):
        return call.name == "os.fdopen" and not isinstance(source, cst.Call)
    scope = context.tree.function(node) or context.tree.module
    after = [
        each
        for each in variables_in(context.tree, scope)
        if each.value == source.value and context.tree.span(each).start > context.tree.span(source).start
    ]
    return bool(after) if call.name == "os.fdopen" else any(_is_descriptor(context, each) for each in after)


def _is_descriptor(context: CodemodContext, name: cst.Name) -> bool:
    call = next((each for each in context.tree.around(name) if isinstance(each, cst.Call)), None)
    return call is not None and bool(_OF_DESCRIPTORS.match(context.resolved_name(call)))


def _unnamed(
    context: CodemodContext,
    call: Call,
    node: cst.Call,
    line: cst.SimpleStatementLine,
    block: cst.IndentedBlock | cst.Module,
) -> _Block | None:
    """Handle `data = open(p).read()`, where the object has no name."""
    if not _is_used_at_once(context, call, node, line.body[0]):
        return None
    wanted = {"urllib.request.urlopen": "response"}.get(call.name, "file")
    # Other modules may import all names of this one that have no underscore.
    is_local = context.tree.function(node) is not None
    name = free_name(context.tree, wanted if is_local else f"_{wanted}", line)
    head = _head(context, call, node)
    if head is None:
        return None
    context.new.swap(node, cst.Name(name))
    at = list(block.body).index(line)
    return _Block(f"{head} as {name}", at, at, True)


def _is_used_at_once(
    context: CodemodContext, call: Call, node: cst.Call, statement: cst.BaseSmallStatement
) -> bool:
    """Return whether a statement opens an object first of all, and calls a method of it that gives data."""
    kind, member = kind_of(call.name), context.tree.parent(node)
    use = None if member is None else context.tree.parent(member)
    if not isinstance(member, cst.Attribute) or not isinstance(use, cst.Call) or use.func is not member:
        return False
    if member.attr.value not in kind.methods - {"close"} or streams_later(use):
        return False
    above = context.tree.parent(use)
    if kind.is_async and not isinstance(above, cst.Await):
        return False
    if member.attr.value in _WRITES and not isinstance(above, (cst.Expr, cst.Assign)):
        return False
    return is_evaluated_first(context.tree, node, statement)


def _head(context: CodemodContext, call: Call, node: cst.Call) -> str | None:
    """Return the `with` statement up to the name; None if the file has other meanings for its names."""
    text = context.tree.code(node.with_changes(lpar=(), rpar=()))
    if call.name not in _CLOSING:
        return f"async with {text}" if call.name in _ASYNC else f"with {text}"
    for module, name in (("contextlib", "closing"), ("contextlib", "")):
        if _is_free(context, module, name):
            found = context.new.need(module, name)
            return f"with {found if name else f'{found}.closing'}({text})"
    return None


def _is_free(context: CodemodContext, module: str, name: str) -> bool:
    """Return whether a name can be imported, or is, and has no other meaning in the file."""
    known = known_name(context.tree.module, module, name)
    local = (known or name or module).partition(".")[0]
    uses = [
        each
        for each in nodes_in(context.tree.module, cst.Name)
        if each.value == local and not isinstance(context.tree.parent(each), cst.ImportFrom)
    ]
    return not uses if known is None else sum(is_binding(context.tree, each) for each in uses) == 1


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
        indent = context.tree.module.default_indent
        moved = [cast(cst.BaseStatement, each.visit(_Continued(indent))) for each in inner]
        whole = head.with_changes(body=cst.IndentedBlock(moved), leading_lines=opening.leading_lines)
        if not with_block.keeps_first and opening.trailing_whitespace.comment is not None:
            whole = whole.with_changes(body=whole.body.with_changes(header=opening.trailing_whitespace))
        return node.with_changes(body=[*body[: with_block.first], whole, *body[with_block.last + 1 :]])

    context.new.replace(block, step)


class _Continued(cst.CSTTransformer):
    """Indents lines that are continued with a backslash, as the statements that they belong to."""

    def __init__(self, indent: str) -> None:
        super().__init__()
        self._indent = indent

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        return False

    def leave_SimpleWhitespace(
        self, original_node: cst.SimpleWhitespace, updated_node: cst.SimpleWhitespace
    ) -> cst.SimpleWhitespace:
        value = _CONTINUED.sub(rf"\g<0>{self._indent}", updated_node.value)
        return updated_node.with_changes(value=value)


_CONTINUED = re.compile(r"\\(\r\n|\r|\n)")


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
