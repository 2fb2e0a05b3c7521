"""The packages that Faultkit needs, and the extras that bring those that only some commands need.

The table says what pyproject.toml says, with the modules of each package; a test compares the two. What is
installed of it, and what a user is told about the rest, is in `base.installation`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PRE_RELEASE = re.compile(r"\d[-_.]?(a|b|c|rc|alpha|beta|pre|preview|dev)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Package:
    """A package of the registry, and the range of its versions that Faultkit works with."""

    name: str
    at_least: str
    modules: tuple[str, ...]
    """The top-level modules that it brings and that Faultkit imports, those of its own needs included."""
    below: str = ""
    python_below: tuple[int, int] | None = None
    """The first Python that it has no wheel for. Faultkit does without it there."""

    def is_for(self, python: tuple[int | str, ...]) -> bool:
        """Return whether it is needed on a version of Python, such as `sys.version_info`."""
        return self.python_below is None or python[:2] < self.python_below

    @property
    def wanted(self) -> str:
        """The range of versions, in words."""
        return f"{self.at_least} or newer" + (f", below {self.below}" if self.below else "")

    def accepts(self, version: str) -> bool:
        """Return whether a version is in the range. A pre-release comes before its release (PEP 440)."""
        given, least = release_of(version), release_of(self.at_least)
        is_early = given == least and _PRE_RELEASE.search(version) is not None
        return given >= least and not is_early and not (self.below and given >= release_of(self.below))


@dataclass(frozen=True, slots=True)
class Extra:
    """A name to install by, as in `pip install 'faultkit[code]'`."""

    name: str
    purpose: str
    about_mb: int
    """Size that it adds to the core, with all that its packages need: measured on Linux, see
    docs/dependencies.md."""
    packages: tuple[Package, ...] = ()
    includes: tuple[str, ...] = ()
    """Other extras that come with it."""


def _package(
    name: str,
    at_least: str,
    *modules: str,
    below: str = "",
    python_below: tuple[int, int] | None = None,
) -> Package:
    return Package(name, at_least, modules or (name.lower().replace("-", "_"),), below, python_below)


LEAST_PYTHON = (3, 11)
CORE: tuple[Package, ...] = (
    _package("click", "8.1.7"),
    _package("google-re2", "1.1.20250722", "re2"),
    _package("h2", "4.1", "h2", "hpack"),
    _package("httptools", "0.6.2"),
    _package("jsonschema", "4.21", "jsonschema", "referencing"),
    _package("PyYAML", "6.0.2", "yaml"),
    _package("rich", "13.7"),
    _package("sqlalchemy", "2.0.36"),
    _package("starlette", "0.40", "starlette", "anyio"),
    _package("tomlkit", "0.13"),
    _package("uvicorn", "0.31.1"),
    _package("wsproto", "1.2"),
)
"""What every installation has."""

EXTRAS: dict[str, Extra] = {
    extra.name: extra
    for extra in (
        Extra(
            "code",
            "read, review and change source code",
            54,
            (
                _package("libcst", "1.5"),
                _package("pathspec", "0.12.1"),
                _package("promql-parser", "0.11"),
                _package("tree-sitter", "0.25.2", below="0.26"),
                _package("tree-sitter-bash", "0.25.0"),
                _package("tree-sitter-c", "0.24.1"),
                _package("tree-sitter-c-sharp", "0.23.1"),
                _package("tree-sitter-cpp", "0.23.4"),
                _package("tree-sitter-go", "0.25.0"),
                _package("tree-sitter-java", "0.23.5"),
                _package("tree-sitter-javascript", "0.25.0"),
                _package("tree-sitter-kotlin", "1.1.0"),
                _package("tree-sitter-php", "0.24.1"),
                _package("tree-sitter-python", "0.25.0"),
                _package("tree-sitter-ruby", "0.23.1"),
                _package("tree-sitter-rust", "0.24.0"),
                _package("tree-sitter-scala", "0.25.1"),
                _package("tree-sitter-swift", "0.7.2"),
                _package("tree-sitter-typescript", "0.23.2"),
            ),
        ),
        Extra(
            "index",
            "search a project's code by meaning, offline",
            233,
            (
                _package("numpy", "2.1"),
                _package("qdrant-edge-py", "0.9", "qdrant_edge", below="0.10"),
                _package("wordllama", "0.4", python_below=(3, 14)),
            ),
            includes=("code",),
        ),
        Extra(
            "qdrant",
            "keep the index of a project's code on a Qdrant server",
            261,
            (_package("qdrant-client", "1.13"),),
            includes=("index",),
        ),
        Extra(
            "llm",
            "ask language models",
            47,
            (_package("anthropic", "0.50"), _package("openai", "1.60")),
        ),
        Extra(
            "toolkit",
            "run experiments of Chaos Toolkit",
            5,
            (_package("chaostoolkit-lib", "1.42", "chaoslib", "jsonpath2"),),
        ),
        Extra(
            "tls",
            "speak TLS to clients, and look into HTTPS",
            16,
            (_package("cryptography", "45.0"),),
        ),
        Extra(
            "oidc",
            "check tokens of an OpenID Connect provider",
            16,
            (_package("PyJWT", "2.10.1", "jwt"),),
        ),
        Extra(
            "dist",
            "send a load from a Dask cluster",
            36,
            (_package("distributed", "2025.1.0"),),
        ),
        Extra(
            "kubernetes",
            "send a load from the pods of a Kubernetes cluster",
            153,
            (_package("kubernetes", "31.0", "kubernetes", "websocket"),),
        ),
        Extra("postgres", "keep the audit log in PostgreSQL", 26, (_package("psycopg", "3.2.10"),)),
        Extra("serve", "`fault serve` for a team: tokens and PostgreSQL", 42, includes=("oidc", "postgres")),
        Extra(
            "agent",
            "serve tools to coding agents over MCP",
            289,
            (_package("mcp", "2.3", "mcp", "mcp_types", below="3"),),
            includes=("code", "index", "llm"),
        ),
        Extra(
            "all",
            "everything",
            531,
            includes=(
                "agent",
                "code",
                "dist",
                "index",
                "kubernetes",
                "llm",
                "oidc",
                "postgres",
                "qdrant",
                "serve",
                "tls",
                "toolkit",
            ),
        ),
    )
}


def packages_of(extra: str) -> Iterator[Package]:
    """Yield the packages of an extra and of those that it includes, each once."""
    return iter(dict.fromkeys(_packages_of(extra)))


def _packages_of(extra: str) -> Iterator[Package]:
    found = EXTRAS[extra]
    yield from found.packages
    for name in found.includes:
        yield from _packages_of(name)


def owner_of(module: str) -> tuple[Package, Extra | None] | None:
    """Return the package that brings a module and its extra, which is None for the core; None if unknown."""
    top = module.partition(".")[0]
    for package in CORE:
        if top in package.modules:
            return package, None
    for extra in EXTRAS.values():
        for package in extra.packages:
            if top in package.modules:
                return package, extra
    return None


def release_of(version: str) -> tuple[int, ...]:
    """Return the numbers of a version for a comparison: `2.0.36.post1` is 2, 0, 36."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
