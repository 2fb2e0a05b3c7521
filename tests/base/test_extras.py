"""The table of packages: it says what pyproject.toml says, and covers every import of `src`."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import faultkit
from faultkit.base.extras import CORE, EXTRAS, LEAST_PYTHON, Package, owner_of, packages_of, release_of
from faultkit.code.languages import LANGUAGES

PACKAGE = Path(faultkit.__file__).parent
ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TOOLS_OF_THE_USER = {
    "pytest": "the plugins are only imported by pytest itself",
    "hypothesis": "faultkit.testing is for people who have it already",
}
"""Modules that no extra brings."""


def table(packages: tuple[Package, ...]) -> dict[str, tuple[str, str]]:
    return {canonicalize_name(each.name): range_of(each) for each in packages}


def range_of(package: Package) -> tuple[str, str]:
    """Return the range of versions and the marker, as pyproject.toml has them."""
    below = f",<{package.below}" if package.below else ""
    python = package.python_below
    marker = f'python_version < "{python[0]}.{python[1]}"' if python else ""
    return str(Requirement(f"x>={package.at_least}{below}").specifier), marker


def written(requirements: list[str]) -> tuple[dict[str, tuple[str, str]], set[str]]:
    """Return the packages with their versions, and the extras of Faultkit itself."""
    parsed = [Requirement(each) for each in requirements]
    packages = {
        str(canonicalize_name(each.name)): (str(each.specifier), str(each.marker or ""))
        for each in parsed
        if each.name != "faultkit"
    }
    return packages, {extra for each in parsed if each.name == "faultkit" for extra in each.extras}


def test_the_core_is_that_of_the_project_file() -> None:
    assert written(PROJECT["dependencies"]) == (table(CORE), set())
    assert PROJECT["requires-python"] == f">={LEAST_PYTHON[0]}.{LEAST_PYTHON[1]}"


def test_the_extras_are_those_of_the_project_file() -> None:
    assert set(EXTRAS) | {"dev"} == set(PROJECT["optional-dependencies"])
    for name, extra in EXTRAS.items():
        expected = (table(extra.packages), set(extra.includes))
        assert written(PROJECT["optional-dependencies"][name]) == expected, name


def test_all_includes_every_other_extra() -> None:
    assert set(EXTRAS["all"].includes) == set(EXTRAS) - {"all"}
    everything = {package for extra in EXTRAS.values() for package in extra.packages}
    assert set(packages_of("all")) == everything


@cache
def imports() -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found += ((alias.name, path.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                found.append((str(node.module), path.name))
    return tuple(found)


def test_every_import_of_another_package_is_in_the_table() -> None:
    own = {*sys.stdlib_module_names, "faultkit", *TOOLS_OF_THE_USER}
    unknown = {
        (name, file)
        for name, file in imports()
        if name.partition(".")[0] not in own and owner_of(name) is None
    }
    assert unknown == set()


def test_every_package_of_the_table_is_imported() -> None:
    used = {name.partition(".")[0] for name, _ in imports()} | {each.module for each in LANGUAGES.values()}
    by_name_only = {"psycopg": "SQLAlchemy imports it"}
    packages = [*CORE, *packages_of("all")]
    unused = {package.name for package in packages if not used & set(package.modules)}
    assert unused == set(by_name_only)


def test_the_page_of_dependencies_has_every_package_and_extra() -> None:
    page = (ROOT / "docs/dependencies.md").read_text("utf-8")
    packages = [package.name for package in (*CORE, *packages_of("all"))]
    grammars = [name for name in packages if name.startswith("tree-sitter-")]
    assert f"tree-sitter and {len(grammars)} grammars" in page
    assert [name for name in packages if name not in page and name not in grammars] == []
    for name, extra in EXTRAS.items():
        assert re.search(rf"^\| `{name}` \|.*\| \+{extra.about_mb} \|$", page, re.MULTILINE), name


def test_a_module_belongs_to_one_package() -> None:
    modules = [module for package in (*CORE, *packages_of("all")) for module in package.modules]
    assert len(modules) == len(set(modules))


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("yaml", None),
        ("tree_sitter_python", "code"),
        ("wordllama.inference", "index"),
        ("jsonpath2.path", "toolkit"),
        ("mcp_types", "agent"),
        ("jwt", "oidc"),
    ],
)
def test_a_module_is_found_with_its_extra(module: str, extra: str | None) -> None:
    found = owner_of(module)
    assert found is not None
    assert (None if found[1] is None else found[1].name) == extra


def test_a_module_of_the_user_has_no_owner() -> None:
    assert owner_of("my_app.views") is None
    assert owner_of("") is None


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("2.0", (2,)),
        ("2.0.36", (2, 0, 36)),
        ("0.4.0.post1", (0, 4)),
        ("1.1.20250722", (1, 1, 20250722)),
        ("?", ()),
    ],
)
def test_versions_are_compared_by_their_numbers(version: str, numbers: tuple[int, ...]) -> None:
    assert release_of(version) == numbers


@pytest.mark.parametrize(
    ("version", "accepted"),
    [
        ("0.25.1", False),
        ("0.25.2", True),
        ("0.25.10", True),
        ("0.25.2rc1", False),
        ("0.25.2.dev3", False),
        ("0.25.3b1", True),
        ("0.26.0", False),
        ("0.26", False),
        ("1.0", False),
    ],
)
def test_a_package_has_a_range_of_versions(version: str, accepted: bool) -> None:
    package = Package("tree-sitter", "0.25.2", ("tree_sitter",), below="0.26")
    assert package.accepts(version) is accepted
    assert package.wanted == "0.25.2 or newer, below 0.26"
