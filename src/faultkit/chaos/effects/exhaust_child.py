"""The child process of resource_exhaustion: it takes a resource, under limits that the kernel enforces.

It always ends: with its parent (`faultkit.base.child_process`), and by an alarm of the kernel, which works
even if no Python code runs any more. Disk space is taken in a file without a name, so that nothing is left
behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import math
import mmap
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from faultkit.base.child_process import Parent
from faultkit.base.errors import RunError
from faultkit.base.signals import reset_signal

_SLACK_BYTES = 32 << 20
"""Memory that the interpreter itself may still need after the limits are set."""
_SPARE_DESCRIPTORS = 8
_STACK_BYTES = 256 << 10
_THREAD_BYTES = 2 * _STACK_BYTES
_WORK = bytes(1 << 20)
"""Input of the CPU burner. Large enough that hashlib releases the GIL, so that each thread uses a core."""
_TURN_S = 0.02
_LATE_S = 1.0
"""The parent ends the child in time; the kernel does it this many seconds later."""
_M_ARENA_MAX = -8
_PAGE_BYTES = mmap.PAGESIZE


class ExhaustChild:
    """Sets its limits when it is made, and takes nothing before `take` is called."""

    def __init__(self, parent: Parent, kind: str, amount: float, folder: str, lasts_s: float) -> None:
        self._take = _TAKERS[kind]
        self._amount = amount
        self._folder = folder
        self._held: list[object] = []
        _end_by_alarm(lasts_s + _LATE_S)
        _prefer_as_oom_victim()
        _limit(kind, amount, lasts_s)

    def take(self) -> None:
        """Take the resource. Raises RunError if the system does not give as much."""
        try:
            self._take(self._held, self._amount, self._folder)
        except (MemoryError, OSError, RuntimeError) as error:
            self._held.clear()
            raise RunError(f"{error}" if str(error) else type(error).__name__) from None

    def disk_bytes(self) -> int:
        """Return the disk space that its files occupy."""
        return sum(os.fstat(held).st_blocks * 512 for held in self._held if isinstance(held, int))


def _end_by_alarm(seconds: float) -> None:
    # Handlers and masks of the parent are inherited: restore the default, which ends the process.
    reset_signal(signal.SIGALRM)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _prefer_as_oom_victim() -> None:
    # If memory does run out, the kernel must kill this process and no other.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _limit(kind: str, amount: float, lasts_s: float) -> None:
    size = int(amount * (1 << 20))
    cores = math.ceil(amount) if kind == "cpu" else 1
    threads = {"threads": int(amount), "cpu": cores}.get(kind, 0)
    cpu_s = math.ceil((lasts_s + _LATE_S) * cores) if kind == "cpu" else 60
    descriptors = int(amount) if kind == "descriptors" else 0
    if sys.platform == "linux":
        # Otherwise glibc reserves 64 MiB of address space for each thread.
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * _PAGE_BYTES
        more = (size if kind == "memory" else 0) + threads * _THREAD_BYTES
        _set_limit(resource.RLIMIT_AS, taken + _SLACK_BYTES + more)
    # RLIMIT_NOFILE limits the number of a descriptor, not how many are open.
    first_free = max(map(int, os.listdir("/dev/fd"))) + 1
    _set_limit(resource.RLIMIT_NOFILE, first_free + descriptors + _SPARE_DESCRIPTORS)
    _set_limit(resource.RLIMIT_CPU, cpu_s)
    _set_limit(resource.RLIMIT_FSIZE, size if kind == "disk" else 0)
    _set_limit(resource.RLIMIT_CORE, 0)


def _set_limit(limit: int, most: int) -> None:
    _, hard = resource.getrlimit(limit)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(limit, (most, most))


def _take_memory(held: list[object], amount: float, folder: str) -> None:
    size = int(amount * (1 << 20))
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    held.append(memory)
    for place in range(0, size, _PAGE_BYTES):
        memory[place] = 1


def _take_descriptors(held: list[object], amount: float, folder: str) -> None:
    for _ in range(int(amount)):
        # Not duplicates of one descriptor: each counts as an open file.
        held.append(os.open(os.devnull, os.O_RDONLY))


def _take_threads(held: list[object], amount: float, folder: str) -> None:
    threading.stack_size(_STACK_BYTES)
    forever = threading.Event()
    for _ in range(int(amount)):
        thread = threading.Thread(target=forever.wait, daemon=True)
        thread.start()
        held.append(thread)


def _take_cpu(held: list[object], amount: float, folder: str) -> None:
    for number in range(math.ceil(amount)):
        share = min(1.0, amount - number)
        thread = threading.Thread(target=_burn, args=(share,), daemon=True)
        thread.start()
        held.append(thread)


def _burn(share: float) -> None:
    while True:
        began = time.thread_time()
        while time.thread_time() - began < _TURN_S * share:
            hashlib.sha256(_WORK)
        if share < 1:
            time.sleep(_TURN_S * (1 - share))


def _take_disk(held: list[object], amount: float, folder: str) -> None:
    size = int(amount * (1 << 20))
    with tempfile.TemporaryFile(dir=folder) as file:
        descriptor = os.dup(file.fileno())
    held.append(descriptor)
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    for _ in range(0, size, len(_WORK)):
        os.write(descriptor, _WORK)


_TAKERS: dict[str, Callable[[list[object], float, str], None]] = {
    "memory": _take_memory,
    "descriptors": _take_descriptors,
    "threads": _take_threads,
    "cpu": _take_cpu,
    "disk": _take_disk,
}
