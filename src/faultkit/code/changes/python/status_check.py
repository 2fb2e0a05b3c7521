"""`raise_for_status()` on answers before they are used."""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from faultkit.code.changes.python.codemod import Work, python_codemod
from faultkit.code.changes.python.names import free_name
from faultkit.code.changes.python.tree import is_unconditional
from faultkit.code.facts import Call
from faultkit.code.rules.vocabulary.http import library_of

_KNOWN = ("requests", "httpx", "aiohttp")

_Moved: TypeAlias = dict[cst.CSTNode, tuple[cst.CSTNode, str]]
"""Calls that were taken out of their statements, and the names that they have there now."""


def _collect(work: Work) -> None:
    moved: _Moved = {}
    for _, call, node in work.calls():
        library = library_of(call)
        if library is None or library.name not in _KNOWN:
            continue
        value, above = _awaited(work, node)
        if isinstance(above, cst.WithItem):
            _in_with(work, above)
        elif library.name == "httpx" and isinstance(above, cst.Attribute) and not call.assigned:
            # httpx gives the answer back, so the check fits into the chain.
            work.new.replace(value, _chained)
        else:
            _on_own_line(work, call, value, above, moved)


def _awaited(work: Work, node: cst.Call) -> tuple[cst.BaseExpression, cst.CSTNode | None]:
    """The call with the `await` before it, and what it stands in."""
    above = work.tree.parent(node)
    if isinstance(above, cst.Await):
        return above, work.tree.parent(above)
    return node, above


def _chained(value: cst.CSTNode) -> cst.CSTNode:
    assert isinstance(value, cst.BaseExpression)
    return cst.Call(cst.Attribute(value, cst.Name("raise_for_status")))


def _in_with(work: Work, item: cst.WithItem) -> None:
    statement = work.tree.parent(item)
    if (
        item.asname is None
        or not isinstance(item.asname.name, cst.Name)
        or not isinstance(statement, cst.With)
    ):
        return
    if isinstance(statement.body, cst.IndentedBlock):
        first = statement.body.body[0]
        assert isinstance(first, cst.BaseStatement)
        work.new.before(first, f"{item.asname.name.value}.raise_for_status()", below_comments=False)


def _on_own_line(
    work: Work,
    call: Call,
    value: cst.BaseExpression,
    above: cst.CSTNode | None,
    moved: _Moved,
) -> None:
    line = work.tree.statement(value)
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or work.tree.block(line) is None:
        return
    if isinstance(above, cst.Assign) and len(call.assigned) == 1 and call.assigned[0].isidentifier():
        work.new.after(line, f"{call.assigned[0]}.raise_for_status()")
    elif (
        isinstance(above, cst.Attribute)
        and not any(each in moved for each in work.tree.around(value))
        and is_unconditional(work.tree, value, line.body[0])
    ):
        name, number = free_name(work.tree, "response", line), 2
        while (line, name) in moved.values():
            name, number = free_name(work.tree, f"response_{number}", line), number + 1
        moved[value] = line, name
        # Built from the old node: a change inside of it would be lost, and there is none in this codemod.
        bare = value.with_changes(lpar=(), rpar=())
        work.new.before(line, f"{name} = {work.tree.code(bare)}\n{name}.raise_for_status()")
        work.new.swap(value, cst.Name(name))


CODEMOD = python_codemod(
    "status-check",
    ("unchecked-response-status",),
    "raise an error for answers with a status of 400 and above",
    _collect,
)
