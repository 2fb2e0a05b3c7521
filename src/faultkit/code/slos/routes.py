"""The routes of a handler: all of its registrations in a text, with the prefixes of their routers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.code.facts import Call, Facts, Route, Scope, is_within
from faultkit.code.facts.expressions import unescaped
from faultkit.code.facts.routes import FRAMEWORKS, REGISTERS, chained_route, framework_of, is_app
from faultkit.code.slos.prefixes import Prefix, class_prefix, joined, prefixes_of

_METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
VERBS = frozenset(each.upper() for each in _METHODS)
_WITH_METHOD = re.compile(rf"^({'|'.join(sorted(VERBS))})\s+(?:[\w.-]+)?(/.*)$")
_HANDLERS = re.compile(r"\bhttp\.Handler(Func)?\b")
_DEFINES_ROUTE = (
    *_METHODS, *VERBS, "route", "Route", "path", "re_path", "url", "add_route", "add_api_route",
    "add_url_rule", "add_api_websocket_route", "HandleFunc", "Handle", "Any", "all", "use", "addRoute",
)  # fmt: skip
_GO_ROUTERS = re.compile(
    r"github\.com/(gin-gonic/gin|labstack/echo|gofiber/fiber|go-chi/chi|gorilla/mux|julienschmidt/httprouter)\b"
)
_GO_CONTEXTS = re.compile(r"\.(Context|Ctx)\b")
_DEFINES_ROUTE_IN_GO = (*(each.title() for each in _METHODS), "Method", "MethodFunc", "All")


@dataclass(frozen=True, slots=True)
class HandlerRoute:
    """A route with the prefixes of its routers."""

    method: str
    path: str
    framework: str
    unmounted: str = ""
    """The router whose prefix is not in the text; empty if the path is whole."""


def routes_of(scope: Scope, facts: Facts) -> tuple[HandlerRoute, ...]:
    """Return the routes of a function in the order of the text; empty if it is no handler of requests."""
    known = made_handlers(facts).get(scope, scope).route
    if known is None and is_middleware(scope):
        return ()
    found = list[HandlerRoute]()
    for route in registered_routes(scope, facts) or ([] if known is None else [known]):
        if _runs_before(scope, route):
            continue
        if route.framework in ("spring", "nest"):
            path = f"/{route.path.removeprefix('/')}" if route.path else ""
            path = joined(class_prefix(scope, facts), path)
            found.append(HandlerRoute(route.method, path, route.framework))
            continue
        for prefix in prefixes_of(route.by, facts) if _has_path(route) else (Prefix(),):
            # Express answers `/api` with the route `/` of a router at `/api`.
            is_root = route.framework == "express" and route.path == "/" and prefix.path
            path = joined(prefix.path, "" if is_root else route.path)
            found.append(HandlerRoute(route.method, path, route.framework, prefix.unmounted))
    return tuple(dict.fromkeys(found))


def _has_path(route: Route) -> bool:
    """Return whether the path is in the text. It may be empty, behind the prefix of a router."""
    given = None if route.by is None else route.by.argument("path", "rule", place=0)
    is_empty = route.framework == "ktor" or (given is not None and given.value.shape == "text")
    return bool(route.path) or is_empty


def registered_routes(scope: Scope, facts: Facts) -> list[Route]:
    """Return the routes whose paths are in the text, also of a function that runs before the handler."""
    handler = made_handlers(facts).get(scope, scope)
    if known := [each for each in handler.routes if _has_path(each)]:
        return known
    found = list[Route]()
    for each in _named_routes(scope, facts):
        if handler.route is None:
            registers = each.by is not None and _may_register(each.by, facts)
            framework = framework_of(each.by, facts.imports.modules) if registers and each.by else ""
            found.append(Route(each.method, each.path, framework, each.by))
        else:
            method = each.method if handler.route.method == "ANY" else handler.route.method
            found.append(Route(method, each.path, handler.route.framework, each.by))
    return found


def _runs_before(scope: Scope, route: Route) -> bool:
    """Return whether a function runs before the handler: `auth` of `app.get("/", auth, list)`."""
    given = [] if route.by is None or route.by.is_decorator else route.by.positional
    if not given or given[-1].value.shape not in ("function", "name", "call"):
        return False
    return bool(scope.name) and any(_names(each.value.text, scope.short_name) for each in given[:-1])


@lru_cache(maxsize=2)
def wrapped_handlers(facts: Facts) -> frozenset[Scope]:
    """Return functions without a name in a call around the handler: `app.get("/", caught(async () => …))`."""
    if facts.language not in ("javascript", "typescript", "tsx"):
        return frozenset()
    found = set[Scope]()
    for call in _defining(facts):
        last = call.positional[-1].value if call.positional else None
        if last is None or last.shape != "call" or not _may_register(call, facts):
            continue
        inside = [each for each in facts.scopes if is_within(each.span, last.span)]
        found.update(each for each in inside[:1] if not each.name and each.route is None)
    return frozenset(found)


@lru_cache(maxsize=2)
def made_handlers(facts: Facts) -> dict[Scope, Scope]:
    """Return the handlers of requests that functions make, by function: `func users(db) http.HandlerFunc`.

    Not one that a function registers itself, and not one around another handler."""
    inner: dict[Scope, list[Scope]] = {}
    for each in facts.scopes:
        if each.outer is not None and each.route is not None:
            inner.setdefault(each.outer, []).append(each)
    return {
        outer: made[0]
        for outer, made in inner.items()
        if len(made) == 1
        and outer.name
        and outer.route is None
        and not is_middleware(outer)
        and not made[0].name
        and not (made[0].route and made[0].route.path)
        and not _registrations_around(made[0], facts)
    }


def is_middleware(scope: Scope) -> bool:
    """Return whether a function takes a handler of Go, to make another one around it."""
    return any(_HANDLERS.search(each.type) for each in scope.parameters)


@lru_cache(maxsize=2)
def _defining(facts: Facts) -> tuple[Call, ...]:
    more = _DEFINES_ROUTE_IN_GO if facts.language == "go" else REGISTERS
    found = facts.calls_of_method(*dict.fromkeys((*_DEFINES_ROUTE, *more)))
    return tuple(each for each in found if not each.is_decorator)


def _registrations_around(scope: Scope, facts: Facts) -> list[Call]:
    return [each for each in _defining(facts) if is_within(scope.span, each.span)]


def _named_routes(scope: Scope, facts: Facts) -> Iterator[Route]:
    """Find `mux.HandleFunc("/users", users)`, `path("a/", views.users)`."""
    if not scope.short_name:
        around = _registrations_around(scope, facts)
        calls = [min(around, key=lambda each: each.span.end - each.span.start)] if around else []
    else:
        calls = [
            each
            for each in _defining(facts)
            if any(_names(given.value.text, scope.short_name) for given in each.arguments)
        ]
    for call in calls:
        texts = [unescaped(each.value) for each in call.arguments if each.value.shape == "text"]
        if texts and texts[0] in VERBS:  # `r.Method("GET", "/users", users)`
            yield Route(texts[0], texts[1] if len(texts) > 1 else "", "", call)
        elif texts and (found := _WITH_METHOD.match(texts[0])):
            yield Route(found[1], found[2], "", call)
        elif texts:
            path = texts[0] if texts[0].startswith("/") else f"/{texts[0].lstrip('^').rstrip('$')}"
            yield Route(_method(call), path, "", call)


def _names(written: str, name: str) -> bool:
    """Return whether an argument is a function, what it makes (`users(db)`), or a call around it."""
    if name not in written:
        return False
    before = r"(?:\s*[\w.]+\((?:[^(),]*,)*)*"
    called = rf"{before}\s*(?:[\w.]+\.)?{re.escape(name)}(?:\.as_view)?(?:\([^()]*\))?(?:,[^(),]*|\))*"
    return re.fullmatch(called, written) is not None


def _method(call: Call) -> str:
    if call.method.upper() in VERBS:
        return call.method.upper()
    methods = call.argument("methods")
    named = [] if methods is None else re.findall(r"[A-Za-z]+", methods.value.text)
    return named[0].upper() if len(named) == 1 else "ANY"


def unread_registrations(facts: Facts) -> tuple[Call, ...]:
    """Return the registrations whose path is not a literal, or whose handler is not in this text."""
    read = {
        route.by
        for scope in facts.scopes
        for route in (*scope.routes, *registered_routes(scope, facts))
        if route.by is not None and not _runs_before(scope, route)
    }
    found = [each for each in _defining(facts) if each not in read and _may_register(each, facts)]
    return tuple(sorted(found, key=lambda each: each.line))


def _may_register(call: Call, facts: Facts) -> bool:
    """Return whether a call registers a handler, as far as its name and its arguments show."""
    count = len(call.positional)
    if facts.language == "go":
        is_router = _GO_ROUTERS.match(call.name) is not None and _GO_CONTEXTS.search(call.receiver) is None
        return count > 1 and (call.method in ("Handle", "HandleFunc") or is_router)
    if facts.language == "python":
        if call.name.startswith("django.urls."):
            return count > 1 and not call.positional[1].value.text.startswith("include(")
        return call.method in REGISTERS and facts.imports_any(*FRAMEWORKS)
    if facts.language not in ("javascript", "typescript", "tsx") or not facts.imports_any(*FRAMEWORKS):
        return False
    if call.method == "route":
        return call.has("url") and is_app(call)
    if call.method not in (*_METHODS, "all") or not count:
        return False
    if (route := chained_route(call)) is not None:
        return is_app(route)
    first, last = call.positional[0].value, call.positional[-1].value
    is_path = first.shape != "text" or first.literal.startswith(("/", "*"))
    return count > 1 and is_path and last.shape in ("function", "name", "call") and is_app(call)
