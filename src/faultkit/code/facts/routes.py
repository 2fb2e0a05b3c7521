"""Which functions answer requests, by decorators, registrations, types of parameters and bases of classes."""

from __future__ import annotations

import re

from faultkit.code.facts.collect import Collected, RawScope
from faultkit.code.facts.model import Call, Route, Scope
from faultkit.code.facts.resolve import Resolver

_METHODS = frozenset({"get", "post", "put", "patch", "delete", "head", "options"})
_ANY = frozenset({"route", "all", "any", "api_route", "view", "websocket", "use"})
_APPS = re.compile(
    r"(^|[._])(app|api|router|routes|bp|blueprint|server|fastify|web|application)s?$"
    r"|[a-z](Router|App|Server)$"
)
_FRAMEWORKS = (
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
_BASE_HANDLER = "BaseHTTPRequestHandler"


def with_routes(found: Collected, resolver: Resolver) -> tuple[Scope, ...]:
    """All functions, outer ones first, with the routes that lead to them."""
    registered = _registered(found, resolver)
    scopes = []
    for raw in found.scopes:
        route = registered.get(raw) or _decorated(raw, found, resolver) or _typed(raw, found, resolver)
        scope = resolver.scope(raw, route)
        assert scope is not None
        scopes.append(scope)
    return tuple(scopes)


def _registered(found: Collected, resolver: Resolver) -> dict[RawScope, Route]:
    """`app.get("/", handler)`, with the function itself or its name."""
    routes: dict[RawScope, Route] = {}
    if found.syntax.language.name not in ("javascript", "typescript", "tsx"):
        return routes
    by_name = {raw.name: raw for raw in found.scopes if raw.name}
    written_in: dict[int, list[RawScope]] = {}
    for raw in found.scopes:
        if raw.given_to is not None:
            written_in.setdefault(raw.given_to.node.id, []).append(raw)
    for raw_call in found.calls.values():
        call = resolver.call(raw_call.node)
        route = _registration(call, found)
        if route is None:
            continue
        for raw in written_in.get(raw_call.node.id, []):
            routes.setdefault(raw, route)
        for argument in call.positional:
            if argument.value.shape == "name" and argument.value.text in by_name:
                routes.setdefault(by_name[argument.value.text], route)
    return routes


def _registration(call: Call, found: Collected) -> Route | None:
    if call.name in ("http.createServer", "https.createServer", "http2.createServer"):
        return Route("ANY", "", "node")
    if call.method not in _METHODS | {"all"} or not _is_app(call):
        return None
    first = call.argument(place=0)
    if first is None or first.value.shape != "text" or len(call.positional) < 2:
        return None
    if not first.value.literal.startswith(("/", "*")):
        return None
    method = "ANY" if call.method == "all" else call.method.upper()
    return Route(method, first.value.literal, _framework(found))


def _is_app(call: Call) -> bool:
    made = "" if call.origin is None else call.origin.name
    if made in ("express", "express.Router", "fastify", "hono.Hono", "fastapi.FastAPI", "fastapi.APIRouter"):
        return True
    return _APPS.search(call.receiver_written) is not None


def _framework(found: Collected) -> str:
    for name in _FRAMEWORKS:
        if any(module == name or module.startswith((f"{name}.", f"{name}/")) for module in found.modules):
            return name
    return ""


def _decorated(raw: RawScope, found: Collected, resolver: Resolver) -> Route | None:
    for node in raw.decorators:
        call = resolver.decorator(node, raw)
        last = call.method
        if found.syntax.language.name in ("java", "typescript", "tsx", "javascript"):
            if last in _ANNOTATIONS:
                path = call.argument("value", "path", place=0)
                framework = "spring" if found.syntax.language.name == "java" else "nest"
                return Route(_ANNOTATIONS[last], "" if path is None else path.value.literal, framework)
            continue
        if last not in _METHODS | _ANY or not call.receiver_written or not _is_app(call):
            continue
        path = call.argument("path", "rule", place=0)
        if path is None:
            continue
        if path.value.shape == "text" and not path.value.literal.startswith("/") and path.value.literal:
            continue
        return Route(_method(call), path.value.literal, _framework(found))
    return None


def _method(call: Call) -> str:
    if call.method in _METHODS:
        return call.method.upper()
    methods = call.argument("methods")
    if methods is None:
        return "GET" if call.method == "route" else "ANY"
    named = re.findall(r"[A-Za-z]+", methods.value.text)
    return named[0].upper() if len(named) == 1 else "ANY"


def _typed(raw: RawScope, found: Collected, resolver: Resolver) -> Route | None:
    language = found.syntax.language.name
    if language == "go":
        for each in raw.parameters:
            type_ = "" if each.type is None else resolver.whole(found.grammar.type_name(each.type))
            if type_ in _GO_TYPES:
                return Route("ANY", "", _GO_TYPES[type_])
        return None
    short = raw.name.rpartition(".")[2]
    bases = {each.rpartition(".")[2] for each in found.classes.get(raw.owner, ())}
    if _BASE_HANDLER in bases and short.startswith("do_"):
        return Route(short[3:].upper(), "", "http.server")
    if bases & {*_VIEW_BASES}:
        if short in _METHODS:
            return Route(short.upper(), "", _framework(found))
        if language == "java" and short[:2] == "do" and short[2:].lower() in _METHODS:
            return Route(short[2:].upper(), "", "servlet")
    first = raw.parameters[0].name.text if raw.parameters and raw.parameters[0].name.text else b""
    if language == "python" and first == b"request" and _framework(found) == "django" and not raw.owner:
        return Route("ANY", "", "django")
    return None
