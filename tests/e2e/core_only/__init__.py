"""An environment with the packages of the core alone, made of the one that runs the tests."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.smoke import without_settings

HERE = Path(__file__).parent
PROJECT = tomllib.loads((HERE.parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
MOST_PACKAGES = 30


@cache
def distributions_of(*extras: str) -> frozenset[str]:
    """Return the packages of an installation with these extras: those of pyproject.toml, and their needs."""
    optional = PROJECT["optional-dependencies"]
    left = [Requirement(text) for text in PROJECT["dependencies"]]
    left += [Requirement(f"faultkit[{name}]") for name in extras]
    found: set[tuple[str, str]] = set()
    while left:
        need = left.pop()
        name = canonicalize_name(need.name)
        for extra in ("", *need.extras):
            if (name, extra) in found:
                continue
            found.add((name, extra))
            if name == "faultkit":
                left += [Requirement(text) for text in optional.get(extra, ())]
                continue
            for text in metadata.requires(name) or ():
                further = Requirement(text)
                if further.marker is None or further.marker.evaluate({"extra": extra}):
                    left.append(further)
    return frozenset({name for name, _ in found} | {"faultkit"})


@cache
def hidden_modules(*extras: str) -> frozenset[str]:
    """Return the modules that an installation with these extras lacks."""
    kept = distributions_of(*extras)
    by_module = metadata.packages_distributions()
    return frozenset(
        module for module, owners in by_module.items() if not kept & set(map(canonicalize_name, owners))
    )


def environment(folder: Path, *extras: str) -> dict[str, str]:
    """Return the variables of a process that has the core, these extras, and no settings of the user."""
    return without_settings(folder) | {
        "PYTHONPATH": str(HERE),
        "FAULTKIT_TEST_HIDDEN_MODULES": ",".join(sorted(hidden_modules(*extras))),
    }
