"""An environment with the packages of the core alone, made of the one that runs the tests."""

from __future__ import annotations

import os
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from faultkit.base.extras import CORE, packages_of

HERE = Path(__file__).parent
MOST_PACKAGES = 30


def distributions_of(names: list[str]) -> set[str]:
    """Return the packages with these names, and all that they need here."""
    found: set[str] = set()
    left = [canonicalize_name(name) for name in names]
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        for text in metadata.requires(name) or ():
            need = Requirement(text)
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                left.append(canonicalize_name(need.name))
    return found


@cache
def hidden_modules(*extras: str) -> frozenset[str]:
    """Return the modules that an installation with these extras lacks."""
    packages = [*CORE, *(package for extra in extras for package in packages_of(extra))]
    kept = distributions_of([package.name for package in packages]) | {"faultkit"}
    by_module = metadata.packages_distributions()
    return frozenset(
        module for module, owners in by_module.items() if not kept & set(map(canonicalize_name, owners))
    )


def environment(folder: Path, *extras: str) -> dict[str, str]:
    """Return the variables of a process that has the core, these extras, and no settings of the user."""
    keys = ("_API_KEY", "FAULT_")
    own = {name: value for name, value in os.environ.items() if not any(key in name for key in keys)}
    return own | {
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PYTHONPATH": str(HERE),
        "FAULTKIT_TEST_HIDDEN_MODULES": ",".join(sorted(hidden_modules(*extras))),
    }
