"""Finds request handlers that do not handle errors of their dependencies."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.http import http_requests

_HANDLERS = (
    "exception_handler",
    "errorhandler",
    "add_exception_handler",
    "register_error_handler",
    "setErrorHandler",
)

_SOCKETS = ("websocket", "websocket_route")
"""Routes that have no status to answer with once they are open."""


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.calls_of_method(*_HANDLERS) or _express_handler(facts):
        return
    for request in http_requests(facts):
        for call, route in _in_routes(request.call, facts, 0):
            if facts.tries_around(request.call) or _guarded(call, facts) or _has_catch(request.call, facts):
                continue
            where = f"{route.route.method} {route.route.path}".strip() if route.route else "this handler"
            what = f"an error of {request.call.written}() reaches clients of {where} as a bare 500"
            yield Hit(request.call.span, what, LIKELY)


def _in_routes(call: Call, facts: Facts, depth: int) -> Iterator[tuple[Call, Scope]]:
    """Yield the handlers that make a call, also through functions of this text."""
    route = facts.route_of(call)
    if route is not None:
        if not any(each.method in _SOCKETS for each in route.decorators):
            yield call, route
        return
    scope = facts.named_function_of(call)
    if scope is None or depth == 2 or facts.tries_around(call):
        return
    for caller in facts.callers_of(scope):
        if facts.named_function_of(caller) is not scope:
            yield from _in_routes(caller, facts, depth + 1)


def _guarded(call: Call, facts: Facts) -> bool:
    return bool(facts.tries_around(call)) or _has_catch(call, facts)


def _has_catch(call: Call, facts: Facts) -> bool:
    """Return whether JavaScript handles it: `.catch(…)` in the chain, or `next` as the error handler."""
    todo = [call]
    while todo:
        for later in facts.calls_on(todo.pop()):
            if later.method == "catch" or (later.method == "then" and len(later.positional) > 1):
                return True
            if later.method in ("then", "finally"):
                todo.append(later)
    return False


def _express_handler(facts: Facts) -> bool:
    """Return whether Express passes the error to a function with four parameters."""
    has = any(
        len(scope.parameters) == 4 and scope.parameters[0].name.startswith("err") for scope in facts.scopes
    )
    return has and facts.imports_any(
        "express-async-errors", "express-promise-router", "express-async-handler"
    )


RULE = Rule(
    id="FK-R011",
    slug="upstream-error-not-mapped",
    title="Error of a dependency not handled in a request handler",
    why="Clients cannot tell a failure of a dependency from a bug: they get a 500 with no reason, or "
    "no answer at all.",
    fix="Catch the library's errors around the call and answer with 502, 503 or 504, or with a fallback.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT),
    check=_check,
)
