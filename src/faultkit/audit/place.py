"""Where the audit log is kept if nobody says so, and what a `--store` means."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

MEMORY = "memory:"
STORE_FORM = "a file, postgresql://USER@HOST/DATABASE or memory:"


def default_store(env: Mapping[str, str]) -> Path:
    """In the user's folder for state: not a cache, since it cannot be made again."""
    home = Path(env.get("HOME") or Path.home())
    usual = (
        home / "Library" / "Application Support" if sys.platform == "darwin" else home / ".local" / "state"
    )
    return Path(env.get("XDG_STATE_HOME") or usual) / "faultkit" / "audit.db"
