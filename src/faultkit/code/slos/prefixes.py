"""Prefixes that routers, groups and classes give to the paths of their routes. Pure.

around       Mount("/v1", routes=[Route(…)]), r.Route("/v1", func(r chi.Router) { … })
group        v1 := r.Group("/v1"), r.PathPrefix("/v1").Subrouter()
own          APIRouter(prefix="/v1"), Blueprint(…, url_prefix="/v1"), new Router({prefix: "/v1"})
mount        app.include_router(router, prefix="/v1"), app.use("/v1", router)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from faultkit.code.facts import Argument, Call, Facts, Scope, is_within
from faultkit.code.facts.expressions import literals_of

_HOLDS = {"python": ("Mount",), "go": ("Route",), "kotlin": ("route",)}
"""Calls with a prefix for the routes among their arguments."""
_GROUPS = frozenset(("Group", "PathPrefix", "basePath"))
"""Calls that make a group of routes with the prefix that they are given."""
_SAME = frozenset(("Subrouter", "With", "Methods", "Host", "Headers", "Schemes"))
"""Calls whose results have the prefix of what they are called on."""
_MOUNTS = (
    "include_router", "register_blueprint", "blueprint", "add_subapp", "use", "route", "mount", "Mount",
    "register",
)  # fmt: skip
_PREFIX_KEYS = ("prefix", "url_prefix")
_ROUTERS = re.compile(r"(^|\.)(APIRouter|Blueprint|Router)$|^@?koa[-/]router$")
"""Names of calls that make a router which has to be mounted."""
_ROUTER_TYPES = re.compile(r"\.(RouterGroup|IRouter|IRoutes|Group|Router)$")
"""Types of routers in Go that may be a part of another one."""
_CLASS_PREFIXES = frozenset(("RequestMapping", "Controller", "Path"))
_DEEPEST = 8
"""Routers that are mounted in each other."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """The start of the path of a route."""

    path: str = ""
    unmounted: str = ""
    """The router whose prefix is not in the text; empty if the path is whole."""


def joined(prefix: str, path: str) -> str:
    """Return a path behind a prefix."""
    start = prefix.rstrip("/")
    if not start or not path:
        return start or path
    return f"{start}/{path.removeprefix('/')}"


def class_prefix(scope: Scope, facts: Facts) -> str:
    """Return the start of a path that Spring and Nest write at the class."""
    if not scope.owner:
        return ""
    own = {each.span for other in facts.scopes for each in other.decorators}
    before = [
        each
        for each in facts.calls
        if each.is_decorator
        and each.method in _CLASS_PREFIXES
        and each.span not in own
        and each.span.end <= scope.span.start
    ]
    given = before[-1].argument("value", "path", place=0) if before else None
    text = "" if given is None else given.value.literal.strip("/")
    return f"/{text}" if text else ""


def prefixes_of(call: Call | None, facts: Facts, level: int = 0) -> tuple[Prefix, ...]:
    """Return the prefixes of what a call registers: one for each place where its router is mounted."""
    if call is None or level > _DEEPEST:
        return (Prefix(),)
    holder = _holder(call, facts)
    if holder is not None:
        return _below(holder, holder.argument(place=0), facts, level)
    made_by = call.origin
    if made_by is not None and made_by.method in _GROUPS | _SAME:
        given = made_by.argument(place=0) if made_by.method in _GROUPS else None
        return _below(made_by, given, facts, level)
    names = _router_names(call, facts)
    mounts = [each for each in facts.calls_of_method(*_MOUNTS) if _mounts(each, names)]
    own = _own_prefix(made_by)
    if not mounts:
        return (Prefix(own, names[0] if names and _has_to_be_mounted(call, facts) else ""),)
    found = list[Prefix]()
    for mount in mounts:
        given = mount.argument(*_PREFIX_KEYS) or _first_text(mount)
        # The prefix of `register_blueprint` replaces that of the blueprint.
        is_instead = mount.method == "register_blueprint" and given is not None
        for each in _below(mount, given, facts, level):
            path = each.path if is_instead else joined(each.path, own)
            found.append(Prefix(path, each.unmounted))
    return tuple(dict.fromkeys(found))


def _below(call: Call, given: Argument | None, facts: Facts, level: int) -> tuple[Prefix, ...]:
    """Return the prefixes of a call with those that it is given itself."""
    texts = ("",) if given is None else literals_of(given.value)
    unknown = call.written if not texts else ""
    return tuple(
        Prefix(joined(each.path, text), each.unmounted or unknown)
        for each in prefixes_of(call, facts, level + 1)
        for text in texts or ("",)
    )


def _holder(call: Call, facts: Facts) -> Call | None:
    """Return the innermost call around a registration that gives it a prefix."""
    around = [
        each
        for each in facts.calls_of_method(*_HOLDS.get(facts.language, ()))
        if each is not call
        and is_within(call.span, each.span)
        and any(is_within(call.span, given.value.span) for given in each.arguments)
    ]
    return min(around, key=lambda each: each.span.end - each.span.start, default=None)


def _router_names(call: Call, facts: Facts) -> tuple[str, ...]:
    """Return the names by which the router of a registration may be mounted."""
    receiver = call.receiver_written
    if call.constructs or not receiver:  # `routes = [Route(…)]`
        around = [each for each in facts.assignments if is_within(call.span, each.span)]
        return tuple(target for each in around for target in each.targets)
    function = _function_with(receiver, call, facts)
    return (receiver,) if function is None or not function.short_name else (receiver, function.short_name)


def _function_with(parameter: str, call: Call, facts: Facts) -> Scope | None:
    """Return the function around a call that has this parameter."""
    return next(
        (
            scope
            for scope in facts.functions_around(call)
            if any(each.name == parameter for each in scope.parameters)
        ),
        None,
    )


def _mounts(call: Call, names: tuple[str, ...]) -> bool:
    shown = {name + more for name in names for more in ("", ".routes()", ".routes")}
    return any(each.value.text in shown for each in call.arguments)


def _first_text(call: Call) -> Argument | None:
    first = call.argument(place=0)
    return first if first is not None and first.value.shape in ("text", "list") else None


def _own_prefix(made_by: Call | None) -> str:
    given = None if made_by is None else made_by.argument(*_PREFIX_KEYS)
    texts = () if given is None else literals_of(given.value)
    return texts[0] if texts else ""


def _has_to_be_mounted(call: Call, facts: Facts) -> bool:
    if call.origin is not None:
        return _ROUTERS.search(call.origin.name) is not None
    if facts.language == "go":
        return _ROUTER_TYPES.search(call.receiver) is not None
    # A plugin of Fastify: `async function routes(fastify) { fastify.get(…) }`
    return call.receiver_written != "app" and _function_with(call.receiver_written, call, facts) is not None
