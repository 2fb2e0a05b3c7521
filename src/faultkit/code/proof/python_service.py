"""How a Python file is run as a service, read from its syntax. Nothing is imported or run here."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from faultkit.base.errors import InputError
from faultkit.code.proof.python_upstreams import files_of, imported_names, read_by_python
from faultkit.code.proof.service import Interface, Route, Service, chosen_route
from faultkit.code.proof.upstreams import chosen_upstreams

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
_OTHER_METHODS = ("post", "put", "patch", "delete")
_ROUTE_CALLS = ("Route", "APIRoute", "add_route", "add_api_route", "add_url_rule")
"""Calls with a path and what answers it: of Starlette, FastAPI, Flask, Falcon and Sanic."""
_MOUNT = "Mount"
_HTTP_LIBRARIES = ("httpx", "requests", "aiohttp", "urllib", "urllib3", "niquests")


def python_service(
    file: str,
    text: str,
    *,
    route: str | None = None,
    named: Collection[str] = (),
    touched: Collection[int] = (),
    changed: str | None = None,
) -> Service:
    """Return how to run a Python file. Raises InputError, with what to pass, if that cannot be determined.

    named:   upstreams that the user has named
    touched: lines that a change is about; a route that reaches them is preferred
    changed: the text after the change, which may have more upstreams"""
    tree = _parsed(file, text)
    found = _application(tree)
    if found is None:
        known = ", ".join(_APPLICATIONS)
        raise InputError(
            file,
            f"expected a service to run: an object of {known} at the top of the module, found none (one "
            "that a function such as create_app() returns is not supported)",
        )
    application, interface = found
    chosen = chosen_route(route, _found_routes(tree, application, touched), file)
    path = Path(file).resolve()
    root, module = module_of(path, tree)
    versions = [tree] if changed is None else [tree, _parsed(f"{file}, changed", changed)]
    reads = [read_by_python(path, each, root) for each in versions]
    upstreams = chosen_upstreams(reads, root, named, file, 'os.getenv("UPSTREAM_URL", …)')
    return Service(interface, str(root), chosen.path, upstreams, module, application, chosen.notes)


def _parsed(file: str, text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(file, f"expected Python that can be run, got {error}") from None


def module_of(file: Path, tree: ast.Module) -> tuple[Path, str]:
    """Return the folder where imports begin, and the name of the module from there.

    The folder is above the packages of the file. A package without an `__init__.py` is told by the imports of
    the file: relative ones, and those that begin with the name of a folder above it."""
    root = file.parent
    while (root / "__init__.py").exists() and root != root.parent:
        root = root.parent
    for level, parts in imported_names(tree):
        if level:
            root = min(root, file.parents[min(level, len(file.parents) - 1)], key=_depth)
        elif not any(files_of(root, parts)):
            above = (each.parent for each in file.parents if each.name == parts[0])
            root = next((each for each in above if any(files_of(each, parts))), root)
    inside = file.parent if file.stem == "__init__" else file.with_suffix("")
    return root, ".".join(inside.relative_to(root).parts)


def _depth(folder: Path) -> int:
    return len(folder.parts)


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


def _found_routes(tree: ast.Module, application: str, touched: Collection[int]) -> list[Route]:
    """Return the routes of a module."""
    clients, called = {*_HTTP_LIBRARIES, *_clients(tree)}, _called_names(tree)
    changed = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any(node.lineno <= line <= (node.end_lineno or line) for line in touched)
    }
    found = []
    for method, path, name in (*_decorated(tree), *_registered(tree, "")):
        reached = _reached(name, called)
        calls_out, reach = bool(reached & clients), len({name, *reached} & changed)
        found.append(Route(path or "/", calls_out, reach, method))
    # A plain function is an application with one route.
    is_function = any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == application
        for node in tree.body
    )
    return found or ([Route("/", calls_out=True)] if is_function else [])


def _called_names(tree: ast.Module) -> dict[str, set[str]]:
    """Return for each function and class the first names of its calls: functions, clients or libraries."""
    called: dict[str, set[str]] = {}
    for each in ast.walk(tree):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            called.setdefault(each.name, set()).update(_called_roots(each))
    return called


def _reached(name: str, called: Mapping[str, set[str]]) -> set[str]:
    """Return the names that a function calls, directly or through others."""
    found, waiting = set[str](), [name]
    while waiting:
        more = called.get(waiting.pop(), set()) - found
        found |= more
        waiting += more
    return found


def _decorated(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Yield method, path and function of the routes of decorators: `@app.get("/")`, and `@get("/")` of
    Litestar and Bottle."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for decorator in node.decorator_list:
            if not isinstance(decorator, ast.Call) or not isinstance(
                decorator.func, ast.Attribute | ast.Name
            ):
                continue
            name = _last_name(decorator.func)
            if name not in (*_ROUTED, *_OTHER_METHODS):
                continue
            path = _first_text(decorator)
            if path is not None and (isinstance(decorator.func, ast.Attribute) or path.startswith("/")):
                yield name.upper() if name in _OTHER_METHODS else _method(decorator), path, node.name


def _registered(node: ast.AST, prefix: str) -> Iterator[tuple[str, str, str]]:
    """Yield the routes of calls: `Route("/", home)`, `app.add_route("/", home)`, also below a Mount."""
    for each in ast.iter_child_nodes(node):
        name = _last_name(each.func) if isinstance(each, ast.Call) else ""
        if isinstance(each, ast.Call) and name in _ROUTE_CALLS:
            path, handler = _path_and_handler(each)
            if path is not None and path.startswith("/") and handler:
                yield _method(each), prefix + path, handler
        elif isinstance(each, ast.Call) and name == _MOUNT:
            path = _first_text(each)
            if path is not None:  # Without it, the paths below are not known.
                yield from _registered(each, prefix + path.rstrip("/"))
        else:
            yield from _registered(each, prefix)


def _path_and_handler(call: ast.Call) -> tuple[str | None, str]:
    """Return the path of a route, and the name of the function or class that answers it."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    texts = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    # An instance of a class answers in Falcon: `app.add_route("/", Home())`.
    names = [_last_name(each.func if isinstance(each, ast.Call) else each) for each in given]
    return (texts[0] if texts else None), next((name for name in names if name), "")


def _method(call: ast.Call) -> str:
    """Return GET if a route takes it, else the first of its methods."""
    for keyword in call.keywords:
        if keyword.arg == "methods" and isinstance(keyword.value, ast.List | ast.Tuple | ast.Set):
            named = [str(each.value) for each in keyword.value.elts if isinstance(each, ast.Constant)]
            return "GET" if "GET" in named or not named else named[0]
    return "GET"


def _first_text(call: ast.Call) -> str | None:
    given = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "path"), None)
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None


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


def _first_name(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id if isinstance(node, ast.Name) else ""


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
