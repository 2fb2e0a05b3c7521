"""Codemods for retries: adds them to calls that may be repeated, and bounds those of tenacity.

A retry has growing waits, a number of tries and a time limit for all of them. Only the call is repeated, in a
function of its own: the code around it may not be repeatable.
"""

from __future__ import annotations

import re

import libcst as cst

from faultkit.code.changes.python.codemod import CodemodContext, python_codemod, with_first, with_keyword
from faultkit.code.changes.python.rewriting import NodeChange
from faultkit.code.changes.python.tree import free_name, nodes_in
from faultkit.code.changes.questions import always, callers_in_async, is_stream, sends
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.vocabulary.http_requests import library_of

TRIES, TOTAL_S = 3, 5.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 1.0
_METHODS = ("get", "head", "options")
_ERRORS = {
    "httpx": ("NetworkError", "RemoteProtocolError"),
    "requests": ("ConnectionError",),
}
"""Errors of broken connections. A call that took too long is not repeated: its caller has waited enough."""
_POLLS = re.compile(r"poll|retr|backoff|until|repeat|attempt|every", re.IGNORECASE)
_TYPES = ("httpx.Client", "httpx.AsyncClient", "requests.Session")
_TENACITY = (
    "retry", "retry_if_exception_type", "stop_after_attempt", "stop_after_delay", "wait_random_exponential",
)  # fmt: skip


def _collect_retry(context: CodemodContext) -> None:
    if context.tree.is_indented:
        return
    functions: dict[str, str] = {}
    for _, call, node in context.calls():
        library = library_of(call)
        if library is None or library.name not in _ERRORS or call.method not in _METHODS:
            continue
        if not isinstance(node.func, cst.Attribute) or not _fits(node) or not _can_be_moved(context, call):
            continue
        if sends(call, context.facts) or is_stream(call, context.facts) or _is_polled(call, context.facts):
            continue
        owner = context.tree.code(node.func.value)
        is_shared = _is_shared(context, node.func.value)
        if not is_shared and call.receiver not in _TYPES:
            continue
        text = _function(context, call, library.name, owner if is_shared else "")
        if text not in functions:
            functions[text] = _add_function(context, text, call, node, functions)
        function = cst.Name(functions[text])
        if is_shared:
            context.new.swap(node.func, function)
        else:
            context.new.replace(node, _given(function, node.func.value))


def _given(function: cst.Name, client: cst.BaseExpression) -> NodeChange:
    return lambda node: with_first(cst.ensure_type(node, cst.Call), function, client)


def _can_be_moved(context: CodemodContext, call: Call) -> bool:
    """Return whether it is in a function and does not block an event loop, which would be hidden
    afterwards."""
    scope = context.facts.function_of(call)
    if scope is None or (scope.is_async and not call.is_awaited):
        return False
    return not any(callers_in_async(call, context.facts))


def _is_polled(call: Call, facts: Facts) -> bool:
    """Return whether something around a call, or its function's user, calls it again and again."""
    if any(_POLLS.search(each.written) for each in facts.calls_around(call)):
        return True
    scope = facts.named_function_of(call)
    return scope is not None and any(
        _POLLS.search(each.written) and any(one.value.text == scope.short_name for one in each.arguments)
        for each in facts.calls
    )


def _fits(node: cst.Call) -> bool:
    """Return whether the arguments have the form `(url, **options)`."""
    places = [each for each in node.args if each.keyword is None]
    return len(places) <= 1 and all(each.star == "" for each in places)


def _is_shared(context: CodemodContext, owner: cst.BaseExpression) -> bool:
    """Return whether it is a module or a client of the whole file, which the new function can name."""
    if not isinstance(owner, cst.Name):
        return False
    names = context.facts.imports.names
    if owner.value in names or owner.value in ("httpx", "requests"):
        return True
    tops = {
        name
        for each in context.facts.assignments
        if each.scope is None and not each.owner
        for name in each.targets
    }
    return owner.value in tops


