"""Reads manifests of projects: package.json, go.mod and project files of .NET.

A manifest that is missing, too large or damaged says nothing; it never makes a review fail.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable

from faultkit.code.facts.project import NO_PROJECT, Project, Version

_MOST_BYTES = 1_000_000
_NUMBERS = re.compile(r"(\d+)(?:\.(\d+))?")
_ELSEWHERE = ("catalog:", "file:", "git", "http", "link:", "npm:", "portal:", "workspace:")
"""How texts in package.json begin that say where something is, not its version."""
_GO_VERSION = re.compile(r"^go\s+(\S+)", re.MULTILINE)
_GO_MODULE = re.compile(r"^(?:require)?\s+([\w.-]+\.[\w.-]+/\S+)\s+v(\S+)", re.MULTILINE)
_DOTNET_PACKAGE = re.compile(
    r"<PackageReference\s[^>]*?\bInclude\s*=\s*\"([^\"]+)\"(?:[^>]*?\bVersion\s*=\s*\"([^\"]+)\")?"
)
_DOTNET_SDK = re.compile(r"<(?:Project|Sdk)\s[^>]*?\b(?:Sdk|Name)\s*=\s*\"([^\"/]+)")


class Manifests:
    """The manifests of a project, each read once."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._found: dict[tuple[str, str], Project] = {}

    def above(self, folder: str, language: str) -> Project:
        """Return what the nearest manifest of a language says, from an absolute folder up to the top."""
        name = _MANIFEST_OF.get(language)
        return NO_PROJECT if name is None else self._above(folder, name)

    def _above(self, folder: str, name: str) -> Project:
        passed: list[tuple[str, str]] = []
        found: Project | None = None
        while found is None:
            key = folder, name
            passed.append(key)
            found = self._found.get(key) or _read(folder, name)
            parent = os.path.dirname(folder)
            if found is None and (folder == self._top or parent == folder):
                found = NO_PROJECT
            folder = parent
        self._found.update(dict.fromkeys(passed, found))
        return found


def _read(folder: str, name: str) -> Project | None:
    """Return what a manifest in a folder says; None if there is none that says something."""
    try:
        path = _project_file(folder) if name == _DOTNET else os.path.join(folder, name)
        with open(path, "rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
        return None if len(data) > _MOST_BYTES else _READERS[name](data.decode("utf-8-sig"))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def _project_file(folder: str) -> str:
    with os.scandir(folder) as entries:
        found = sorted(entry.name for entry in entries if entry.name.endswith(_DOTNET))
    if not found:
        raise FileNotFoundError(folder)
    return os.path.join(folder, found[0])


# --- formats ----------------------------------------------------------------------------------------


def _package_json(text: str) -> Project | None:
    said = json.loads(text)
    kinds = ("peerDependencies", "devDependencies", "optionalDependencies", "dependencies")
    dependencies = {
        name: _lowest(version) for kind in kinds for name, version in (said.get(kind) or {}).items()
    }
    if not dependencies and "name" not in said:
        # Such a file only says how modules of a folder are loaded.
        return None
    node = (said.get("engines") or {}).get("node", "")
    return Project(dependencies, _lowest(node))


def _go_mod(text: str) -> Project:
    modules = {name: _lowest(version) for name, version in _GO_MODULE.findall(text)}
    found = _GO_VERSION.search(text)
    return Project(modules, () if found is None else _lowest(found[1]))


def _dotnet(text: str) -> Project:
    packages = {name: _lowest(version) for name, version in _DOTNET_PACKAGE.findall(text)}
    return Project(packages | {sdk: () for sdk in _DOTNET_SDK.findall(text)})


def _lowest(versions: object) -> Version:
    """Return the lowest version that a text allows: of `^4.17 || ^5.0` that is 4.17."""
    if not isinstance(versions, str) or versions.startswith(_ELSEWHERE):
        return ()
    found = [_NUMBERS.search(each) for each in versions.split("||")]
    if any(each is None or "<" in each.string[: each.start()] for each in found):
        return ()
    return min(tuple(int(part) for part in each.groups() if part) for each in found if each is not None)


_DOTNET = ".csproj"
_READERS: dict[str, Callable[[str], Project | None]] = {
    "package.json": _package_json,
    "go.mod": _go_mod,
    _DOTNET: _dotnet,
}
_MANIFEST_OF = {
    **dict.fromkeys(("javascript", "typescript", "tsx"), "package.json"),
    "go": "go.mod",
    "csharp": _DOTNET,
}
"""By the name of a language."""
