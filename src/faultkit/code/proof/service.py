"""Reads from the syntax of a Python file how it runs as a service. Pure: nothing is imported or run.

Finds the application object, the routes that a plain GET can request, and the environment variables that
name its dependencies.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.base.errors import InputError

Interface: TypeAlias = Literal["asgi", "wsgi"]

_APPLICATIONS: dict[str, Interface] = {
    "FastAPI": "asgi",
    "Starlette": "asgi",
    "Quart": "asgi",
    "Litestar": "asgi",
    "Sanic": "asgi",
    "Flask": "wsgi",
    "Bottle": "wsgi",
    "Falcon": "wsgi",
}
_ROUTED = ("get", "route", "api_route", "head")
_HTTP_LIBRARIES = ("httpx", "requests", "aiohttp", "urllib", "urllib3", "niquests")
_NAMES_A_URL = re.compile(
    r"(URL|URI|BASE|ENDPOINT|HOST|ORIGIN|UPSTREAM|API)(_|$)|_(URL|URI)\b", re.IGNORECASE
)
_URL = re.compile(r"https?://[^/\s]+")


@dataclass(frozen=True, slots=True)
class Upstream:
    """A dependency that an environment variable names."""

    variable: str
    default: str
    """The value in the code if the variable is not set; empty if it is required."""

    @property
    def path(self) -> str:
        """The path of the default, which stays when the host is replaced."""
        return _URL.sub("", self.default, count=1) if _URL.match(self.default) else ""


@dataclass(frozen=True, slots=True)
class Service:
    """How to run a file as a service."""

    application: str
    """The name of the object in the module."""
    interface: Interface
    route: str
    """A path for GET."""
    upstreams: tuple[Upstream, ...]


def service_of(text: str, file: str, *, route: str | None = None) -> Service:
    """Return how to run the file. Raises InputError, with what to pass, if that cannot be determined."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(file, f"expected Python that can be run, got {error}") from None
    found = _application(tree)
    if found is None:
        known = ", ".join(_APPLICATIONS)
        raise InputError(
            file, f"expected a service to run: an object of {known} at the top of the module, found none"
        )
    application, interface = found
    chosen = route or _route(tree, application)
    if chosen is None:
        raise InputError(
            file, "expected a route that a plain GET can ask for, found none: name one with --route /PATH"
        )
    if not chosen.startswith("/"):
        raise InputError("--route", f'expected a path such as /items, got "{chosen}"')
    return Service(application, interface, chosen, tuple(_upstreams(tree)))


def _application(tree: ast.Module) -> tuple[str, Interface] | None:
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Call):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        interface = _APPLICATIONS.get(_last_name(node.value.func))
        if interface is not None and isinstance(target, ast.Name):
            return target.id, interface
    for node in tree.body:
        if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name in ("app", "application"):
            count = len(node.args.args)
            if isinstance(node, ast.AsyncFunctionDef) and count == 3:
                return node.name, "asgi"
            if isinstance(node, ast.FunctionDef) and count == 2:
                return node.name, "wsgi"
    return None


def _route(tree: ast.Module, application: str) -> str | None:
    """Return the first route that calls a dependency, else the first."""
    routes = list(_routes(tree))
    calling = _calling(tree)
    chosen = next((path for path, name in routes if name in calling), None)
    if chosen is None and routes:
        chosen = routes[0][0]
    # A plain function is an application with one way in.
    is_function = any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == application
        for node in tree.body
    )
    return "/" if chosen is None and is_function else chosen


def _routes(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield paths without parameters, and the functions that answer them."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for decorator in node.decorator_list:
            if not isinstance(decorator, ast.Call) or not isinstance(decorator.func, ast.Attribute):
                continue
            if decorator.func.attr not in _ROUTED or not _allows_get(decorator):
                continue
            path = _first_text(decorator)
            if path is not None and not {"{", "<", ":"} & set(path):
                yield path or "/", node.name


def _allows_get(decorator: ast.Call) -> bool:
    for keyword in decorator.keywords:
        if keyword.arg == "methods" and isinstance(keyword.value, ast.List | ast.Tuple):
            return any(isinstance(each, ast.Constant) and each.value == "GET" for each in keyword.value.elts)
    return True


def _first_text(call: ast.Call) -> str | None:
    given = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "path"), None)
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None


def _calling(tree: ast.Module) -> set[str]:
    """Return functions that call a dependency, directly or through another."""
    clients = {*_HTTP_LIBRARIES, *_clients(tree)}
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = {each.name for each in functions if clients & set(_called_roots(each))}
    while True:
        more = {each.name for each in functions if found & set(_called_roots(each))} - found
        if not more:
            return found
        found |= more


def _clients(tree: ast.Module) -> Iterator[str]:
    """Yield names of clients that a module makes or imports from the libraries."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if _first_name(node.value.func) in _HTTP_LIBRARIES:
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in _HTTP_LIBRARIES:
            yield from (alias.asname or alias.name for alias in node.names)


def _called_roots(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            yield _first_name(node.func)


def _upstreams(tree: ast.Module) -> Iterator[Upstream]:
    seen: set[str] = set()
    for node in ast.walk(tree):
        for variable, default in _environment(node):
            is_url = _URL.match(default) or (not default and _NAMES_A_URL.search(variable))
            if is_url and variable not in seen:
                seen.add(variable)
                yield Upstream(variable, default)


def _environment(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the environment variable that a node reads, and its default."""
    if isinstance(node, ast.Call) and _dotted(node.func) in _READS:
        given = [each.value for each in node.args if isinstance(each, ast.Constant)]
        if given and isinstance(given[0], str):
            yield given[0], given[1] if len(given) > 1 and isinstance(given[1], str) else ""
    elif isinstance(node, ast.Subscript) and _dotted(node.value) in _ENVIRONMENTS:
        name = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(name, str):
            yield name, ""


_ENVIRONMENTS = ("os.environ", "environ")
_READS = ("os.getenv", "getenv", *(f"{each}.get" for each in _ENVIRONMENTS))


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _first_name(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id if isinstance(node, ast.Name) else ""


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