def _function(context: CodemodContext, call: Call, library: str, owner: str) -> str:
    """Return the new function without its name; with the standard library alone if the project declares its
    dependencies, and tenacity is not among them."""
    word, wait = ("async def", "await ") if call.is_awaited else ("def", "")
    client = "" if owner else f"client: {context.new.member(library, call.receiver.partition('.')[2])}, "
    errors = [context.new.member(library, each) for each in _ERRORS[library]]
    caught = errors[0] if len(errors) == 1 else f"({', '.join(errors)})"
    head = f"{word} {{name}}({client}url, **options):\n"
    result = f"return {wait}{owner or 'client'}.{call.method}(url, **options)\n"
    if context.project.lacks("tenacity") and not context.facts.imports_any("tenacity"):
        sleep = f"{wait}{context.new.need('asyncio' if call.is_awaited else 'time')}.sleep"
        return (
            f"{head}"
            f"    for attempt in range({TRIES - 1}):\n"
            f"        try:\n"
            f"            {result}"
            f"        except {caught}:\n"
            f"            {sleep}({context.new.need('random')}.uniform(0, {FIRST_WAIT_S} * 2**attempt))\n"
            f"    {result}"
        )
    context.dependencies.append("tenacity")
    named = {each: context.new.member("tenacity", each) for each in _TENACITY}
    return (
        f"@{named['retry']}(\n"
        f"    retry={named['retry_if_exception_type']}({caught}),\n"
        f"    stop={named['stop_after_attempt']}({TRIES}) | {named['stop_after_delay']}({TOTAL_S}),\n"
        f"    wait={named['wait_random_exponential']}(multiplier={FIRST_WAIT_S}, max={LONGEST_WAIT_S}),\n"
        f"    reraise=True,\n"
        f")\n"
        f"{head}"
        f"    {result}"
    )


def _add_function(
    context: CodemodContext, text: str, call: Call, node: cst.Call, functions: dict[str, str]
) -> str:
    """Return the name of the function; an equal one that an earlier change added is reused."""
    wanted = f"_{call.method}_with_retry"
    for function in nodes_in(context.tree.module, cst.FunctionDef):
        name = function.name.value
        # Word by word: line ends and indents are those of the file.
        if name.startswith(wanted) and context.tree.code(function).split() == text.format(name=name).split():
            return name
    number = 1 + sum(each.startswith(wanted) for each in functions.values())
    name = free_name(context.tree, wanted if number == 1 else f"{wanted}_{number}")
    top = context.tree.top(node)
    assert top is not None
    context.new.above(top, text.format(name=name))
    return name


RETRY = python_codemod(
    "retry",
    ("no-retry-on-idempotent-call",),
    "repeat calls that may be repeated when the connection fails, with growing waits and a limit",
    _collect_retry,
    asks=always(
        f"May each call reach its server up to {TRIES} times, and does nothing else repeat it already?"
    ),
)


# Limits and growing waits for tenacity's decorator where it has none.


_WANTED = {
    "retry-without-limit": ("stop", "stop_after_attempt", f"({TRIES})"),
    "retry-without-backoff": (
        "wait",
        "wait_random_exponential",
        f"(multiplier={FIRST_WAIT_S}, max={LONGEST_WAIT_S})",
    ),
}


def _collect_retry_bounds(context: CodemodContext) -> None:
    for node in nodes_in(context.tree.module, cst.Decorator):
        span = context.tree.span(node)
        found = [
            each for each in context.findings if span.start <= each.span.start and each.span.end <= span.end
        ]
        if not found or not _is_tenacity(context, found[0].span.start, found[0].span.end):
            continue
        wanted = [_WANTED[each.rule.slug] for each in found]
        texts = {keyword: context.new.member("tenacity", name) + rest for keyword, name, rest in wanted}
        context.new.swap(node.decorator, _bounded(context, node.decorator, texts))
        context.dependencies.append("tenacity")


def _is_tenacity(context: CodemodContext, start: int, end: int) -> bool:
    return any(
        each.name.startswith("tenacity.") and each.span.start <= start and end <= each.span.end + 1
        for scope in context.facts.scopes
        for each in scope.decorators
    )


def _bounded(context: CodemodContext, decorator: cst.BaseExpression, texts: dict[str, str]) -> cst.Call:
    call = decorator if isinstance(decorator, cst.Call) else cst.Call(decorator)
    for keyword, text in texts.items():
        call = with_keyword(call, keyword, context.new.expression(text))
    return call


RETRY_BOUNDS = python_codemod(
    "retry-bounds",
    ("retry-without-limit", "retry-without-backoff"),
    "give retries a limit and growing waits",
    _collect_retry_bounds,
    asks=always(f"May it wait between tries, and fail after {TRIES} of them?"),
)
