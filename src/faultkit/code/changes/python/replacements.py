"""Codemods that replace one expression: blocking calls, mutable defaults, wall clocks, lists of all lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import libcst as cst

from faultkit.code.changes.python.codemod import CodemodContext, parenthesised, python_codemod, with_first
from faultkit.code.changes.python.rewriting import NodeChange
from faultkit.code.changes.python.tree import nodes_in, variables_in
from faultkit.code.facts import Call
from faultkit.code.facts.facts import is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.review.engine import findings_of

# Calls that block an event loop: an async variant is awaited if there is one, else a thread runs the call.


_Move: TypeAlias = Callable[[cst.Call, cst.BaseExpression], cst.Call]
_SLUGS = ("blocking-call-in-async-code",)
_NOT_IN_THREADS = ("sqlite3.connect", "open", "io.open")
"""Calls whose result belongs to the thread that made it, or that do their work later, on the result."""


def _collect_blocking_calls(context: CodemodContext) -> None:
    all_findings = findings_of(context.source.text, context.source.language)
    others = [each for each in all_findings if each.rule.slug not in _SLUGS]
    for finding, call, node in context.calls():
        function = context.tree.function(node)
        if function is None or function.asynchronous is None or context.new.has(node):
            continue
        if _is_head(context, node) or call.name in _NOT_IN_THREADS or "connect()" in call.name:
            continue
        loop = context.new.need("asyncio")
        change: _Move
        if call.name == "time.sleep":
            change, name = _awaitable, f"{loop}.sleep"
        else:
            is_open = any(each.span == finding.span for each in others)
            if is_open and any(nodes_in(node, cst.NamedExpr)):
                # A name that is bound inside a lambda is unknown outside of it.
                continue
            change, name = _in_lambda if is_open else _in_thread, f"{loop}.to_thread"
        context.new.replace(node, _awaited(context, node, change, context.new.expression(name)))


def _awaitable(call: cst.Call, function: cst.BaseExpression) -> cst.Call:
    return call.with_changes(func=function)


def _in_thread(call: cst.Call, to_thread: cst.BaseExpression) -> cst.Call:
    return with_first(call, to_thread, call.func)


def _in_lambda(call: cst.Call, to_thread: cst.BaseExpression) -> cst.Call:
    """Return the call written out in a lambda, so that other rules still find problems in it."""
    body = call.with_changes(lpar=(), rpar=())
    space = cst.MaybeSentinel.DEFAULT
    return cst.Call(to_thread, [cst.Arg(cst.Lambda(cst.Parameters(), body, whitespace_after_lambda=space))])


def _is_head(context: CodemodContext, node: cst.Call) -> bool:
    """Return whether the call heads a `with` such as `with urlopen(u) as f:`, whose block also waits."""
    return isinstance(context.tree.parent(node), cst.WithItem)


def _awaited(
    context: CodemodContext,
    node: cst.Call,
    change: _Move,
    function: cst.BaseExpression,
) -> NodeChange:
    def step(each: cst.CSTNode) -> cst.CSTNode:
        call = cst.ensure_type(each, cst.Call)
        waits = cst.Await(
            change(call, function).with_changes(lpar=(), rpar=()), lpar=call.lpar, rpar=call.rpar
        )
        above = context.tree.parent(node)
        tight = isinstance(above, (cst.Attribute, cst.Subscript, cst.Call, cst.Await, cst.BinaryOperation))
        return parenthesised(waits) if tight else waits

    return step


BLOCKING_CALLS = python_codemod(
    "blocking-calls",
    _SLUGS,
    "let the event loop go on while a call waits",
    _collect_blocking_calls,
    stage=1,
)


# Mutable defaults.


_ON_PURPOSE = re.compile(r"^_|cache|memo|state|registry|seen", re.IGNORECASE)


def _collect_mutable_default(context: CodemodContext) -> None:
    wanted = {each.span for each in context.findings}
    for function in nodes_in(context.tree.module, cst.FunctionDef):
        if not isinstance(function.body, cst.IndentedBlock):
            continue
        found = [
            param
            for param in nodes_in(function.params, cst.Param)
            if param.default is not None
            and context.tree.span(param.default) in wanted
            and _is_mistake(context, param.name.value, param.default)
        ]
        if not found:
            continue
        lines = ""
        for param in found:
            name, value = param.name.value, context.tree.code(param.default)  # type: ignore[arg-type]
            lines += f"if {name} is None:\n    {name} = {value}\n"
            context.new.replace(param, lambda each: _without_value(context, cst.ensure_type(each, cst.Param)))
        _at_start(context, function.body, function.get_docstring() is not None, lines)


def _is_mistake(context: CodemodContext, name: str, default: cst.BaseExpression) -> bool:
    """Return whether a mutable default is a mistake: some keep values on purpose, some are built only
    once."""
    makers = {"list", "dict", "set"}
    return not _ON_PURPOSE.search(name) and all(
        each.value in makers for each in variables_in(context.tree, default)
    )


def _without_value(context: CodemodContext, param: cst.Param) -> cst.Param:
    annotation = param.annotation
    if annotation is not None and "None" not in context.tree.code(annotation.annotation):
        text = context.tree.code(annotation.annotation)
        if "Optional" not in text and not isinstance(annotation.annotation, cst.SimpleString):
            annotation = annotation.with_changes(annotation=context.new.expression(f"{text} | None"))
    return param.with_changes(default=cst.Name("None"), annotation=annotation)


def _at_start(context: CodemodContext, body: cst.IndentedBlock, has_docstring: bool, lines: str) -> None:
    first = body.body[0]
    assert isinstance(first, cst.BaseStatement)
    if has_docstring:
        context.new.after(first, lines)
    else:
        context.new.before(first, lines, below_comments=False)


MUTABLE_DEFAULT = python_codemod(
    "mutable-default",
    ("mutable-default-argument",),
    "make a default value anew for every call",
    _collect_mutable_default,
)


# Durations by `time.monotonic`. A clock is replaced only where its time is used for nothing but differences:
# a time that is also stored or shown must stay a date.


def _collect_monotonic(context: CodemodContext) -> None:
    clocks = context.facts.calls_named("time.time")
    differences = [each.span for each in context.findings]
    for finding in context.findings:
        node = context.tree.at(finding.span, cst.BinaryOperation)
        if node is None:
            continue
        scope: cst.CSTNode = context.tree.function(node) or context.tree.module
        sides = [_clocks_of(context, side, clocks, scope) for side in (node.left, node.right)]
        names = {each.value for each in (node.left, node.right) if isinstance(each, cst.Name)}
        if not all(sides) or not all(
            _is_for_differences(context, scope, name, differences) for name in names
        ):
            continue
        for call in {each for side in sides for each in side}:
            function = call.func
            if not context.new.has(function):
                context.new.swap(function, context.new.expression(context.new.member("time", "monotonic")))


def _clocks_of(
    context: CodemodContext, side: cst.BaseExpression, clocks: tuple[Call, ...], scope: cst.CSTNode
) -> list[cst.Call]:
    """Return clock calls that a side is, or that its name holds; none if the name has other values, too."""
    nodes = {node: call for call in clocks if (node := context.node(call)) is not None}
    if isinstance(side, cst.Call):
        return [side] if side in nodes else []
    if not isinstance(side, cst.Name):
        return []
    values = [
        assign.value
        for assign in nodes_in(scope, cst.Assign)
        for target in assign.targets
        if isinstance(target.target, cst.Name) and target.target.value == side.value
    ]
    found = [each for each in values if isinstance(each, cst.Call) and each in nodes]
    return found if len(found) == len(values) else []


def _is_for_differences(
    context: CodemodContext, scope: cst.CSTNode, name: str, differences: list[Span]
) -> bool:
    """Return whether nothing else reads or sets it."""
    return all(
        isinstance(context.tree.parent(each), cst.AssignTarget)
        or any(is_within(context.tree.span(each), span) for span in differences)
        for each in variables_in(context.tree, scope)
        if each.value == name
    )


MONOTONIC = python_codemod(
    "monotonic",
    ("wall-clock-for-durations",),
    "measure durations with a clock that is never set",
    _collect_monotonic,
)


# Files that are read line by line, without a list of all lines first.


def _collect_line_by_line(context: CodemodContext) -> None:
    for _, call, node in context.calls():
        above = context.tree.parent(node)
        if call.method != "readlines" or node.args or not isinstance(node.func, cst.Attribute):
            continue
        # A list with a name may be iterated twice.
        if isinstance(above, (cst.For, cst.CompFor)) and above.iter is node:
            context.new.swap(node, node.func.value)


LINE_BY_LINE = python_codemod(
    "line-by-line",
    ("whole-file-loaded",),
    "read a file line by line, and not all of it at once",
    _collect_line_by_line,
)
