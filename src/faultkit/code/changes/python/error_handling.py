"""Codemods for failures: status codes and exit statuses become exceptions, exceptions become responses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias, cast

import libcst as cst

from faultkit.code.changes.change import Source
from faultkit.code.changes.python.codemod import CodemodContext, context_of, python_codemod, with_keyword
from faultkit.code.changes.python.tree import free_name, is_unconditional, nodes_in, variables_in
from faultkit.code.changes.questions import always
from faultkit.code.facts import Call, Scope
from faultkit.code.facts.facts import is_within
from faultkit.code.rules.rule import Finding
from faultkit.code.rules.vocabulary.call_paths import calls_in_routes, paths_from_routes, runs_later
from faultkit.code.rules.vocabulary.http_requests import library_of
from faultkit.code.rules.vocabulary.threaded_requests import threaded_requests

# HTTP status codes.


_KNOWN = ("requests", "httpx", "aiohttp")

_Moved: TypeAlias = dict[cst.CSTNode, tuple[cst.CSTNode, str]]
"""Calls that were moved out of their statements, and their new names."""


def _collect_status_check(context: CodemodContext) -> None:
    moved: _Moved = {}
    threaded = {each.span: each.request for each in threaded_requests(context.facts)}
    for _, sent, sending in context.calls():
        request = threaded.get(sent.span)
        call, library = (sent, library_of(sent)) if request is None else (request.call, request.library)
        node = sending if request is None else context.node(call)
        if library is None or library.name not in _KNOWN or node is None:
            continue
        value, above = _awaited(context, node)
        if isinstance(above, cst.WithItem):
            _in_with(context, above)
        elif library.name == "httpx" and isinstance(above, cst.Attribute) and not call.assigned:
            # In httpx, raise_for_status() returns the response, so the check fits into the chain.
            context.new.replace(value, _chained)
        else:
            _on_own_line(context, call, value, above, moved)


def _awaited(context: CodemodContext, node: cst.Call) -> tuple[cst.BaseExpression, cst.CSTNode | None]:
    """Return the call with its `await`, and what contains it."""
    above = context.tree.parent(node)
    if isinstance(above, cst.Await):
        return above, context.tree.parent(above)
    return node, above


def _chained(value: cst.CSTNode) -> cst.CSTNode:
    assert isinstance(value, cst.BaseExpression)
    return cst.Call(cst.Attribute(value, cst.Name("raise_for_status")))


def _in_with(context: CodemodContext, item: cst.WithItem) -> None:
    statement = context.tree.parent(item)
    if (
        item.asname is None
        or not isinstance(item.asname.name, cst.Name)
        or not isinstance(statement, cst.With)
    ):
        return
    if isinstance(statement.body, cst.IndentedBlock):
        first = statement.body.body[0]
        assert isinstance(first, cst.BaseStatement)
        context.new.before(first, f"{item.asname.name.value}.raise_for_status()", below_comments=False)


def _on_own_line(
    context: CodemodContext,
    call: Call,
    value: cst.BaseExpression,
    above: cst.CSTNode | None,
    moved: _Moved,
) -> None:
    line = context.tree.statement(value)
    if (
        not isinstance(line, cst.SimpleStatementLine)
        or len(line.body) != 1
        or context.tree.block(line) is None
    ):
        return
    if isinstance(above, cst.Assign) and len(call.assigned) == 1 and call.assigned[0].isidentifier():
        context.new.after(line, f"{call.assigned[0]}.raise_for_status()")
    elif (
        isinstance(above, cst.Attribute)
        and not any(each in moved for each in context.tree.around(value))
        and is_unconditional(context.tree, value, line.body[0])
    ):
        name, number = free_name(context.tree, "response", line), 2
        while (line, name) in moved.values():
            name, number = free_name(context.tree, f"response_{number}", line), number + 1
        moved[value] = line, name
        # Built from the old node: a change inside of it would be lost, and there is none in this codemod.
        bare = value.with_changes(lpar=(), rpar=())
        context.new.before(line, f"{name} = {context.tree.code(bare)}\n{name}.raise_for_status()")
        context.new.swap(value, cst.Name(name))


STATUS_CHECK = python_codemod(
    "status-check",
    ("unchecked-response-status",),
    "raise an error for answers with a status of 400 and above",
    _collect_status_check,
    asks=always("Is every status of 400 and above an error here, and is the exception handled?"),
)


# Exit statuses of child processes.


def _collect_exit_status(context: CodemodContext) -> None:
    for _, call, node in context.calls():
        if call.name == "subprocess.run":
            context.new.replace(
                node, lambda each: with_keyword(cst.ensure_type(each, cst.Call), "check", _TRUE)
            )
        elif call.name == "subprocess.call" and isinstance(node.func, cst.Attribute):
            # It takes the same arguments, and its result is unused.
            context.new.swap(node.func.attr, cst.Name("check_call"))


_TRUE = cst.Name("True")

EXIT_STATUS = python_codemod(
    "exit-status",
    ("exit-status-ignored",),
    "raise an error when a program that is run fails",
    _collect_exit_status,
    asks=always("Is every exit status but 0 an error here, and is subprocess.CalledProcessError handled?"),
)


# Errors of a dependency in request handlers, as HTTP responses: 504 if it is late, else 502.


_LATE, _FAILED = "the upstream did not answer in time", "the upstream failed"


@dataclass(frozen=True, slots=True)
class _Errors:
    """The error types of an HTTP library."""

    module: str
    late: str
    """Timeout errors. `.Name` is in the module; a name without a dot is built in."""
    failed: str


_BY_LIBRARY = {
    "httpx": _Errors("httpx", ".TimeoutException", ".HTTPError"),
    "requests": _Errors("requests", ".Timeout", ".RequestException"),
    "aiohttp": _Errors("aiohttp", "TimeoutError", ".ClientError"),
    "urllib": _Errors("urllib.error", "TimeoutError", ".URLError"),
}
_RAISE = {
    "fastapi": ("fastapi", "HTTPException", 'raise {}(status_code={}, detail="{}") from {}'),
    "starlette": ("starlette.exceptions", "HTTPException", 'raise {}(status_code={}, detail="{}") from {}'),
    "flask": ("flask", "abort", '{}({}, description="{}")'),
}


def _collect_error_mapping(context: CodemodContext) -> None:
    wanted: dict[cst.FunctionDef, list[tuple[cst.CSTNode, str]]] = {}
    frameworks: dict[cst.FunctionDef, str] = {}
    for _, call, _node in context.calls():
        library = library_of(call)
        if library is None or library.name not in _BY_LIBRARY:
            continue
        for path, route in paths_from_routes(call, context.facts):
            place = path[0]
            node = context.tree.at(place.span, cst.Call)
            function = None if node is None else context.tree.function(node)
            if node is None or function is None or context.facts.tries_around(place):
                continue
            if runs_later(path, context.facts) or _is_left_running(context, path):
                continue  # What it raises comes when the statement is over.
            wanted.setdefault(function, []).append((node, library.name))
            frameworks[function] = _framework(context, route)
    for function, calls in wanted.items():
        if frameworks[function] in _RAISE:
            _wrap(context, function, calls, frameworks[function])


def _is_left_running(context: CodemodContext, path: tuple[Call, ...]) -> bool:
    """Return whether a coroutine of this text on the way to a call is not awaited in its statement."""
    for caller, inner in pairwise(path):
        scope, node = context.facts.named_function_of(inner), context.node(caller)
        if scope is not None and scope.is_async and node is not None and not _is_awaited(context, node):
            return True
    return False


def _is_awaited(context: CodemodContext, node: cst.Call) -> bool:
    for each in context.tree.around(node):
        if isinstance(each, cst.Await) or (isinstance(each, cst.For) and each.asynchronous is not None):
            return True
        if isinstance(each, cst.BaseStatement):
            break
    return False


def _framework(context: CodemodContext, route: Scope) -> str:
    assert route.route is not None
    if route.route.framework:
        return route.route.framework
    # A function without its file: `@app.get` is FastAPI's way, `@app.route` is Flask's.
    return "flask" if any(each.method == "route" for each in route.decorators) else "fastapi"


def _wrap(
    context: CodemodContext, function: cst.FunctionDef, calls: list[tuple[cst.CSTNode, str]], framework: str
) -> None:
    if not isinstance(function.body, cst.IndentedBlock):
        return
    lines = list(function.body.body)
    places = [at for at, line in enumerate(lines) if any(_holds(context, line, node) for node, _ in calls)]
    if not places:
        return
    checks = [at for at, line in enumerate(lines) if at > places[0] and _checks_status(line)]
    first, last = places[0], max(*places, *checks, places[0])
    error = free_name(context.tree, "error", calls[0][0])
    handlers = list(_handlers(context, sorted({library for _, library in calls}), framework, error))
    context.new.replace(function.body, lambda block: _wrapped(block, first, last, handlers))


def _holds(context: CodemodContext, line: cst.CSTNode, node: cst.CSTNode) -> bool:
    return is_within(context.tree.span(node), context.tree.span(line))


def _checks_status(line: cst.CSTNode) -> bool:
    return any(each.value == "raise_for_status" for each in nodes_in(line, cst.Name))


def _handlers(
    context: CodemodContext, libraries: Sequence[str], framework: str, error_name: str
) -> Iterator[cst.ExceptHandler]:
    module, name, answer = _RAISE[framework]
    context.dependencies.append(module.partition(".")[0])
    function = context.new.need(module, name)
    seen: set[str] = set()
    for library in libraries:
        errors = _BY_LIBRARY[library]
        context.dependencies.extend(each for each in (library,) if library != "urllib")
        for error, status, why in ((errors.late, 504, _LATE), (errors.failed, 502, _FAILED)):
            caught = context.new.member(errors.module, error[1:]) if error.startswith(".") else error
            if caught in seen:
                continue
            seen.add(caught)
            statement = answer.format(function, status, why, error_name)
            binding = f" as {error_name}" if "from" in answer else ""
            text = f"try:\n    pass\nexcept {caught}{binding}:\n    {statement}\n"
            new_try = cst.ensure_type(context.new.statements(text)[0], cst.Try)
            yield new_try.handlers[0]


def _wrapped(block: cst.CSTNode, first: int, last: int, handlers: list[cst.ExceptHandler]) -> cst.CSTNode:
    assert isinstance(block, cst.IndentedBlock)
    inner = list(block.body[first : last + 1])
    head = cast(cst.SimpleStatementLine, inner[0])
    lines = head.leading_lines
    inner[0] = head.with_changes(leading_lines=())
    new_try = cst.Try(cst.IndentedBlock(inner), handlers=handlers, leading_lines=lines)
    return block.with_changes(body=[*block.body[:first], new_try, *block.body[last + 1 :]])


_APPLICATIONS = ("fastapi.FastAPI", "flask.Flask", "starlette.applications.Starlette")
_ANSWERING = ("dependencies", "exception_handlers", "middleware", "route_class")
"""Settings of an application that may answer errors of its handlers."""
_APP_USES = frozenset(
    (
        "api_route", "config", "debug", "delete", "get", "head", "include_router", "logger", "name",
        "on_event", "openapi", "options", "patch", "post", "put", "route", "run", "state", "test_client",
        "title", "websocket",
    )
)  # fmt: skip
"""Members of an application that answer no errors of its handlers."""
_SERVERS = (
    "uvicorn.run", "waitress.serve", "fastapi.testclient.TestClient", "starlette.testclient.TestClient",
)  # fmt: skip
_HANDLED = "Does nothing else of the application, such as an exception handler, answer these errors?"


def _mapping_question(source: Source, finding: Finding) -> str:
    """Ask unless the file makes the application, alone has it, and adds nothing to it or to the handlers that
    could answer the errors."""
    context, call = context_of(source, (finding,)), source.call_at(finding)
    made = source.facts.calls_named(*_APPLICATIONS)
    if context is None or call is None or not made or source.project.is_imported:
        return _HANDLED
    if source.facts.calls_named("fastapi.Depends", "fastapi.Security"):
        return _HANDLED
    apps = {name for each in made for name in each.assigned}
    if any(len(each.assigned) != 1 or each.spreads or each.has(*_ANSWERING) for each in made):
        return _HANDLED
    for _, route in calls_in_routes(call, source.facts):
        if any(each.receiver_written not in apps for each in route.decorators):
            return _HANDLED
        names = [each.value for each in variables_in(context.tree, context.tree.module)]
        if names.count(route.short_name) != 1:
            # Its other callers may handle the errors.
            return _HANDLED
    uses = (each for each in variables_in(context.tree, context.tree.module) if each.value in apps)
    return "" if all(_answers_nothing(context, each) for each in uses) else _HANDLED


def _answers_nothing(context: CodemodContext, app: cst.Name) -> bool:
    """Return whether a use of an application adds nothing to it that could answer errors."""
    above = context.tree.parent(app)
    if isinstance(above, cst.AssignTarget):
        return True
    if isinstance(above, cst.Attribute):
        return above.attr.value in _APP_USES and not isinstance(context.tree.parent(above), cst.AssignTarget)
    call = context.tree.parent(above) if isinstance(above, cst.Arg) else None
    return call is not None and any(
        context.node(each) is call for each in context.facts.calls_named(*_SERVERS)
    )


ERROR_MAPPING = python_codemod(
    "error-mapping",
    ("upstream-error-not-mapped",),
    "answer with 504 or 502 when what a handler depends on is late or fails",
    _collect_error_mapping,
    asks=_mapping_question,
)
