"""resource_exhaustion at work: a child process that takes a resource of this machine, seen by its parent."""

from __future__ import annotations

import os
import resource
import shutil
import sys
import threading
from pathlib import Path

from faultkit.base.child_process import ChildProcess
from faultkit.base.errors import RunError
from faultkit.chaos.effects.lasting import Lease, Measured, Unwritten
from faultkit.chaos.effects.resources import MIB, Exhaustion
from faultkit.chaos.processes import birth_of
from faultkit.chaos.undo import Undo, UndoResult

_SPARE_BYTES = 64 * MIB
"""Of memory and disk, which are never taken to the last byte."""
_SPARE_DESCRIPTORS = 64
_PATIENCE_S = 30.0


def exhaust(exhaustion: Exhaustion, lasts_s: float, lease: Lease | None) -> Hog:
    """RunError: so much is not there to be taken. Then nothing is held."""
    _check_room(exhaustion)
    child = ChildProcess(
        "faultkit.chaos.effects.hoard:Hoard",
        exhaustion.resource,
        exhaustion.amount,
        exhaustion.folder,
        lasts_s,
        name="the process that takes it",
    )
    try:
        # It is there but has taken nothing yet: now its end can be written down.
        child.ready(_PATIENCE_S)
        hog = Hog(exhaustion, child, lease or Unwritten())
    except BaseException:
        child.close()
        raise
    try:
        hog.take()
    except BaseException as error:
        hog.end()
        if isinstance(error, RunError):
            raise RunError(f"{exhaustion.says} could not be taken: {error}") from None
        raise
    return hog


class Hog:
    """The process that holds it."""

    def __init__(self, exhaustion: Exhaustion, child: ChildProcess, lease: Lease) -> None:
        self.pid = child.pid
        self._says = exhaustion.says
        self._child = child
        self._birth = birth_of(child.pid) or ""
        self._disk_bytes = 0
        self._lease = lease
        self._lock = threading.Lock()
        self._result: UndoResult | None = None
        undo = Undo(
            "end_process",
            {"pid": self.pid, "birth": self._birth},
            f"end process {self.pid}, which holds {exhaustion.says}",
        )
        self._intent = lease.intend(undo)

    def take(self) -> None:
        self._child.call("take", timeout_s=_PATIENCE_S)
        self._disk_bytes = self._child.call("disk_bytes", timeout_s=_PATIENCE_S)

    @property
    def says(self) -> str:
        return f"process {self.pid} holds {self._says}"

    @property
    def at_work(self) -> bool:
        return self._result is None and birth_of(self.pid) == self._birth

    def measure(self) -> Measured:
        """As the kernel counts it; empty once the process is gone, or where there is no /proc."""
        usage = usage_of(self.pid) if self.at_work else {}
        return {**usage, "disk_bytes": self._disk_bytes} if usage else {}

    def end(self) -> UndoResult:
        with self._lock:
            if self._result is None:
                self._child.close()
                self._result = UndoResult(True, f"process {self.pid} has ended")
                self._lease.done(self._intent, self._result)
            return self._result


def usage_of(pid: int) -> Measured:
    """What a process of this machine holds: memory, open files, threads, and the time it has computed."""
    place = Path(f"/proc/{pid}")
    try:
        resident = int((place / "statm").read_text().split()[1])
        # The name of the program stands in parentheses, and may hold anything.
        stat = (place / "stat").read_text().rpartition(")")[2].split()
        descriptors = len(os.listdir(place / "fd"))
    except OSError:
        return {}
    return {
        "resident_bytes": resident * resource.getpagesize(),
        "descriptors": descriptors,
        "threads": int(stat[17]),
        "cpu_s": (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK"),
    }


def _check_room(exhaustion: Exhaustion) -> None:
    room = {
        "memory": _available_bytes,
        "disk": lambda: shutil.disk_usage(exhaustion.folder).free,
        "descriptors": _descriptors_allowed,
    }.get(exhaustion.resource)
    if room is None:
        return
    is_bytes = exhaustion.resource != "descriptors"
    unit, spare = (MIB, _SPARE_BYTES) if is_bytes else (1, _SPARE_DESCRIPTORS)
    most = max(0, room() - spare) // unit
    if exhaustion.amount > most:
        raise RunError(f"{exhaustion.says} could not be taken: no more than {most} can be had")


def _available_bytes() -> int:
    if sys.platform != "linux":
        return sys.maxsize
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return sys.maxsize


def _descriptors_allowed() -> int:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard
