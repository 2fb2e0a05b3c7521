"""Process ids that cannot be confused: a process id with the time of its start.

The system reuses ids, so an id that was written down may belong to another process by the time it is read.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path


def birth_of(pid: int) -> str | None:
    """Return when the process started, in the system's own format; None if it has ended or is a zombie."""
    if sys.platform == "linux":
        fields = _fields_of(Path(f"/proc/{pid}"))
        return None if not fields or fields[0] in "ZX" else fields[19]
    shown = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True)
    state, _, born = shown.stdout.strip().partition(" ")
    return None if not born or state.startswith("Z") else born.strip()


def is_same_process(pid: int, birth: str) -> bool:
    """Return whether the process with this id is the one that started at `birth`."""
    return birth_of(pid) == birth


def group_is_alive(group: int) -> bool:
    """Return whether any process of a process group is running. Zombies do not count."""
    if sys.platform == "linux":
        return any(fields[0] not in "ZX" and int(fields[2]) == group for _, fields in _processes())
    shown = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True)
    members = (line.split() for line in shown.stdout.splitlines())
    return any(number == str(group) and not state.startswith("Z") for number, state in members)


def _processes() -> Iterator[tuple[int, list[str]]]:
    """Yield the id of each process that has not been reaped, and its fields (Linux)."""
    for folder in Path("/proc").glob("[0-9]*"):
        if fields := _fields_of(folder):
            yield int(folder.name), fields


def _fields_of(folder: Path) -> list[str]:
    """Return the fields of a process in /proc from its state on (proc_pid_stat(5)); none if it is gone."""
    try:
        # The program's name is in parentheses and may contain any bytes, blanks and parentheses included.
        return (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []


def descendants_of(pid: int) -> dict[int, str]:
    """Return the children of a process, their children and so on, each with the time of its start.

    A process whose parent has ended belongs to init, and is found no longer."""
    children: dict[int, list[int]] = defaultdict(list)
    for child, parent in _parents():
        children[parent].append(child)
    found: dict[int, str] = {}
    rest = children[pid]
    while rest:
        child = rest.pop()
        birth = birth_of(child)
        if birth is not None and child not in found:
            found[child] = birth
            rest += children[child]
    return found


def _parents() -> Iterator[tuple[int, int]]:
    """Yield the id of each process and that of its parent."""
    if sys.platform == "linux":
        yield from ((pid, int(fields[1])) for pid, fields in _processes())
        return
    shown = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True)
    for line in shown.stdout.splitlines():
        child, parent = line.split()
        yield int(child), int(parent)


def processes_with(variable: str, value: str) -> dict[int, str]:
    """Return the processes that were started with this variable in their environment, each with the time of
    its start: also those whose parents have ended. Linux only; elsewhere, none."""
    wanted = f"{variable}={value}".encode()
    found: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*") if sys.platform == "linux" else ():
        birth = birth_of(int(folder.name))
        # Those of other users cannot be read.
        with suppress(OSError):
            if birth is not None and wanted in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = birth
    return found


def kill_processes(births: Mapping[int, str]) -> None:
    """Send SIGKILL to processes, each with the time of its start. Those that have ended are left out."""
    for pid, birth in births.items():
        if is_same_process(pid, birth):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def boot_id() -> str:
    """Return an id of the current boot: times of the monotonic clock are valid within one boot only."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"{os.uname().nodename}-unknown"
