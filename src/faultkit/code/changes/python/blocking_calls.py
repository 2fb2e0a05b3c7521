"""Codemod for calls that block an event loop: an async variant is awaited if there is one, else a thread runs
the call.

Other tasks run while the call waits, which they did not before. That is safe only in a function that shares
nothing with them: it reads its parameters and constants, and uses what the call gives. So is each async
function of the text that awaits it.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeAlias

import libcst as cst

from faultkit.code.changes.change import Source
from faultkit.code.changes.python.codemod import (
    CodemodContext,
    context_of,
    parenthesised,
    python_codemod,
    with_first,
)
from faultkit.code.changes.python.names import PURE, SEES_LOCALS, bound_names, constants
from faultkit.code.changes.python.rewriting import STANDARD, NodeChange
from faultkit.code.changes.python.tree import nodes_in, variables_in
from faultkit.code.changes.questions import faked_question
from faultkit.code.facts import Call, Facts
from faultkit.code.languages import Language
from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import Finding

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
        if _is_in_generator(context, node, function):
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
            if is_open and not _fits_in_lambda(context, node):
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


def _fits_in_lambda(context: CodemodContext, call: cst.Call) -> bool:
    """Return whether a call means the same in a lambda: it binds no name, waits for nothing, and asks
    nothing about the function that it is in."""
    if any(nodes_in(call, cst.NamedExpr)) or any(nodes_in(call, cst.Await)) or any(nodes_in(call, cst.Yield)):
        return False
    if any(each.value in _OF_FRAME for each in variables_in(context.tree, call)):
        return False
    wanted = {each.span for each in context.findings}
    return not any(
        each is not call and context.tree.span(each) in wanted for each in nodes_in(call, cst.Call)
    )


_OF_FRAME = SEES_LOCALS | {"super"}


def _is_in_generator(context: CodemodContext, node: cst.Call, function: cst.FunctionDef) -> bool:
    """Return whether `await` would make an async generator of the expression around it, or, before Python
    3.11, cannot stand there: in a comprehension inside another one."""
    comprehensions: list[cst.CSTNode] = []
    for each in context.tree.around(node):
        if each is function:
            break
        if isinstance(each, cst.BaseComp):
            comprehensions.append(each)
    return len(comprehensions) > 1 or any(isinstance(each, cst.GeneratorExp) for each in comprehensions)


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
        return (
            "Does an event loop of asyncio run this code? Calls of asyncio fail in one of Trio or Curio, and "
            "without one."
        )
    if call is None:
        return ""
    if _is_of_this_text(call, source.facts):
        return f"May {call.written} run in another thread: is what it uses safe there, and no event loop?"
    if call.name == "time.sleep" and not _is_number(call, source.text):
        return "Is the time to wait never below 0? time.sleep raises an error then, asyncio.sleep does not."
    if not _is_alone(source, finding):
        return _OTHER_TASKS
    return faked_question(source.project, call.name)


_NUMBER = re.compile(r"[\d.]+$")


def _is_number(call: Call, text: str) -> bool:
    """Return whether a call has one argument, which is a number or the name of one."""
    given = [each.value.text for each in call.arguments]
    return len(given) == 1 and (_NUMBER.match(given[0]) is not None or given[0] in constants(text))


_OTHER_TASKS = (
    "Other tasks run during the call, which they did not: does what the function and its callers use, before "
    "and after it, allow that?"
)


def _has_other_loops(source: Source) -> bool:
    """Return whether another event loop than that of asyncio, or none, may run the code."""
    if source.facts.imports_any(*_OTHER_LOOPS) or _drives_coroutines(source.facts):
        return True
    declared = source.project.declared or frozenset()
    return bool(declared & {*_OTHER_LOOPS}) and not source.facts.imports_any("asyncio")


_OTHER_LOOPS = ("trio", "anyio", "curio")


def _drives_coroutines(facts: Facts) -> bool:
    """Return whether the text runs coroutines itself: `coroutine.send(None)`."""
    return any(
        [each.value.text for each in call.arguments] == ["None"] for call in facts.calls_of_method("send")
    )


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


# The proof that a function shares nothing with other tasks. All that it does must be listed here.


_BUILT_IN = PURE | {"True", "False", "None", *(each for each in dir(builtins) if each.endswith("Error"))}
_NOT_ALONE = (
    cst.AugAssign, cst.ClassDef, cst.Del, cst.For, cst.FunctionDef, cst.Global, cst.Import, cst.ImportFrom,
    cst.Lambda, cst.NamedExpr, cst.Nonlocal, cst.While, cst.With, cst.Yield, cst.BaseComp, cst.Match,
)  # fmt: skip
_HARMLESS = frozenset(
    (
        "api_route", "classmethod", "delete", "get", "head", "on_event", "options", "override", "patch",
        "post", "put", "route", "staticmethod", "websocket",
    )
)  # fmt: skip
"""Names of decorators that do nothing around a call: those of routes and methods."""
_LEVELS = 3


def _is_alone(source: Source, finding: Finding) -> bool:
    """Return whether nothing that the function of a call uses, or its async callers, can change meanwhile."""
    context = context_of(source, (finding,))
    call = source.call_at(finding)
    if context is None or call is None:
        return False
    return all(
        function is not None
        and _is_only_called(context, function)
        and _shares_nothing(context, function, waits)
        for function, waits in _waiting(context, call)
    )


def _is_only_called(context: CodemodContext, function: cst.FunctionDef) -> bool:
    """Return whether the text uses a function in no way but to call it: its callers are all seen."""
    for name in nodes_in(context.tree.module, cst.Name):
        above = context.tree.parent(name)
        if name.value != function.name.value or isinstance(above, cst.FunctionDef):
            continue
        used = above if isinstance(above, cst.Attribute) and above.attr is name else name
        call = context.tree.parent(used)
        if not isinstance(call, cst.Call) or call.func is not used:
            return False
    return True


def _waiting(
    context: CodemodContext, call: Call, levels: int = _LEVELS
) -> Iterator[tuple[cst.FunctionDef | None, set[cst.Call]]]:
    """Yield the function of a call, and async functions of the text that call it, with what they wait for."""
    node = context.node(call)
    function = None if node is None else context.tree.function(node)
    if node is None or function is None:
        yield None, set()
        return
    yield function, {node, *_blocking_in(context, function)}
    scope = context.facts.named_function_of(call)
    if scope is None:
        return
    for caller in context.facts.callers_of(scope):
        if not context.facts.is_in_async(caller):
            continue
        if levels == 0:
            yield None, set()
        elif context.facts.named_function_of(caller) is not scope:
            yield from _waiting(context, caller, levels - 1)


def _blocking_in(context: CodemodContext, function: cst.FunctionDef) -> Iterator[cst.Call]:
    """Yield the calls of libraries in a function that block, for which the same question is asked."""
    for finding in _blocking(context.source.text, context.source.language):
        node, call = context.tree.at(finding.span, cst.Call), context.source.call_at(finding)
        if node is None or call is None or _is_of_this_text(call, context.facts):
            continue
        if context.tree.function(node) is function:
            yield node


@lru_cache(maxsize=2)
def _blocking(text: str, language: Language) -> tuple[Finding, ...]:
    return findings_of(text, language, rules=[each for each in RULES if each.slug in _SLUGS])


def _shares_nothing(context: CodemodContext, function: cst.FunctionDef, waits: set[cst.Call]) -> bool:
    if any(not _HARMLESS & {each.value for each in nodes_in(one, cst.Name)} for one in function.decorators):
        return False
    fresh = _fresh_names(function, waits)
    known = fresh | {each.name.value for each in nodes_in(function.params, cst.Param)}
    known |= {each.func.value for each in waits if isinstance(each.func, cst.Name)}
    for node in nodes_in(function.body, cst.CSTNode):  # type: ignore[type-abstract]
        if isinstance(node, _NOT_ALONE) or (isinstance(node, cst.Await) and node.expression not in waits):
            return False
        if isinstance(node, (cst.AssignTarget, cst.AsName)):
            name = node.target if isinstance(node, cst.AssignTarget) else node.name
            if not isinstance(name, cst.Name):
                return False
            known.add(name.value)
        if isinstance(node, (cst.Attribute, cst.Subscript)) and not _is_own(context, node, fresh, waits):
            return False
        if isinstance(node, cst.Call) and not _is_harmless(context, node, fresh, waits):
            return False
    return all(
        each.value in known or _is_constant(context, each.value)
        for each in variables_in(context.tree, function.body)
    )


def _fresh_names(function: cst.FunctionDef, waits: set[cst.Call]) -> set[str]:
    """Return names that only hold what a call gave: no other task has it."""
    given: dict[str, bool] = {each.name.value: False for each in nodes_in(function.params, cst.Param)}
    for assign in nodes_in(function.body, cst.Assign):
        value = assign.value.expression if isinstance(assign.value, cst.Await) else assign.value
        for target in assign.targets:
            if isinstance(target.target, cst.Name):
                name = target.target.value
                given[name] = given.get(name, True) and value in waits
    return {name for name, is_fresh in given.items() if is_fresh}


def _root(node: cst.BaseExpression, waits: set[cst.Call]) -> cst.BaseExpression:
    """Return what a chain of attributes, items and calls begins with, at the latest the call that waits."""
    while node not in waits:
        if isinstance(node, cst.Await):
            node = node.expression
        elif isinstance(node, cst.Call):
            node = node.func
        elif isinstance(node, (cst.Attribute, cst.Subscript)):
            node = node.value
        else:
            break
    return node


def _is_own(
    context: CodemodContext,
    node: cst.Attribute | cst.Subscript,
    fresh: set[str],
    waits: set[cst.Call],
) -> bool:
    """Return whether a part belongs to what a call gave, to a text, or to a module of the standard library;
    or is the function that is called."""
    root = _root(node, waits)
    if root in waits or isinstance(root, (cst.SimpleString, cst.FormattedString)):
        return True
    if not isinstance(root, cst.Name):
        return False
    if root.value in fresh:
        return True
    origins = bound_names(context.code).get(root.value, frozenset())
    if not origins or "" in origins or isinstance(node, cst.Subscript):
        return False
    is_called = any(_is_part(node, each.func) for each in waits)
    return is_called or all(each.partition(".")[0] in STANDARD for each in origins)


def _is_part(node: cst.CSTNode, whole: cst.CSTNode) -> bool:
    return any(each is node for each in nodes_in(whole, cst.Attribute))


def _is_harmless(context: CodemodContext, call: cst.Call, fresh: set[str], waits: set[cst.Call]) -> bool:
    """Return whether a call is the one that waits, calculates like `len`, or is of what such a call gave."""
    if call in waits:
        return isinstance(call.func, cst.Name) or isinstance(_root(call.func, waits), cst.Name)
    if isinstance(call.func, cst.Name):
        return call.func.value in _BUILT_IN and call.func.value not in bound_names(context.code)
    root = _root(call.func, waits)
    is_text = isinstance(root, (cst.SimpleString, cst.FormattedString))
    return root in waits or is_text or (isinstance(root, cst.Name) and root.value in fresh)


def _is_constant(context: CodemodContext, name: str) -> bool:
    """Return whether a name always means the same: an import, a built-in, or one text or number."""
    origins = bound_names(context.code).get(name)
    if origins is None:
        return name in _BUILT_IN
    return "" not in origins or name in constants(context.code)
