"""Timeouts on connections that are made by hand."""

from __future__ import annotations

import libcst as cst

from faultkit.code.changes.python.codemod import Work, python_codemod
from faultkit.code.changes.python.keywords import add_keywords
from faultkit.code.changes.python.rewriting import Step

TIMEOUT_S = 5.0


def _collect(work: Work) -> None:
    add_keywords(work, {"socket.create_connection": ("timeout", str(TIMEOUT_S))})
    for _, call, node in work.calls():
        if call.name == "asyncio.open_connection" and not work.new.has(node):
            wait_for = f"{work.new.need('asyncio')}.wait_for"
            made = cst.ensure_type(work.new.expression(f"{wait_for}(x, timeout={TIMEOUT_S})"), cst.Call)
            first, rest = made.args
            work.new.replace(node, _wrapped(made, first, rest))


def _wrapped(made: cst.Call, first: cst.Arg, rest: cst.Arg) -> Step:
    def step(node: cst.CSTNode) -> cst.CSTNode:
        return made.with_changes(args=[first.with_changes(value=node), rest])

    return step


CODEMOD = python_codemod(
    "socket-timeout", ("socket-without-timeout",), "give connections a timeout", _collect
)
