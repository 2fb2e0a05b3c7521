"""Codemods that replace one expression: blocking calls, mutable defaults, wall clocks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import libcst as cst

from faultkit.code.changes.change import Source
from faultkit.code.changes.python.codemod import CodemodContext, parenthesised, python_codemod, with_first
from faultkit.code.changes.python.rewriting import NodeChange, known_name
from faultkit.code.changes.python.tree import nodes_in, variables_in
from faultkit.code.changes.questions import faked_question
from faultkit.code.facts import Call, Facts
from faultkit.code.facts.facts import is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import Finding

# Calls that block an event loop: an async variant is awaited if there is one, else a thread runs the call.


_Move: TypeAlias = Callable[[cst.Call, cst.BaseExpression], cst.Call]
_SLUGS = ("blocking-call-in-async-code",)
_NOT_IN_THREADS = ("sqlite3.connect", "open", "io.open")
"""Calls whose result belongs to the thread that made it, or that do their work later, on the result."""


def _collect_blocking_calls(context: CodemodContext) -> None:
    # Also those of rules that are off: their changes may be asked for afterwards.
    all_findings = findings_of(context.source.text, context.source.language, rules=RULES)
    others = [each for each in all_findings if each.rule.slug not in _SLUGS]
    for finding, call, node in context.calls():
        function = context.tree.function(node)
        if function is None or function.asynchronous is None or context.new.has(node):
            continue
        if _is_head(context, node) or call.name in _NOT_IN_THREADS or "connect()" in call.name:
            continue
        if call.name != "time.sleep" and not context.project.supports_python(3, 9):
            # asyncio.to_thread is new in Python 3.9.
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


def _blocking_question(source: Source, finding: Finding) -> str:
    call = source.call_at(finding)
    held = () if call is None else source.facts.managed_around(call)
    if any(_LOCK.search(each.written) for each in held):
        return "A lock is held during the call: may other tasks, which may want it, run meanwhile?"
    if _has_other_loops(source):
        return "Does asyncio alone run this code? Calls of asyncio fail in an event loop of Trio or Curio."
    if call is not None and _is_of_this_text(call, source.facts):
        return f"May {call.written} run in another thread: is what it uses safe there, and no event loop?"
    return "" if call is None else faked_question(source.project, call.name)


def _has_other_loops(source: Source) -> bool:
    """Return whether another event loop than that of asyncio may run the code."""
    if source.facts.imports_any(*_OTHER_LOOPS):
        return True
    declared = source.project.declared or frozenset()
    return bool(declared & {*_OTHER_LOOPS}) and not source.facts.imports_any("asyncio")


_OTHER_LOOPS = ("trio", "anyio", "curio")


def _is_of_this_text(call: Call, facts: Facts) -> bool:
    """Return whether the text defines the function: it may change what other tasks use, without a lock."""
    return any(call in facts.callers_of(scope) for scope in facts.scopes if scope.short_name == call.method)


_LOCK = re.compile(r"lock|mutex|semaphore|condition", re.IGNORECASE)

BLOCKING_CALLS = python_codemod(
    "blocking-calls",
    _SLUGS,
    "let the event loop go on while a call waits",
    _collect_blocking_calls,
    asks=_blocking_question,
    stage=1,
)


# Mutable defaults.


_MAY_BE_NONE = re.compile(r"\bOptional\[|\bNone\b")
_ON_PURPOSE = re.compile(r"^_|cache|memo|state|registry|seen", re.IGNORECASE)


def _collect_mutable_default(context: CodemodContext) -> None:
    wanted = {each.span for each in context.findings}
    optional = _none_of(context)
    for function in nodes_in(context.tree.module, cst.FunctionDef):
        if not isinstance(function.body, cst.IndentedBlock):
            continue
        found = [
            param
            for param in nodes_in(function.params, cst.Param)
            if param.default is not None
            and context.tree.span(param.default) in wanted
            and _is_mistake(context, param.name.value, param.default)
            and not _handles_none(context, param, function.body)
            and (optional or param.annotation is None)
        ]
        if not found:
            continue
        lines = ""
        for param in found:
            name, value = param.name.value, context.tree.code(param.default)  # type: ignore[arg-type]
            lines += f"if {name} is None:\n    {name} = {value}\n"
            context.new.replace(
                param, lambda each: _without_value(context, cst.ensure_type(each, cst.Param), optional)
            )
        _at_start(context, function.body, function.get_docstring() is not None, lines)


def _is_mistake(context: CodemodContext, name: str, default: cst.BaseExpression) -> bool:
    """Return whether a mutable default is a mistake: some keep values on purpose, some are built only
    once."""
    makers = {"list", "dict", "set"}
    return not _ON_PURPOSE.search(name) and all(
        each.value in makers for each in variables_in(context.tree, default)
    )


def _handles_none(context: CodemodContext, param: cst.Param, body: cst.CSTNode) -> bool:
    """Return whether None has a meaning of its own there already: the annotation allows it, or it is compared
    with."""
    if param.annotation is not None and _MAY_BE_NONE.search(context.tree.code(param.annotation.annotation)):
        return True
    return any(
        isinstance(each.left, cst.Name)
        and each.left.value == param.name.value
        and any(
            isinstance(target.comparator, cst.Name) and target.comparator.value == "None"
            for target in each.comparisons
        )
        for each in nodes_in(body, cst.Comparison)
    )


def _none_of(context: CodemodContext) -> str:
    """Return the form of `x or None` in annotations; empty if the project has none that is sure to work."""
    is_late = known_name(context.tree.module, "__future__", "annotations") is not None
    if is_late or context.project.supports_python(3, 10):
        return "{} | None"
    known = known_name(context.tree.module, "typing", "Optional")
    return "" if known is None else f"{known}[{{}}]"


def _without_value(context: CodemodContext, param: cst.Param, optional: str) -> cst.Param:
    annotation = param.annotation
    if annotation is not None:
        text = context.tree.code(annotation.annotation)
        if not text.startswith("Any") and not isinstance(annotation.annotation, cst.SimpleString):
            annotation = annotation.with_changes(annotation=context.new.expression(optional.format(text)))
    return param.with_changes(default=cst.Name("None"), annotation=annotation)


def _at_start(context: CodemodContext, body: cst.IndentedBlock, has_docstring: bool, lines: str) -> None:
    first = body.body[0]
    assert isinstance(first, cst.BaseStatement)
    if has_docstring:
        context.new.after(first, lines)
    else:
        context.new.before(first, lines, below_comments=False)


def _default_question(source: Source, finding: Finding) -> str:
    """Ask if a decorator, such as that of a route or a command, may read the defaults of the function."""
    place = Span(finding.span.start + source.shift, finding.span.end + source.shift)
    for scope in source.facts.scopes:
        is_default = is_within(place, scope.span) and not is_within(place, scope.body)
        if is_default and any(each.method not in _HARMLESS for each in scope.decorators):
            return "Does no decorator of the function read its defaults, and may callers see None there?"
    return ""


_HARMLESS = frozenset(
    ("staticmethod", "classmethod", "property", "contextmanager", "asynccontextmanager", "wraps", "override")
)

MUTABLE_DEFAULT = python_codemod(
    "mutable-default",
    ("mutable-default-argument",),
    "make a default value anew for every call",
    _collect_mutable_default,
    asks=_default_question,
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


def _clock_question(source: Source, finding: Finding) -> str:
    return faked_question(source.project, "time.time")


MONOTONIC = python_codemod(
    "monotonic",
    ("wall-clock-for-durations",),
    "measure durations with a clock that is never set",
    _collect_monotonic,
    asks=_clock_question,
)
