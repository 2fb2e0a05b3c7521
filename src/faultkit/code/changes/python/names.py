"""What binds the names of a Python text, so that a change neither overwrites nor misreads one. Pure."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

STAR = "*"
"""The name under which `from x import *` is listed: it may bind any name."""
PURE = frozenset(
    (
        "abs", "bool", "bytes", "dict", "enumerate", "float", "frozenset", "int", "isinstance", "len", "list",
        "max", "min", "range", "repr", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "type",
        "zip",
    )
)  # fmt: skip
"""Built-in functions that only calculate."""
SEES_LOCALS = frozenset(("dir", "eval", "exec", "locals", "vars"))
"""Functions to which the names of a scope are visible."""
_PATCHERS = ("setattr", "delattr", "patch", "object")


class NameTakenError(Exception):
    """A name that a change needs means something else in the file."""


@lru_cache(maxsize=4)
def bound_names(text: str) -> Mapping[str, frozenset[str]]:
    """Return all names that a text binds in any scope, with the origins of imported ones: `flask.abort`.

    Anything but an import has the origin "". A text that cannot be read binds `*`."""
    found: dict[str, set[str]] = {}
    tree = _parsed(text)
    for name, origin in [(STAR, "")] if tree is None else _bindings(tree):
        found.setdefault(name, set()).add(origin)
    return {name: frozenset(origins) for name, origins in found.items()}


@lru_cache(maxsize=4)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def _bindings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                for alias in node.names:
                    root = alias.name.partition(".")[0]
                    yield (alias.asname, alias.name) if alias.asname else (root, root)
            case ast.ImportFrom():
                module = "." * node.level + (node.module or "")
                for alias in node.names:
                    is_star = alias.name == STAR
                    yield alias.asname or alias.name, module if is_star else f"{module}.{alias.name}"
            case ast.Name(ctx=ast.Store() | ast.Del(), id=name) | ast.arg(arg=name):
                yield name, ""
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, ""
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name, ""
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name, ""
            case _:
                pass


@lru_cache(maxsize=4)
def constants(text: str) -> frozenset[str]:
    """Return names that a text binds once, at its top, to a text or a number."""
    tree = _parsed(text)
    if tree is None:
        return frozenset()
    times = Counter(name for name, _ in _bindings(tree))
    return frozenset(
        target.id
        for line in tree.body
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant)
        for target in line.targets
        if isinstance(target, ast.Name) and times[target.id] == 1
    )


def classes(text: str) -> frozenset[str]:
    """Return names that a text binds once, at its top, to a class."""
    tree = _parsed(text)
    times = Counter(name for name, _ in (() if tree is None else _bindings(tree)))
    lines = () if tree is None else tree.body
    return frozenset(each.name for each in lines if isinstance(each, ast.ClassDef) and times[each.name] == 1)


def is_taken(text: str, local: str, module: str, name: str = "", *, is_new: bool = False) -> bool:
    """Return whether a local name may be anything but a module, or a name in it.

    is_new: the import is to be added, which may overwrite names, or be overwritten by `import *`"""
    bound = bound_names(text)
    wanted = {module, module.partition(".")[0], *([f"{module}.{name}"] if name else [])}
    if not bound.get(local, frozenset()) <= wanted:
        return True
    return is_new and not bound.get(STAR, frozenset()) <= {module}


def replaces_parts_of(text: str, packages: frozenset[str], members: frozenset[str] = frozenset()) -> bool:
    """Return whether a text may replace parts of packages: `requests.get = fake`, `setattr(time, …)`, or it
    hands on the module itself.

    members: names that nothing may get, whatever has them"""
    tree = _parsed(text)
    if tree is None:
        return True
    nodes = [*ast.walk(tree)]
    if any(_package(target, text) in packages for node in nodes for target in _replaced(node)):
        return True
    parts = [each for each in nodes if isinstance(each, ast.Attribute)]
    if any(isinstance(each.ctx, ast.Store) and each.attr in members for each in parts):
        return True
    modules = {
        alias.asname or alias.name.partition(".")[0]
        for each in nodes
        if isinstance(each, ast.Import)
        for alias in each.names
        if alias.name.partition(".")[0] in packages
    }
    owners = {id(each.value) for each in parts if each.attr != "__dict__"}
    return any(isinstance(each, ast.Name) and each.id in modules and id(each) not in owners for each in nodes)


def _replaced(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the objects whose parts a node replaces."""
    if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
        yield node.value
    elif isinstance(node, ast.Call) and node.args:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in _PATCHERS:
            yield node.args[0]


def _package(node: ast.expr, text: str) -> str:
    """Return the package that an object, or a text such as "requests.get", belongs to; else nothing."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.partition(".")[0]
    origins = bound_names(text).get(node.id, frozenset()) if isinstance(node, ast.Name) else frozenset()
    return next((each.partition(".")[0] for each in sorted(origins) if each), "")
