"""Settings of the project around a file that is to be changed, read from its files.

That is: declared dependencies, supported versions, the formatter's line length, own packages, what tests
replace, and the other files of a Go package. A file that cannot be read counts as absent.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from faultkit.code.advice.faked_names import faked_names, files_below, python_files
from faultkit.code.changes.project import Project, normalized_name, sets_default_client

_MARKERS = ("pyproject.toml", "setup.cfg", "setup.py", "package.json", "go.mod", ".git")
_MOST_BYTES = 1_000_000
_MOST_FILES = 300
_MOST_OF_MODULE = 2_000
_FORMATTED = 88
"""Line length of Black and Ruff, unless another one is set."""
_PRETTIER = 80
_PRETTIER_FILES = (".prettierrc", ".prettierrc.json")
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_VERSION = re.compile(r"(\d+)\.(\d+)")
_APPLICATION = re.compile(r"\b(?:FastAPI|Flask|Starlette)\(")
_GO_REQUIRE = re.compile(r"^\s*(?:require\s+)?([\w./~-]+\.[\w./~-]+)\s+v\d", re.MULTILINE)
_REQUIREMENTS = re.compile(r"^(requirements.*|.*-requirements|dev|test|base)\.(txt|in)$")


def project_of(path: str | os.PathLike[str], changed: Mapping[str, str] | None = None) -> Project:
    """Return the project around a file.

    `changed`: texts by real path that other files are going to have
    """
    file = Path(os.path.realpath(path))
    top = _top(file.parent)
    project = _settings(top) if top is not None else Project()
    if file.suffix == ".py":
        return replace(project, is_imported=_is_imported(file, top or file.parent))
    if file.suffix != ".go":
        return project
    texts = tuple(_go_texts(file, changed or {}))
    return replace(project, package=texts, sets_default_client=_sets_default_client(file, top))


def _is_imported(file: Path, top: Path) -> bool:
    """Return whether a file makes a web application, and another one that is no test names it in an import.

    True if there are too many files to tell."""
    if not _APPLICATION.search(_text(file)):
        return False
    name = re.escape(file.parent.name if file.stem == "__init__" else file.stem)
    imports = re.compile(
        rf"^[^#\n]*\bimport\b.*\b{name}\b|\bfrom\s+[\w.]*\b{name}\s+import\b|\bimport\s*\([^)]*\b{name}\b",
        re.MULTILINE,
    )
    others = (path for path, is_test in python_files(top) if not is_test and path != file)
    some = [*islice(others, _MOST_FILES + 1)]
    return len(some) > _MOST_FILES or any(imports.search(_text(each)) for each in some)


def _top(folder: Path) -> Path | None:
    """Return the nearest folder that looks like the top of a project."""
    for each in (folder, *folder.parents):
        if any((each / name).exists() for name in _MARKERS) or _requirements_in(each):
            return each
    return None


def _requirements_in(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if _REQUIREMENTS.match(each.name))
    except OSError:
        return []


def _settings(top: Path) -> Project:
    pyproject = _toml(top / "pyproject.toml")
    setup = _config(top / "setup.cfg")
    package = _json(top / "package.json")
    go_mod = _text(top / "go.mod")
    faked = dict(sorted(faked_names(top)))
    declared, where = _declared(top, pyproject, setup, package, go_mod)
    return Project(
        declared=declared,
        declared_in=where,
        line_length=_line_length(top, pyproject, setup),
        python=_python_version(top, pyproject, setup),
        node=_version(str(_part(package, "engines").get("node", ""))),
        own=frozenset(_own_packages(top)),
        faked=frozenset(faked),
        compared=frozenset(name for name, is_compared in faked.items() if is_compared),
    )


# Dependencies.


def _declared(
    top: Path,
    pyproject: dict[str, Any],
    setup: configparser.ConfigParser,
    package: dict[str, Any],
    go_mod: str,
) -> tuple[frozenset[str] | None, str]:
    by_file: dict[str, set[str]] = {}
    project = _part(pyproject, "project")
    listed = [*_texts(project.get("dependencies"))]
    for group in (_part(project, "optional-dependencies"), _part(pyproject, "dependency-groups")):
        listed += [text for each in group.values() for text in _texts(each)]
    poetry = _part(_part(pyproject, "tool"), "poetry")
    names = {_name(text) for text in listed} | {*_part(poetry, "dependencies")}
    if project or poetry:
        by_file["pyproject.toml"] = names
    if setup.has_option("options", "install_requires"):
        lines = setup.get("options", "install_requires", raw=True).splitlines()
        if setup.has_section("options.extras_require"):
            extras = setup.items("options.extras_require", raw=True)
            lines += [line for _, text in extras for line in text.splitlines()]
        by_file["setup.cfg"] = {_name(line) for line in lines}
    for path in _requirements_in(top):
        by_file[path.name] = {
            _name(line) for line in _text(path).splitlines() if not line.startswith(("-", "#"))
        }
    if (top / "setup.py").exists() and "install_requires" in _text(top / "setup.py"):
        by_file["setup.py"] = set(re.findall(r"""["']([A-Za-z0-9][\w.-]*)""", _text(top / "setup.py")))
    if package:
        kinds = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
        by_file["package.json"] = {name for kind in kinds for name in _part(package, kind)}
    if go_mod:
        by_file["go.mod"] = set(_GO_REQUIRE.findall(go_mod))
    if not by_file:
        return None, ""
    every = {normalized_name(name) for found in by_file.values() for name in found if name}
    return frozenset(every), next(iter(by_file))


