"""Retries for calls that may be repeated, with growing waits, a number of tries and a time for all of them.

Only the call is repeated, by a function of its own, and not what is around it: that may not be repeatable.
"""

from __future__ import annotations

import libcst as cst

from faultkit.code.changes.python.calls import with_first
from faultkit.code.changes.python.codemod import Work, python_codemod
from faultkit.code.changes.python.http_timeout import TIMEOUT_S
from faultkit.code.changes.python.names import free_name
from faultkit.code.changes.python.rewriting import Step
from faultkit.code.changes.python.tree import nodes_in
from faultkit.code.facts import Call
from faultkit.code.rules.vocabulary.http import library_of

TRIES = 3
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 1.0
_METHODS = ("get", "head", "options")
_ERRORS = {
    "httpx": ("TransportError",),
    "requests": ("ConnectionError", "Timeout"),
}
_TYPES = ("httpx.Client", "httpx.AsyncClient", "requests.Session")
_TENACITY = (
    "retry", "retry_if_exception_type", "stop_after_attempt", "stop_after_delay", "wait_random_exponential",
)  # fmt: skip


def _collect(work: Work) -> None:
    if work.tree.is_indented:
        return
    made: dict[str, str] = {}
    for _, call, node in work.calls():
        library = library_of(call)
        if library is None or library.name not in _ERRORS or call.method not in _METHODS:
            continue
        if not isinstance(node.func, cst.Attribute) or not _fits(node) or not _is_placed(work, call):
            continue
        owner = work.tree.code(node.func.value)
        is_shared = _is_shared(work, node.func.value)
        if not is_shared and call.receiver not in _TYPES:
            continue
        text = _function(work, call, library.name, owner if is_shared else "")
        if text not in made:
            made[text] = _placed(work, text, call, node, made)
        function = cst.Name(made[text])
        if is_shared:
            work.new.swap(node.func, function)
        else:
            work.new.replace(node, _given(function, node.func.value))


def _given(function: cst.Name, client: cst.BaseExpression) -> Step:
    return lambda node: with_first(cst.ensure_type(node, cst.Call), function, client)


def _is_placed(work: Work, call: Call) -> bool:
    """In a function, and not where it stops an event loop: that would not be seen any more."""
    scope = work.facts.function_of(call)
    return scope is not None and (call.is_awaited or not scope.is_async)


def _fits(node: cst.Call) -> bool:
    """`(url, **options)`."""
    places = [each for each in node.args if each.keyword is None]
    return len(places) <= 1 and all(each.star == "" for each in places)


def _is_shared(work: Work, owner: cst.BaseExpression) -> bool:
    """A module, or a client of the whole file: the new function knows it by its name."""
    if not isinstance(owner, cst.Name):
        return False
    names = work.facts.imports.names
    if owner.value in names or owner.value in ("httpx", "requests"):
        return True
    tops = {
        name
        for each in work.facts.assignments
        if each.scope is None and not each.owner
        for name in each.targets
    }
    return owner.value in tops


def _function(work: Work, call: Call, library: str, owner: str) -> str:
    """The new function but for its name."""
    named = {each: work.new.member("tenacity", each) for each in _TENACITY}
    word = "async def" if call.is_awaited else "def"
    result = f"await {{owner}}.{call.method}" if call.is_awaited else f"{{owner}}.{call.method}"
    client = "" if owner else f"client: {work.new.member(library, call.receiver.partition('.')[2])}, "
    errors = [work.new.member(library, each) for each in _ERRORS[library]]
    caught = errors[0] if len(errors) == 1 else f"({', '.join(errors)})"
    return (
        f"@{named['retry']}(\n"
        f"    retry={named['retry_if_exception_type']}({caught}),\n"
        f"    stop={named['stop_after_attempt']}({TRIES}) | {named['stop_after_delay']}({TIMEOUT_S}),\n"
        f"    wait={named['wait_random_exponential']}(multiplier={FIRST_WAIT_S}, max={LONGEST_WAIT_S}),\n"
        f"    reraise=True,\n"
        f")\n"
        f"{word} {{name}}({client}url, **options):\n"
        f"    return {result.format(owner=owner or 'client')}(url, **options)\n"
    )


def _placed(work: Work, text: str, call: Call, node: cst.Call, made: dict[str, str]) -> str:
    """The name of the function; one that does the same is there already if the text was changed before."""
    work.dependencies.append("tenacity")
    wanted = f"_{call.method}_with_retry"
    for function in nodes_in(work.tree.module, cst.FunctionDef):
        name = function.name.value
        # Word by word: line ends and indents are those of the file.
        if name.startswith(wanted) and work.tree.code(function).split() == text.format(name=name).split():
            return name
    number = 1 + sum(each.startswith(wanted) for each in made.values())
    name = free_name(work.tree, wanted if number == 1 else f"{wanted}_{number}")
    top = work.tree.top(node)
    assert top is not None
    work.new.above(top, text.format(name=name))
    return name


CODEMOD = python_codemod(
    "retry",
    ("no-retry-on-idempotent-call",),
    "repeat calls that may be repeated when the connection fails, with growing waits and a limit",
    _collect,
)
