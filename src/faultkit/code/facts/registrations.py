"""Routes of Rust, C# and Kotlin: functions that attributes, registrations or their types make handlers.

Rust      #[get("/users/{id}")] (actix-web, Rocket), .route("/users", get(list)) and extractors (axum)
C#        [HttpGet("users/{id}")] of controllers, app.MapGet("/users", …)
Kotlin    @GetMapping (Spring), get("/users") { … } (Ktor)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts.collected import CollectedNodes, RawScope
from faultkit.code.facts.fact_values import Call, Route
from faultkit.code.facts.resolve import Resolver
from faultkit.code.languages.dialect import text_of

LANGUAGES = ("rust", "csharp", "kotlin")
_METHODS = frozenset({"get", "post", "put", "patch", "delete", "head", "options"})
_ASP = re.compile(r"^Http(Get|Post|Put|Patch|Delete|Head|Options)(Attribute)?$")
_MAPS = re.compile(r"^Map(Get|Post|Put|Patch|Delete|Methods)$")
_SPRING = re.compile(r"^(Get|Post|Put|Patch|Delete|Request)Mapping$|^(GET|POST|PUT|PATCH|DELETE)$")
_NAMED = re.compile(r"\b(get|post|put|patch|delete|any)\(\s*([\w:]+)\s*\)")
_ACTIX = re.compile(r"\b(get|post|put|patch|delete)\(\)(?:\s*\.\w+\([^()]*\))*\s*\.to\(\s*([\w:]+)\s*\)")
_EXTRACTORS = ("axum.extract.", "axum.Json", "axum.Form", "actix_web.web.", "axum.Extension")


def route_of_decorator(call: Call, language: str) -> Route | None:
    """Return the route that an attribute or annotation gives to its function."""
    first = call.argument("value", "path", "template", place=0)
    path = "" if first is None else first.value.literal
    last = call.method
    if language == "rust":
        if last in _METHODS and path.startswith("/"):
            return Route(last.upper(), path, "rocket" if call.name.startswith("rocket") else "actix-web")
        return None
    found = (_ASP if language == "csharp" else _SPRING).match(last)
    if found is None:
        return None
    word = next(each for each in found.groups() if each)
    framework = "aspnet" if language == "csharp" else "spring"
    if language == "csharp" and path and not path.startswith(("/", "~")):
        path = f"/{path}"
    return Route("ANY" if word == "Request" else word.upper(), path, framework)


def registered_routes(found: CollectedNodes, resolver: Resolver) -> dict[RawScope, list[Route]]:
    """Return the functions that a call of this text registers, with their routes."""
    language = found.syntax.language.name
    routes: dict[RawScope, list[Route]] = {}
    by_name: dict[str, RawScope] = {}
    for raw in found.scopes:
        by_name.setdefault(raw.name.rpartition(".")[2], raw)
    for raw_call in found.calls.values():
        call = resolver.call(raw_call.node)
        if call.is_decorator:
            continue
        for route, name in _registrations(call, language, found):
            if name and name in by_name:
                routes.setdefault(by_name[name], []).append(route)
            if not name:
                given = [each for each in found.scopes if each.given_to is raw_call]
                for each in given[-1:]:
                    routes.setdefault(each, []).append(route)
    return routes


def _registrations(call: Call, language: str, found: CollectedNodes) -> Iterator[tuple[Route, str]]:
    """Yield routes with the names of their functions; an empty name for a lambda among the arguments."""
    if not _may_register(call, language):
        return
    first = call.argument(place=0)
    if language == "kotlin" and first is not None and first.value.shape == "function":
        # `route("/users") { get { … } }`
        if len(call.positional) == 1 and any(each.startswith("io.ktor.server") for each in found.modules):
            yield Route(call.method.upper(), "", "ktor", call), ""
        return
    if first is None or first.value.shape != "text" or len(call.positional) < 2:
        return
    path = first.value.literal
    if language == "rust" and call.method == "route":
        text = call.positional[1].value.text
        for pattern, framework in ((_NAMED, "axum"), (_ACTIX, "actix-web")):
            for method, name in pattern.findall(text):
                yield Route(method.upper(), path, framework), name.rpartition("::")[2]
    elif language == "csharp" and (mapped := _MAPS.match(call.method)) and path.startswith(("/", "{")):
        method = "ANY" if mapped[1] == "Methods" else mapped[1].upper()
        given = call.positional[-1].value
        name = given.text.rpartition(".")[2] if given.shape == "name" else ""
        yield Route(method, path, "aspnet"), name
    elif language == "kotlin" and call.positional[-1].value.shape == "function":
        is_ktor = any(module.startswith("io.ktor.server") for module in found.modules)
        if is_ktor or path.startswith("/"):
            yield Route(call.method.upper(), path, "ktor", call), ""


def _may_register(call: Call, language: str) -> bool:
    """Return whether a call has the name of one that registers: to read the arguments of all takes long."""
    if language == "csharp":
        return _MAPS.match(call.method) is not None
    if language == "rust":
        return call.method == "route"
    # `get("/users") { … }`, and `route.get("/users") { … }` on a parameter
    return call.written in _METHODS or (call.method in _METHODS and call.receiver.endswith("routing.Route"))


def route_of_types(raw: RawScope, resolver: Resolver) -> Route | None:
    """Return a route for a Rust function whose parameters are extractors of axum or actix-web."""
    if not raw.is_async or not raw.name or raw.owner:
        return None
    for each in raw.parameters:
        head = re.split(r"[<>(\[;]", text_of(each.type))[0].strip(" &").replace("::", ".")
        name = resolver.imported_name(head) if head else ""
        if name.startswith(_EXTRACTORS):
            return Route("ANY", "", "axum" if name.startswith("axum") else "actix-web")
    return None
