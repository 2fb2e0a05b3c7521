"""Routes: functions that answer requests, found by decorators, registrations, types and base classes. Pure.

    decorated     @app.get("/users"), @GetMapping("/users")
    registered    app.get("/users", list), Route("/users", list), app.add_url_rule("/users", view_func=list)
    typed         parameters of Go and Rust, and base classes of views

Paths are as written at the function: prefixes of routers are not part of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from faultkit.code.facts.collected import CollectedNodes, RawScope
from faultkit.code.facts.expressions import literals_of, unescaped
from faultkit.code.facts.fact_values import Argument, Call, Route, Scope
from faultkit.code.facts.registrations import (
    LANGUAGES,
    registered_routes,
    route_of_decorator,
    route_of_types,
)
from faultkit.code.facts.resolve import Resolver

_METHODS = frozenset({"get", "post", "put", "patch", "delete", "head", "options"})
_ANY = frozenset({"route", "all", "any", "api_route", "view", "websocket", "use"})
_APPS = re.compile(
    r"(^|[._])(app|api|router|routes|bp|blueprint|server|fastify|web|application)s?$"
    r"|[a-z](Router|App|Server)$"
)
FRAMEWORKS = (
    "fastapi", "flask", "starlette", "quart", "sanic", "aiohttp", "bottle", "litestar", "django", "tornado",
    "express", "koa", "fastify", "hono", "restify", "@nestjs/common", "next",
)  # fmt: skip
_GO_TYPES = {
    "net/http.ResponseWriter": "net/http",
    "github.com/gin-gonic/gin.Context": "gin",
    "github.com/labstack/echo/v4.Context": "echo",
    "github.com/labstack/echo.Context": "echo",
    "github.com/gofiber/fiber/v2.Ctx": "fiber",
    "github.com/gofiber/fiber/v3.Ctx": "fiber",
}
_ANNOTATIONS = {
    "GetMapping": "GET",
    "PostMapping": "POST",
    "PutMapping": "PUT",
    "PatchMapping": "PATCH",
    "DeleteMapping": "DELETE",
    "RequestMapping": "ANY",
    "GET": "GET",
    "POST": "POST",
    "PUT": "PUT",
    "DELETE": "DELETE",
    "PATCH": "PATCH",
    "Get": "GET",
    "Post": "POST",
    "Put": "PUT",
    "Patch": "PATCH",
    "Delete": "DELETE",
}
_VIEW_BASES = ("View", "APIView", "MethodView", "RequestHandler", "HTTPEndpoint", "Resource", "HttpServlet")
REGISTERS = {
    "Route": "starlette",
    "APIRoute": "fastapi",
    "add_api_route": "fastapi",
    "add_url_rule": "flask",
    "add_route": "",
    **{f"add_{each}": "aiohttp" for each in _METHODS},
}
"""Calls of Python that register a function, with the framework if nothing else in the text shows one."""
_HANDLER_KEYS = ("", "endpoint", "view_func", "route", "handler")
_GIVEN = re.compile(r"(?:[\w.]+\()*(?:self\.|cls\.)?(\w+)(?:\.as_view\([^()]*\))?\)*")
"""A function, a class of views, or a call around one: `users`, `Users.as_view("users")`, `limited(users)`."""
_BASE_HANDLER = "BaseHTTPRequestHandler"


def with_routes(found: CollectedNodes, resolver: Resolver) -> tuple[Scope, ...]:
    """Return all functions, outer ones first, with the routes that lead to them."""
    registered = _registered(found, resolver)
    scopes = []
    for raw in found.scopes:
        routes = [*registered.get(raw, ()), *_decorated(raw, found, resolver)]
        if not routes and (typed := _typed(raw, found, resolver)) is not None:
            routes = [typed]
        scope = resolver.scope(raw, tuple(dict.fromkeys(routes)))
        assert scope is not None
        scopes.append(scope)
    return tuple(scopes)


def _registered(found: CollectedNodes, resolver: Resolver) -> dict[RawScope, list[Route]]:
    language = found.syntax.language.name
    if language in LANGUAGES:
        return registered_routes(found, resolver)
    if language == "python":
        return _registered_in_python(found, resolver)
    if language in ("javascript", "typescript", "tsx"):
        return _registered_in_javascript(found, resolver)
    return {}


# JavaScript: `app.get("/", handler)`, with the function itself or its name.


def _registered_in_javascript(found: CollectedNodes, resolver: Resolver) -> dict[RawScope, list[Route]]:
    routes: dict[RawScope, list[Route]] = {}
    by_name = {raw.name: raw for raw in found.scopes if raw.name}
    by_start = {raw.node.start_byte: raw for raw in found.scopes}
    for raw_call in found.calls.values():
        call = resolver.call(raw_call.node)
        new = list(_registrations(call, found))
        if not new:
            continue
        for each in call.arguments:
            raw = _given(each, by_name, by_start) if each.name in ("", "handler") else None
            if raw is not None and (each.name or each is call.positional[-1]):
                routes.setdefault(raw, []).extend(new)
            elif raw is not None:  # What runs before the handler may run before many.
                routes.setdefault(raw, new[:1])
    return routes


def _given(
    argument: Argument, by_name: dict[str, RawScope], by_start: dict[int, RawScope]
) -> RawScope | None:
    value = argument.value
    if value.shape == "function":
        return by_start.get(value.span.start)
    return by_name.get(value.text) if value.shape == "name" else None


def _registrations(call: Call, found: CollectedNodes) -> Iterator[Route]:
    if call.name in ("http.createServer", "https.createServer", "http2.createServer"):
        yield Route("ANY", "", "node", call)
    elif call.method == "route" and call.has("url") and is_app(call):  # Of Fastify.
        url = call.argument("url")
        methods = call.argument("method")
        named = [] if methods is None else literals_of(methods.value)
        method = named[0].upper() if len(named) == 1 else "ANY"
        for path in () if url is None else literals_of(url.value):
            yield Route(method, path, framework_of(call, found.modules), call)
    elif call.method in _METHODS or call.method == "all":
        method = "ANY" if call.method == "all" else call.method.upper()
        for path in _paths(call):
            yield Route(method, path, framework_of(call, found.modules), call)


def _paths(call: Call) -> tuple[str, ...]:
    """Return the paths of `app.get("/a", …)`, `app.get(["/a", "/b"], …)`, `app.route("/a").get(…)`."""
    route = chained_route(call)
    given = call.argument(place=0) if route is None else route.argument(place=0)
    if given is None or not is_app(route or call) or (route is None and len(call.positional) < 2):
        return ()
    paths = literals_of(given.value)
    return paths if all(each.startswith(("/", "*")) for each in paths) else ()


def chained_route(call: Call) -> Call | None:
    """Return `app.route("/a")` of `app.route("/a").get(…).post(…)`."""
    while ")." in call.written and call.origin is not None:
        call = call.origin
        if call.method == "route":
            return call
    return None


def is_app(call: Call) -> bool:
    """Return whether a call is made on an application or a router, as far as its origin or its name shows."""
    origin_name = "" if call.origin is None else call.origin.name
    if origin_name in (
        "express",
        "express.Router",
        "fastify",
        "hono.Hono",
        "fastapi.FastAPI",
        "fastapi.APIRouter",
    ):
        return True
    return _APPS.search(call.receiver_written) is not None


# Python: `Route("/users", users)`, `app.add_url_rule("/users", view_func=users)`.


def _registered_in_python(found: CollectedNodes, resolver: Resolver) -> dict[RawScope, list[Route]]:
    routes: dict[RawScope, list[Route]] = {}
    for raw_call in found.calls.values():
        call = resolver.call(raw_call.node)
        usual = REGISTERS.get(call.method)
        if usual is None and (call.method not in _METHODS or not call.name.startswith("aiohttp.web.")):
            continue
        texts = [unescaped(each.value) for each in call.arguments if each.name in ("", "path", "rule")]
        path = next((each for each in texts if each.startswith("/")), None)
        framework = framework_of(call, found.modules) or usual
        if path is None or not framework or call.is_decorator:
            continue
        verb = texts[0] if texts[0].isalpha() and texts[0].isupper() else ""  # `add_route("GET", "/", users)`
        for raw in _named_by(call, found):
            short = raw.name.rpartition(".")[2]
            method = short.upper() if raw.owner and short in _METHODS else verb or _method(call)
            routes.setdefault(raw, []).append(Route(method, path, framework, call))
    return routes


def _named_by(call: Call, found: CollectedNodes) -> Iterator[RawScope]:
    """Yield the functions that a call registers; of a class of views, those that answer a method of HTTP."""
    for each in call.arguments:
        given = None if each.name not in _HANDLER_KEYS else _GIVEN.fullmatch(each.value.text)
        if given is None:
            continue
        name = given[1]
        own = [raw for raw in found.scopes if raw.name.rpartition(".")[2] == name]
        # A function at the top of the file comes before a method of the same name.
        own.sort(key=lambda raw: raw.name != name)
        yield from own[:1]
        if name in found.classes:
            methods = (raw for raw in found.scopes if raw.owner == name)
            yield from (raw for raw in methods if raw.name.rpartition(".")[2] in _METHODS)


def framework_of(call: Call, modules: Collection[str]) -> str:
    """Return the framework of the object that a call is made on, else one that the text imports."""
    head = re.split(r"[.(]", call.name, maxsplit=1)[0]
    # Routes of Starlette are also given to applications of FastAPI.
    return head if head in FRAMEWORKS and head != "starlette" else _framework(modules)


def _framework(modules: Collection[str]) -> str:
    for name in FRAMEWORKS:
        if any(module == name or module.startswith((f"{name}.", f"{name}/")) for module in modules):
            return name
    return ""


def _decorated(raw: RawScope, found: CollectedNodes, resolver: Resolver) -> Iterator[Route]:
    language = found.syntax.language.name
    for node in raw.decorators:
        call = resolver.decorator(node, raw)
        if language in LANGUAGES:
            if (route := route_of_decorator(call, language)) is not None:
                yield route
        elif language in ("java", "typescript", "tsx", "javascript"):
            if call.method in _ANNOTATIONS:
                yield from _annotated(call, "spring" if language == "java" else "nest")
        else:
            yield from _decorated_in_python(call, found)


def _annotated(call: Call, framework: str) -> Iterator[Route]:
    path = call.argument("value", "path", place=0)
    paths = () if path is None else literals_of(path.value)
    for each in paths or ("",):
        yield Route(_ANNOTATIONS[call.method], each, framework, call)


def _decorated_in_python(call: Call, found: CollectedNodes) -> Iterator[Route]:
    is_bare = call.method in _METHODS and call.name.startswith("litestar.")
    is_route = call.method in _METHODS | _ANY and call.receiver_written and is_app(call)
    path = call.argument("path", "rule", place=0) if is_bare or is_route else None
    if path is None:
        return
    text = unescaped(path.value)
    if text.startswith("/") or not text:
        yield Route(_method(call), text, framework_of(call, found.modules), call)


def _method(call: Call) -> str:
    if call.method.removeprefix("add_") in _METHODS:
        return call.method.removeprefix("add_").upper()
    methods = call.argument("methods")
    if methods is None:
        return "GET" if call.method == "route" or call.method in REGISTERS else "ANY"
    named = re.findall(r"[A-Za-z]+", methods.value.text)
    return named[0].upper() if len(named) == 1 else "ANY"


def _typed(raw: RawScope, found: CollectedNodes, resolver: Resolver) -> Route | None:
    language = found.syntax.language.name
    if language == "go":
        for each in raw.parameters:
            type_ = "" if each.type is None else resolver.imported_name(found.grammar.type_name(each.type))
            if type_ in _GO_TYPES:
                return Route("ANY", "", _GO_TYPES[type_])
        return None
    if language == "rust":
        return route_of_types(raw, resolver)
    if found.classes.get(raw.owner) and (route := _route_of_base(raw, found)) is not None:
        return route
    if language != "python" or raw.owner or not raw.parameters or raw.parameters[0].name.text != b"request":
        return None
    return Route("ANY", "", "django") if _framework(found.modules) == "django" else None


def _route_of_base(raw: RawScope, found: CollectedNodes) -> Route | None:
    short = raw.name.rpartition(".")[2]
    bases = {each.rpartition(".")[2] for each in found.classes[raw.owner]}
    if _BASE_HANDLER in bases and short.startswith("do_"):
        return Route(short[3:].upper(), "", "http.server")
    if bases & {*_VIEW_BASES}:
        if short in _METHODS:
            return Route(short.upper(), "", _framework(found.modules))
        if found.syntax.language.name == "java" and short[:2] == "do" and short[2:].lower() in _METHODS:
            return Route(short[2:].upper(), "", "servlet")
    return None
