"""Processes that always end: started in an ExitStack, ended by its unwinding, also on Ctrl-C and SIGTERM.

Also their cost: CPU time and memory of a process with all its children.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

START_LIMIT_S = 30.0
_END_LIMIT_S = 3.0
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


class StartError(Exception):
    """A program did not start; the text names it and its output."""


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def running(
    command: Sequence[str], log: Path, stdout: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program in its own process group, and end the whole group afterwards."""
    with ExitStack() as files:
        errors = files.enter_context(log.open("wb"))
        output: IO[bytes] = files.enter_context(stdout.open("wb")) if stdout else errors
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
        try:
            yield process
        finally:
            end_group(process)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End the group, by SIGTERM and then SIGKILL. Its id is the process's own, which leads its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_LIMIT_S)
    # Children may outlive their parent, so the rest of the group is killed in any case.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(_END_LIMIT_S)


@contextmanager
def end_on_sigterm() -> Iterator[None]:
    """Make SIGTERM unwind the stack as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def free_ports(count: int) -> list[int]:
    """Return different ports that were free a moment ago."""
    with ExitStack() as stack:
        ports = []
        for _ in range(count):
            listener = stack.enter_context(socket.socket())
            listener.bind(("127.0.0.1", 0))
            ports.append(int(listener.getsockname()[1]))
        return ports


def wait_for_ports(ports: Sequence[int], process: subprocess.Popen[bytes], name: str, log: Path) -> None:
    """Wait until all ports accept connections."""
    end_s = time.monotonic() + START_LIMIT_S
    for port in ports:
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            if process.poll() is not None or time.monotonic() > end_s:
                raise StartError(f"{name} did not start: {last_line(log)}")
            time.sleep(0.01)


def last_line(log: Path) -> str:
    """Return the last line only: earlier lines may name folders of this machine."""
    return (log.read_text(errors="replace").strip().splitlines() or ["it printed nothing"])[-1]


def with_children(pids: Sequence[int]) -> list[int]:
    """Return the processes and all their descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                # The name in brackets may hold spaces and brackets: fields are counted from its end.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = list(pids)
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def cpu_ns(pids: Sequence[int]) -> int:
    """Return the user and system time of all threads of these processes, to the nanosecond."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            # How Linux names the CPU clock of another process; see clock_getcpuclockid(3).
            total += time.clock_gettime_ns((~pid << 3) | 2)
    return total


def thread_cpu_ns(pid: int) -> dict[int, int]:
    """Return the CPU time of each thread of a process, by thread; the first has the number of the process."""
    found = {}
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found[int(task.name)] = int((task / "schedstat").read_text().split()[0])
    return found


def wakeups(pid: int) -> int:
    """Return how often the first thread of a process has slept."""
    for line in Path(f"/proc/{pid}/task/{pid}/status").read_text().splitlines():
        if line.startswith("voluntary_ctxt_switches:"):
            return int(line.split()[1])
    return 0


def memory_bytes(pids: Sequence[int]) -> int:
    """Return the proportional set size, in which pages shared by parent and children count once."""
    return sum(_proc_bytes(pid, "smaps_rollup", "Pss:") for pid in pids)


def resident_bytes(pids: Sequence[int]) -> int:
    """Return the resident set size, in which pages that other programs share count in full."""
    return sum(_proc_bytes(pid, "status", "VmRSS:") for pid in pids)


def peak_memory_bytes(pids: Sequence[int]) -> int:
    return sum(_proc_bytes(pid, "status", "VmHWM:") for pid in pids)


def _proc_bytes(pid: int, file: str, field: str) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0
