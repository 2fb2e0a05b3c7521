"""Calls that stop an event loop: awaited, where there is such a thing, or made in a thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import libcst as cst

from faultkit.code.changes.python.calls import parenthesised, with_first
from faultkit.code.changes.python.codemod import Work, python_codemod
from faultkit.code.changes.python.rewriting import Step
from faultkit.code.changes.python.tree import nodes_in
from faultkit.code.rules.engine import findings_of

_Move: TypeAlias = Callable[[cst.Call, cst.BaseExpression], cst.Call]
_SLUGS = ("blocking-call-in-async-code",)
_NOT_IN_THREADS = ("sqlite3.connect", "open", "io.open")
"""What they give belongs to the thread that made it, or the work is done later, on what they give."""


def _collect(work: Work) -> None:
    all_findings = findings_of(work.source.text, work.source.language)
    others = [each for each in all_findings if each.rule.slug not in _SLUGS]
    for finding, call, node in work.calls():
        function = work.tree.function(node)
        if function is None or function.asynchronous is None or work.new.has(node):
            continue
        if _is_head(work, node) or call.name in _NOT_IN_THREADS or "connect()" in call.name:
            continue
        loop = work.new.need("asyncio")
        change: _Move
        if call.name == "time.sleep":
            change, name = _awaitable, f"{loop}.sleep"
        else:
            is_open = any(each.span == finding.span for each in others)
            if is_open and any(nodes_in(node, cst.NamedExpr)):
                # A lambda would keep the name to itself.
                continue
            change, name = _in_lambda if is_open else _in_thread, f"{loop}.to_thread"
        work.new.replace(node, _awaited(work, node, change, work.new.expression(name)))


def _awaitable(call: cst.Call, function: cst.BaseExpression) -> cst.Call:
    return call.with_changes(func=function)


def _in_thread(call: cst.Call, to_thread: cst.BaseExpression) -> cst.Call:
    return with_first(call, to_thread, call.func)


def _in_lambda(call: cst.Call, to_thread: cst.BaseExpression) -> cst.Call:
    """Written out, so that what else is wrong with the call is still seen."""
    body = call.with_changes(lpar=(), rpar=())
    space = cst.MaybeSentinel.DEFAULT
    return cst.Call(to_thread, [cst.Arg(cst.Lambda(cst.Parameters(), body, whitespace_after_lambda=space))])


def _is_head(work: Work, node: cst.Call) -> bool:
    """`with urlopen(u) as f:`: what is waited for is in the block, too."""
    return isinstance(work.tree.parent(node), cst.WithItem)


def _awaited(
    work: Work,
    node: cst.Call,
    change: _Move,
    function: cst.BaseExpression,
) -> Step:
    def step(each: cst.CSTNode) -> cst.CSTNode:
        call = cst.ensure_type(each, cst.Call)
        waits = cst.Await(
            change(call, function).with_changes(lpar=(), rpar=()), lpar=call.lpar, rpar=call.rpar
        )
        above = work.tree.parent(node)
        tight = isinstance(above, (cst.Attribute, cst.Subscript, cst.Call, cst.Await, cst.BinaryOperation))
        return parenthesised(waits) if tight else waits

    return step


CODEMOD = python_codemod(
    "blocking-calls",
    _SLUGS,
    "let the event loop go on while a call waits",
    _collect,
    stage=1,
)
