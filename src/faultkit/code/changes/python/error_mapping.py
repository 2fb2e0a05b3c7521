"""Errors of what a request handler depends on, as answers that say so: 504 if it is late, else 502."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import libcst as cst

from faultkit.code.changes.python.codemod import Work, python_codemod
from faultkit.code.changes.python.tree import nodes_in
from faultkit.code.facts import Call, Scope
from faultkit.code.facts.facts import is_within
from faultkit.code.rules.vocabulary.http import library_of

_LATE, _FAILED = "the upstream did not answer in time", "the upstream failed"
_DEEPEST = 2


@dataclass(frozen=True, slots=True)
class _Errors:
    module: str
    late: str
    """`.Name` is in the module, and a name without a dot is built in."""
    failed: str


_BY_LIBRARY = {
    "httpx": _Errors("httpx", ".TimeoutException", ".HTTPError"),
    "requests": _Errors("requests", ".Timeout", ".RequestException"),
    "aiohttp": _Errors("aiohttp", "TimeoutError", ".ClientError"),
    "urllib": _Errors("urllib.error", "TimeoutError", ".URLError"),
}
_RAISE = {
    "fastapi": ("fastapi", "HTTPException", "raise {}(status_code={}, detail={!r}) from error"),
    "starlette": (
        "starlette.exceptions",
        "HTTPException",
        "raise {}(status_code={}, detail={!r}) from error",
    ),
    "flask": ("flask", "abort", "{}({}, description={!r})"),
}


_SOCKETS = ("websocket", "websocket_route")


def _collect(work: Work) -> None:
    wanted: dict[cst.FunctionDef, list[tuple[cst.CSTNode, str]]] = {}
    frameworks: dict[cst.FunctionDef, str] = {}
    for _, call, _node in work.calls():
        library = library_of(call)
        if library is None or library.name not in _BY_LIBRARY:
            continue
        for place, route in _in_routes(work, call, 0):
            node = work.tree.at(place.span, cst.Call)
            function = None if node is None else work.tree.function(node)
            if node is None or function is None or work.facts.tries_around(place):
                continue
            wanted.setdefault(function, []).append((node, library.name))
            frameworks[function] = _framework(work, route)
    for function, calls in wanted.items():
        if frameworks[function] in _RAISE:
            _wrap(work, function, calls, frameworks[function])


def _in_routes(work: Work, call: Call, depth: int) -> Iterator[tuple[Call, Scope]]:
    """Where handlers make the call, themselves or through functions of this text."""
    route = work.facts.route_of(call)
    if route is not None:
        if not any(each.method in _SOCKETS for each in route.decorators):
            yield call, route
        return
    scope = work.facts.named_function_of(call)
    if scope is None or depth == _DEEPEST or work.facts.tries_around(call):
        return
    for caller in work.facts.callers_of(scope):
        if work.facts.named_function_of(caller) is not scope:
            yield from _in_routes(work, caller, depth + 1)


def _framework(work: Work, route: Scope) -> str:
    assert route.route is not None
    if route.route.framework:
        return route.route.framework
    # A function without its file: `@app.get` is FastAPI's way, `@app.route` is Flask's.
    return "flask" if any(each.method == "route" for each in route.decorators) else "fastapi"


def _wrap(
    work: Work, function: cst.FunctionDef, calls: list[tuple[cst.CSTNode, str]], framework: str
) -> None:
    if not isinstance(function.body, cst.IndentedBlock):
        return
    lines = list(function.body.body)
    places = [at for at, line in enumerate(lines) if any(_holds(work, line, node) for node, _ in calls)]
    if not places:
        return
    checks = [at for at, line in enumerate(lines) if at > places[0] and _checks_status(line)]
    first, last = places[0], max(*places, *checks, places[0])
    handlers = list(_handlers(work, sorted({library for _, library in calls}), framework))
    work.new.replace(function.body, lambda block: _wrapped(block, first, last, handlers))


def _holds(work: Work, line: cst.CSTNode, node: cst.CSTNode) -> bool:
    return is_within(work.tree.span(node), work.tree.span(line))


def _checks_status(line: cst.CSTNode) -> bool:
    return any(each.value == "raise_for_status" for each in nodes_in(line, cst.Name))


def _handlers(work: Work, libraries: Sequence[str], framework: str) -> Iterator[cst.ExceptHandler]:
    module, name, answer = _RAISE[framework]
    work.dependencies.append(module.partition(".")[0])
    function = work.new.need(module, name)
    seen: set[str] = set()
    for library in libraries:
        errors = _BY_LIBRARY[library]
        work.dependencies.extend(each for each in (library,) if library != "urllib")
        for error, status, why in ((errors.late, 504, _LATE), (errors.failed, 502, _FAILED)):
            caught = work.new.member(errors.module, error[1:]) if error.startswith(".") else error
            if caught in seen:
                continue
            seen.add(caught)
            said = answer.format(function, status, why).replace("'", '"')
            held = " as error" if "error" in said.split(" from ")[-1:] else ""
            text = f"try:\n    pass\nexcept {caught}{held}:\n    {said}\n"
            made = cst.ensure_type(work.new.statements(text)[0], cst.Try)
            yield made.handlers[0]


def _wrapped(block: cst.CSTNode, first: int, last: int, handlers: list[cst.ExceptHandler]) -> cst.CSTNode:
    assert isinstance(block, cst.IndentedBlock)
    inner = list(block.body[first : last + 1])
    head = cast(cst.SimpleStatementLine, inner[0])
    lines = head.leading_lines
    inner[0] = head.with_changes(leading_lines=())
    made = cst.Try(cst.IndentedBlock(inner), handlers=handlers, leading_lines=lines)
    return block.with_changes(body=[*block.body[:first], made, *block.body[last + 1 :]])


CODEMOD = python_codemod(
    "error-mapping",
    ("upstream-error-not-mapped",),
    "answer with 504 or 502 when what a handler depends on is late or fails",
    _collect,
)
