"""Hides packages from an interpreter, as if they were not installed. Only tests use it.

Python imports a module of this name when it starts, if it is on PYTHONPATH. The processes that it starts
inherit that, so that they lack the same packages.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

HIDDEN = frozenset(os.environ.get("FAULTKIT_TEST_HIDDEN_MODULES", "").split(","))


class Hider(MetaPathFinder):
    """Raises what Python raises for a module that is not installed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


sys.meta_path.insert(0, Hider())
