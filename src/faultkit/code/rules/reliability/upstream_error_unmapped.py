"""Finds request handlers that do not handle errors of their dependencies.

It is shown if the file names the host, so that the service is another company's, or makes the application
itself and gives it no function for errors. Otherwise such a function is mostly in another file.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.call_paths import paths_from_routes, runs_later
from faultkit.code.rules.vocabulary.http_requests import http_requests
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_HANDLERS = (
    "exception_handler",
    "errorhandler",
    "add_exception_handler",
    "register_error_handler",
    "setErrorHandler",
)


_WITH_STATUS = TextPattern(r"\b\w*[eE]rr(?:or)?\.(?:status|statusCode)\s*=\s*5\d\d\b")
_APPLICATIONS = ("FastAPI", "Flask", "Quart", "Starlette", "Sanic", "express", "fastify", "Koa", "Hono")
"""Calls that make the object to which functions for errors are given."""
_HOST = lazy_regex(r"[\"'`]https?://(?!localhost|127\.|0\.0)[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?:[/:?\"'`]|$)")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.calls_of_method(*_HANDLERS) or _express_handler(facts):
        return
    if facts.language in JAVASCRIPT and _WITH_STATUS.search(facts.whole_text):
        return  # Errors that have a status are answered by a function for all routes.
    for request in http_requests(facts):
        for path, route in paths_from_routes(request.call, facts):
            # A try around the call of a generator ends before the generator runs.
            calls = (request.call,) if runs_later(path, facts) else (request.call, path[0])
            if any(facts.tries_around(each) or _has_catch(each, facts) for each in calls):
                continue
            if _is_settled(request.call, facts):
                continue
            where = f"{route.route.method} {route.route.path}".strip() if route.route else "this handler"
            what = f"an error of {request.call.written}() reaches clients of {where} as a bare 500"
            is_foreign = _HOST.search(facts.text_with_values(request.call)) is not None
            is_likely = is_foreign or facts.calls_of_method(*_APPLICATIONS)
            yield Hit(request.call.span, what, LIKELY if is_likely else POSSIBLE)


def _is_settled(call: Call, facts: Facts) -> bool:
    """Return whether `Promise.allSettled` takes the error of a call, or of the functions that make it."""
    for _ in range(3):
        if any(each.method == "allSettled" for each in facts.calls_around(call)):
            return True
        scope = facts.named_function_of(call)
        callers = () if scope is None else facts.callers_of(scope)
        if len(callers) != 1:
            return False
        call = callers[0]
        around = facts.named_function_of(call)
        if around is not None and not call.is_awaited and facts.language in PYTHON:
            gathered = facts.within(facts.calls_of_method("gather"), around.body)
            if any(_returns_errors(each) for each in gathered):
                return True
    return False


def _returns_errors(call: Call) -> bool:
    given = call.argument("return_exceptions")
    return given is not None and given.value.shape == "true"


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
