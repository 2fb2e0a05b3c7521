"""The child process of resource_exhaustion: it takes what it is told to, under limits that the kernel keeps.

It always ends: with its parent (`faultkit.base.child_process`), and by an alarm of the kernel that needs no
line of ours to run. Disk space it takes in a file without a name.
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

_SLACK_BYTES = 32 << 20
"""For the interpreter itself, beyond what it holds when the limits are set."""
_SPARE_DESCRIPTORS = 8
_STACK_BYTES = 256 << 10
_THREAD_BYTES = 2 * _STACK_BYTES
_WORK = bytes(1 << 20)
"""Large enough that hashing it lets go of the interpreter's lock: threads use as many cores."""
_TURN_S = 0.02
_LATE_S = 1.0
"""The parent ends it in time; so much later the kernel does."""
_M_ARENA_MAX = -8
_PAGE_BYTES = mmap.PAGESIZE


class Hoard:
    """Made with its limits set; it takes nothing before it is asked to."""

    def __init__(self, parent: Parent, kind: str, amount: float, folder: str, lasts_s: float) -> None:
        self._take = _TAKERS[kind]
        self._amount = amount
        self._folder = folder
        self._held: list[object] = []
        _end_by_alarm(lasts_s + _LATE_S)
        _be_the_first_to_go()
        _limit(kind, amount, lasts_s)

    def take(self) -> None:
        """RunError: it could not take as much."""
        try:
            self._take(self._held, self._amount, self._folder)
        except (MemoryError, OSError, RuntimeError) as error:
            self._held.clear()
            raise RunError(f"{error}" if str(error) else type(error).__name__) from None

    def disk_bytes(self) -> int:
        """That its files really occupy."""
        return sum(os.fstat(held).st_blocks * 512 for held in self._held if isinstance(held, int))


def _end_by_alarm(seconds: float) -> None:
    # What the parent had set for itself is inherited.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _be_the_first_to_go() -> None:
    """If memory does run out, nothing but this process shall be killed for it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _limit(kind: str, amount: float, lasts_s: float) -> None:
    size = int(amount * (1 << 20))
    cores = math.ceil(amount) if kind == "cpu" else 1
    threads = {"threads": int(amount), "cpu": cores}.get(kind, 0)
    cpu_s = math.ceil((lasts_s + _LATE_S) * cores) if kind == "cpu" else 60
    descriptors = int(amount) if kind == "descriptors" else 0
    if sys.platform == "linux":
        # Else each thread may set 64 MiB of addresses aside for itself.
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * _PAGE_BYTES
        more = (size if kind == "memory" else 0) + threads * _THREAD_BYTES
        _no_more_than(resource.RLIMIT_AS, taken + _SLACK_BYTES + more)
    _no_more_than(resource.RLIMIT_NOFILE, _open_descriptors() + descriptors + _SPARE_DESCRIPTORS)
    _no_more_than(resource.RLIMIT_CPU, cpu_s)
    _no_more_than(resource.RLIMIT_FSIZE, size if kind == "disk" else 0)
    _no_more_than(resource.RLIMIT_CORE, 0)


def _no_more_than(limit: int, most: int) -> None:
    _, hard = resource.getrlimit(limit)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(limit, (most, most))


def _open_descriptors() -> int:
    """One above the highest: the limit is on the number, not on how many there are."""
    return max(map(int, os.listdir("/dev/fd"))) + 1


def _take_memory(held: list[object], amount: float, folder: str) -> None:
    size = int(amount * (1 << 20))
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    held.append(memory)
    for place in range(0, size, _PAGE_BYTES):
        memory[place] = 1


def _take_descriptors(held: list[object], amount: float, folder: str) -> None:
    for _ in range(int(amount)):
        # Not copies of one: each is an open file of its own to the kernel.
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
