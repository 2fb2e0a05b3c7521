"""Processes by number and birth: a number alone may be another's by now."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def birth_of(pid: int) -> str | None:
    """When it was born, in the words of the system; None if there is no such process, or only its remains."""
    if sys.platform == "linux":
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        # The name of the program stands in parentheses, and may hold anything.
        state, *rest = stat.rpartition(")")[2].split()
        return None if state in "ZX" else rest[18]
    shown = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True)
    state, _, born = shown.stdout.strip().partition(" ")
    return None if not born or state.startswith("Z") else born.strip()


def is_same(pid: int, birth: str) -> bool:
    return birth_of(pid) == birth


def group_lives(group: int) -> bool:
    """Whether anybody of a process group runs; remains do not count."""
    if sys.platform == "linux":
        return any(_group_of(folder) == group for folder in Path("/proc").glob("[0-9]*"))
    shown = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True)
    members = (line.split() for line in shown.stdout.splitlines())
    return any(number == str(group) and not state.startswith("Z") for number, state in members)


def _group_of(folder: Path) -> int | None:
    try:
        state, _, group, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state in "ZX" else int(group)


def this_boot() -> str:
    """What is measured on the monotonic clock holds for one boot only."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"{os.uname().nodename}-unknown"