def _name(requirement: str) -> str:
    found = _REQUIREMENT.match(requirement)
    return found[1] if found else ""


# Versions.


def _python_version(
    top: Path, pyproject: dict[str, Any], setup: configparser.ConfigParser
) -> tuple[int, int] | None:
    poetry = _part(_part(_part(pyproject, "tool"), "poetry"), "dependencies")
    texts = [_part(pyproject, "project").get("requires-python"), poetry.get("python")]
    if setup.has_option("options", "python_requires"):
        texts.append(setup.get("options", "python_requires", raw=True))
    in_setup = re.search(r"""python_requires\s*=\s*["']([^"']+)""", _text(top / "setup.py"))
    texts.append(in_setup[1] if in_setup else None)
    return next((found for text in texts if isinstance(text, str) and (found := _version(text))), None)


def _version(text: str) -> tuple[int, int] | None:
    """Return the first version in a text, which is the lowest in `>=3.8,<4`; `>=18` is 18.0."""
    found = _VERSION.search(text)
    if found:
        return int(found[1]), int(found[2])
    whole = re.search(r"\d+", text)
    return (int(whole[0]), 0) if whole else None


# The formatter.


def _line_length(top: Path, pyproject: dict[str, Any], setup: configparser.ConfigParser) -> int | None:
    tools = _part(pyproject, "tool")
    ruff = _part(tools, "ruff")
    for name in ("ruff.toml", ".ruff.toml"):
        ruff = ruff or _toml(top / name)
    black = _part(tools, "black")
    for settings, key in (
        (ruff, "line-length"),
        (black, "line-length"),
        (_part(tools, "yapf"), "column_limit"),
    ):
        if isinstance(settings.get(key), int):
            return int(settings[key])
    for name in _PRETTIER_FILES:
        prettier = _json(top / name)
        if prettier or (top / name).exists():
            width = prettier.get("printWidth", _PRETTIER)
            return width if isinstance(width, int) else _PRETTIER
    if ruff or black:
        return _FORMATTED
    if setup.has_option("flake8", "max-line-length"):
        return _number(setup.get("flake8", "max-line-length", raw=True))
    found = re.search(r"^\s*max_line_length\s*=\s*(\d+)", _text(top / ".editorconfig"), re.MULTILINE)
    return int(found[1]) if found else None


def _number(text: str) -> int | None:
    found = re.match(r"\s*(\d+)", text)
    return int(found[1]) if found else None


# Own packages, and the other files of a Go package.


def _own_packages(top: Path) -> Iterator[str]:
    for folder in (top, top / "src"):
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue
        for each in entries:
            if (each / "__init__.py").exists():
                yield each.name
            elif each.suffix == ".py":
                yield each.stem


def _go_texts(file: Path, changed: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    try:
        others = sorted(each for each in file.parent.iterdir() if each.suffix == ".go" and each != file)
    except OSError:
        return
    for each in others[:_MOST_FILES]:
        yield each.name, changed.get(str(each), "") or _text(each)


def _sets_default_client(file: Path, top: Path | None) -> bool:
    """Return whether another file of the module may set http.DefaultClient; so may one of too many files."""
    if top is None or "net/http" not in _text(file):
        return False
    files = list(islice(files_below(top, ".go"), _MOST_OF_MODULE))
    return len(files) == _MOST_OF_MODULE or any(sets_default_client(_text(each)) for each in files)


# Files, as far as they can be read.


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return ""
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError:
        return {}


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_text(path) or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _config(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(_text(path))
    except configparser.Error:
        return configparser.ConfigParser(interpolation=None)
    return parser


def _part(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
