"""Reads manifests of projects: package.json, Cargo.toml, go.mod, build.gradle and project files of .NET.

A manifest that is missing, too large or damaged says nothing; it never makes a review fail.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts.project import NO_PROJECT, Project, Version

_MOST_BYTES = 1_000_000
_NUMBERS = lazy_regex(r"(\d+)(?:\.(\d+))?")
_ELSEWHERE = ("catalog:", "file:", "git", "http", "link:", "npm:", "portal:", "workspace:")
"""How texts in package.json begin that say where something is, not its version."""
_GO_VERSION = lazy_regex(r"^go\s+(\S+)", re.MULTILINE)
_GO_MODULE = lazy_regex(r"^(?:require)?\s+([\w.-]+\.[\w.-]+/\S+)\s+v(\S+)", re.MULTILINE)
_DOTNET_PACKAGE = lazy_regex(
    r"<PackageReference\s[^>]*?\bInclude\s*=\s*\"([^\"]+)\"(?:[^>]*?\bVersion\s*=\s*\"([^\"]+)\")?"
)
_DOTNET_SDK = lazy_regex(r"<(?:Project|Sdk)\s[^>]*?\b(?:Sdk|Name)\s*=\s*\"([^\"/]+)")
_DOTNET_PROJECT = lazy_regex(
    r"<ProjectReference\s[^>]*?\bInclude\s*=\s*\"(?:[^\"]*[\\/])?([^\"\\/]+)\.csproj\""
)
_DOTNET_KINDS = {
    "exe": lazy_regex(r"<OutputType>\s*Exe\s*<", re.IGNORECASE),
    "roslyn": lazy_regex(r"<IsRoslynComponent>\s*true\s*<", re.IGNORECASE),
    "tests": lazy_regex(r"<IsTestProject>\s*true\s*<", re.IGNORECASE),
    "unpublished": lazy_regex(r"<IsPackable>\s*false\s*<", re.IGNORECASE),
}
_DOTNET_PACKAGES = {
    "roslyn": ("Microsoft.CodeAnalysis.Analyzers", "Microsoft.CodeAnalysis.CSharp.CodeFix"),
    "tests": (
        "Microsoft.NET.Test.Sdk",
        "xunit",
        "xunit.v3",
        "NUnit",
        "MSTest",
        "MSTest.TestFramework",
        "TUnit",
    ),
    "aspire": ("Aspire.AppHost.Sdk", "Aspire.Hosting.AppHost"),
}
"""Packages that only projects of a kind have."""
_TEST_CRATES = frozenset(
    {"assert_cmd", "libtest-mimic", "rstest", "snapbox", "test-log", "trybuild", "trycmd", "wiremock"}
)
"""A library that needs one of them, not only for its own tests, is one for tests."""
_GRADLE_ANDROID = lazy_regex(r"\bcom\.android\.\w+|\bandroid\s*\{|\bid\([^)\n]*\bandroid\b", re.IGNORECASE)
_GRADLE_PLUGIN = lazy_regex(
    r"`kotlin-dsl`|`java-gradle-plugin`|['\"](?:java-gradle-plugin|groovy-gradle-plugin)['\"]"
)
_RUN_BY_NODE = lazy_regex(
    r"(?:^|[&|;]\s?)\s*(?:npx |pnpm |cross-env |[A-Z_]+=\S+ )*(?:node|tsx|ts-node|bun(?: run)?)\s+"
    r"(?:-\S+\s+)*(?:\./)?([\w@./-]+\.[cm]?[jt]sx?)\b"
)
"""A file that a script of package.json runs."""
_TOOL_SCRIPT = lazy_regex(
    r"(?:pre|post|do-)?(?:bench|build|bump|check|ci|clean|codegen|definitions|docs?|download|gen|generate|i18n|install"
    r"|lint|migrate|pack|prepare|publish|publishonly|release|seed|snapshot|test|translations|type-?check|update|verify"
    r"|version)(?:[:_-].*)?"
)
"""Names of scripts that do something once, for developers. `start`, `dev` and `worker` run a service."""


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
            found = self._found.get(key) or self._read(folder, name)
            parent = os.path.dirname(folder)
            if found is None and (folder == self._top or parent == folder):
                found = NO_PROJECT
            folder = parent
        self._found.update(dict.fromkeys(passed, found))
        return found

    def _read(self, folder: str, name: str) -> Project | None:
        found = _read(folder, name)
        if found is None or not (found.name or found.tool_files):
            return found
        inner = os.path.relpath(folder, self._top).replace(os.sep, "/")
        files = (posixpath.normpath(f"{inner}/{each}") for each in found.tool_files)
        # The name of a whole repository is not what its files are for.
        return replace(found, name="" if inner == "." else found.name, tool_files=frozenset(files))


def _read(folder: str, name: str) -> Project | None:
    """Return what a manifest in a folder says; None if there is none that says something."""
    try:
        path = _project_file(folder) if name == _DOTNET else os.path.join(folder, name)
        if name == _GRADLE and not os.path.exists(path):
            path += ".kts"
        with open(path, "rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            return None
        return _READERS[name](data.decode("utf-8-sig"), path)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def _project_file(folder: str) -> str:
    with os.scandir(folder) as entries:
        found = sorted(entry.name for entry in entries if entry.name.endswith(_DOTNET))
    if not found:
        raise FileNotFoundError(folder)
    return os.path.join(folder, found[0])


# --- formats ----------------------------------------------------------------------------------------


def _package_json(text: str, _: str) -> Project | None:
    said = json.loads(text)
    kinds = ("peerDependencies", "devDependencies", "optionalDependencies", "dependencies")
    dependencies = {
        name: _lowest(version) for kind in kinds for name, version in (said.get(kind) or {}).items()
    }
    if not dependencies and "name" not in said:
        # Such a file only says how modules of a folder are loaded.
        return None
    engines = said.get("engines") or {}
    name = said.get("name")
    return Project(
        dependencies,
        _lowest(engines.get("node", "")),
        name if isinstance(name, str) else "",
        frozenset({"vscode"} if "vscode" in engines else ()),
        _files_of_tools(said.get("scripts") or {}),
    )


def _files_of_tools(scripts: Mapping[str, object]) -> frozenset[str]:
    """Return the files that scripts for builds, checks and releases run, and no others do."""
    tools: set[str] = set()
    others: set[str] = set()
    for name, command in scripts.items():
        if isinstance(command, str):
            (tools if _TOOL_SCRIPT.fullmatch(name) else others).update(_RUN_BY_NODE.findall(command))
    return frozenset(tools - others)


def _go_mod(text: str, _: str) -> Project:
    modules = {name: _lowest(version) for name, version in _GO_MODULE.findall(text)}
    found = _GO_VERSION.search(text)
    return Project(modules, () if found is None else _lowest(found[1]))


def _dotnet(text: str, path: str) -> Project:
    packages = {name: _lowest(version) for name, version in _DOTNET_PACKAGE.findall(text)}
    packages |= {sdk: () for sdk in _DOTNET_SDK.findall(text)}
    kinds = frozenset(kind for kind, pattern in _DOTNET_KINDS.items() if pattern.search(text))
    kinds |= {kind for kind, names in _DOTNET_PACKAGES.items() if not packages.keys().isdisjoint(names)}
    projects = frozenset(_DOTNET_PROJECT.findall(text))
    name = os.path.basename(path).removesuffix(_DOTNET)
    if "tests" in kinds:
        return Project(packages, (), name, kinds, for_tests=projects)
    return Project(packages | dict.fromkeys(projects, ()), (), name, kinds)


def _cargo(text: str, path: str) -> Project | None:
    said = tomllib.loads(text)
    if "package" not in said:
        # The manifest of a workspace.
        return None
    tables = [said, *(said.get("target") or {}).values()]
    dependencies = {name: _lowest(version) for name, version in _of_cargo(tables, "dependencies")}
    library = said.get("lib") or {}
    is_program = "bin" in said or os.path.exists(os.path.join(os.path.dirname(path), "src", "main.rs"))
    kinds = {
        "cdylib": "cdylib" in library.get("crate-type", ()),
        "exe": is_program,
        "proc-macro": bool(library.get("proc-macro")),
        "tests": not is_program and not _TEST_CRATES.isdisjoint(dependencies),
        "unpublished": said["package"].get("publish") is False,
    }
    return Project(
        dependencies,
        (),
        said["package"].get("name", ""),
        frozenset(kind for kind, holds in kinds.items() if holds),
        for_tests=frozenset(name for name, _ in _of_cargo(tables, "dev-dependencies")),
        for_builds=frozenset(name for name, _ in _of_cargo(tables, "build-dependencies")),
    )


def _of_cargo(tables: list[dict[str, dict[str, object]]], kind: str) -> Iterator[tuple[str, object]]:
    """Yield the names and versions of dependencies. What is optional may be for tests."""
    for table in tables:
        for name, said in table.get(kind, {}).items():
            if not isinstance(said, dict):
                yield name, said
            elif not said.get("optional"):
                yield said.get("package", name), said.get("version", "")


def _gradle(text: str, _: str) -> Project:
    kinds = {"android": _GRADLE_ANDROID, "gradle-plugin": _GRADLE_PLUGIN}
    return Project(kinds=frozenset(kind for kind, pattern in kinds.items() if pattern.search(text)))


def _lowest(versions: object) -> Version:
    """Return the lowest version that a text allows: of `^4.17 || ^5.0` that is 4.17."""
    if not isinstance(versions, str) or versions.startswith(_ELSEWHERE):
        return ()
    found = [_NUMBERS.search(each) for each in versions.split("||")]
    if any(each is None or "<" in each.string[: each.start()] for each in found):
        return ()
    return min(tuple(int(part) for part in each.groups() if part) for each in found if each is not None)


_DOTNET = ".csproj"
_GRADLE = "build.gradle"
_READERS: dict[str, Callable[[str, str], Project | None]] = {
    "package.json": _package_json,
    "Cargo.toml": _cargo,
    "go.mod": _go_mod,
    _DOTNET: _dotnet,
    _GRADLE: _gradle,
}
_MANIFEST_OF = {
    **dict.fromkeys(("javascript", "typescript", "tsx"), "package.json"),
    **dict.fromkeys(("java", "kotlin"), _GRADLE),
    "csharp": _DOTNET,
    "go": "go.mod",
    "rust": "Cargo.toml",
}
"""By the name of a language."""
