"""The upstreams of a Python service: variables and URLs in its file, in the modules of its project that it
imports, and in its .env file. Reads files; imports and runs nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from faultkit.code.proof.upstreams import MOST_FILES, Reads

_ENVIRONMENTS = ("os.environ", "environ")
_READS = ("os.getenv", "getenv", *(f"{each}.get" for each in _ENVIRONMENTS))
_READERS = ("config", "env", "env.str", "env.url", "Env.str")
"""Functions of packages that read a variable of this name: decouple, starlette, environs, django-environ."""


def read_by_python(file: Path, tree: ast.Module, root: Path) -> Reads:
    """Return what a service in Python reads its upstreams from."""
    reads = Reads()
    for path, module in _modules(file, tree, root):
        where = path.name if path == file else str(path.relative_to(root))
        docs = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
        for node in ast.walk(module):
            for variable, default in _variables(node):
                reads.add(variable, default, where)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                reads.add_url(node.value, where)
    return reads


def _modules(file: Path, tree: ast.Module, root: Path) -> Iterator[tuple[Path, ast.Module]]:
    """Yield a module and the modules of its project that it imports, directly or through others."""
    known, waiting = {file}, [(file, tree)]
    while waiting:
        path, module = waiting.pop(0)
        yield path, module
        for found in _imported(path, module, root):
            if found in known or len(known) >= MOST_FILES:
                continue
            known.add(found)
            try:
                waiting.append((found, ast.parse(found.read_bytes())))
            except (OSError, SyntaxError, ValueError, RecursionError):
                continue


def _imported(path: Path, module: ast.Module, root: Path) -> Iterator[Path]:
    for level, parts in imported_names(module):
        yield from files_of(root if not level else path.parents[level - 1], parts)


def imported_names(module: ast.Module) -> Iterator[tuple[int, list[str]]]:
    """Yield what a module imports: the number of dots, and the parts of the name. What is imported from a
    module may be a module, too."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield 0, alias.name.split(".")
        elif isinstance(node, ast.ImportFrom):
            parts = node.module.split(".") if node.module else []
            yield node.level, parts
            for alias in node.names:
                yield node.level, [*parts, alias.name]


def files_of(base: Path, parts: list[str]) -> Iterator[Path]:
    """Yield the files of a module below a folder."""
    place = base.joinpath(*parts)
    for each in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
        if each.is_file():
            yield each


def _variables(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the environment variables that a node reads, and their defaults."""
    if isinstance(node, ast.Call) and _dotted(node.func) in (*_READS, *_READERS):
        given = [each.value for each in node.args if isinstance(each, ast.Constant)]
        default = next((_text(each.value) for each in node.keywords if each.arg == "default"), "")
        if given and isinstance(given[0], str):
            yield given[0], given[1] if len(given) > 1 and isinstance(given[1], str) else default
    elif isinstance(node, ast.Subscript) and _dotted(node.value) in _ENVIRONMENTS:
        name = _text(node.slice)
        if name:
            yield name, ""
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        for name, _ in _variables(node.values[0]):
            yield name, _text(node.values[-1])
    elif isinstance(node, ast.ClassDef) and any(
        _dotted(base).endswith("BaseSettings") for base in node.bases
    ):
        yield from _settings(node)


def _settings(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the variables of a settings class of pydantic, which are its fields."""
    options = {
        keyword.arg: keyword.value
        for each in ast.walk(node)
        if isinstance(each, ast.Call) and _dotted(each.func).endswith("SettingsConfigDict")
        for keyword in each.keywords
    }
    for each in ast.walk(node):
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            options.setdefault(each.targets[0].id, each.value)
    prefix = _text(options.get("env_prefix"))
    for each in node.body:
        if not isinstance(each, ast.AnnAssign) or not isinstance(each.target, ast.Name):
            continue
        name, default = prefix + each.target.id, _text(each.value)
        if isinstance(each.value, ast.Call):
            named = {keyword.arg: keyword.value for keyword in each.value.keywords}
            default = _text(named.get("default") or next(iter(each.value.args), None))
            own = [_text(named.get(key)) for key in ("validation_alias", "alias", "env")]
            name = next(filter(None, own), name)
        yield name.upper(), default


def _text(node: ast.AST | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
