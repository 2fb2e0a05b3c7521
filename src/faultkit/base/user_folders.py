"""The folders where a user keeps state and caches, by the XDG base directory specification.

Own code instead of platformdirs, because that reads the environment of the process only, and ignores the XDG
variables on macOS. The environment is a parameter here, and nothing is created.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

_NAME = "faultkit"


def state_folder(env: Mapping[str, str]) -> Path:
    """Return Faultkit's folder for state: data that cannot be made again, such as the audit log."""
    return _folder(env, "XDG_STATE_HOME", ".local/state", "Library/Application Support")


def cache_folder(env: Mapping[str, str]) -> Path:
    """Return Faultkit's folder for caches: data that can be made again, such as an index."""
    return _folder(env, "XDG_CACHE_HOME", ".cache", "Library/Caches")


def _folder(env: Mapping[str, str], variable: str, usual: str, on_macos: str) -> Path:
    # The specification says that a relative path is invalid and to be ignored.
    given = Path(env.get(variable, ""))
    if given.is_absolute():
        return given / _NAME
    home = Path(env.get("HOME") or Path.home())
    return home / (on_macos if sys.platform == "darwin" else usual) / _NAME
