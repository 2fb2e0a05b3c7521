"""What a process and its children use while they are measured: processor, open files, memory. Linux only;
elsewhere nothing is measured."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from faultkit.base.sample_statistics import effective_count
from faultkit.code.proof.verdict import CPU, MEMORY, OPEN_FILES, Mean

_EVERY_S = 0.2
_MB = 1_000_000
_FEWEST = 3
"""Samples without which there is no mean."""


class Usage(NamedTuple):
    """What a group of processes uses at one instant."""

    cpu_s: float
    open_files: int
    memory_bytes: int


def usage_of(pid: int) -> Usage | None:
    """Return what a process and its children use; None if that cannot be read."""
    total = Usage(0.0, 0, 0)
    try:
        tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
        for each in _with_children(pid):
            place = Path(f"/proc/{each}")
            # The name, in parentheses, may contain anything.
            fields = place.joinpath("stat").read_text().rpartition(")")[2].split()
            total = Usage(
                total.cpu_s + (int(fields[11]) + int(fields[12])) / tick,
                total.open_files + len(os.listdir(place / "fd")),
                total.memory_bytes + int(fields[21]) * page,
            )
    except (OSError, ValueError, IndexError):
        return None
    return total


def _with_children(pid: int) -> list[int]:
    found = [pid]
    for each in found:
        # Each thread has a file of the children that it started.
        for thread in Path(f"/proc/{each}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, thread.read_text().split())
    return found


class UsageMeter:
    """Takes samples of a process in a thread, as a context manager."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._samples: list[Usage] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fault-usage", daemon=True)

    def __enter__(self) -> UsageMeter:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            if (found := usage_of(self._pid)) is not None:
                self._samples.append(found)
            if self._over.wait(_EVERY_S):
                return

    def costs(self, calls: int) -> dict[str, Mean]:
        """Return the means of what was used, and the processor's time for each of the calls."""
        return usage_costs(self._samples, calls)


def usage_costs(samples: Sequence[Usage], calls: int) -> dict[str, Mean]:
    """Return the means of samples that were taken at equal distances, by name of the cost."""
    if len(samples) < _FEWEST + 1 or not calls:
        return {}
    spent_ms = [1000 * (b.cpu_s - a.cpu_s) for a, b in pairwise(samples)]
    # The time between two samples is that of so many calls.
    share = calls / len(spent_ms)
    return {
        CPU.name: _mean([each / share for each in spent_ms]),
        OPEN_FILES.name: _mean([float(each.open_files) for each in samples]),
        MEMORY.name: _mean([each.memory_bytes / _MB for each in samples]),
    }


def _mean(values: Sequence[float]) -> Mean:
    return Mean.of(fmean(values), stdev(values), effective_count(len(values), len(values) - 1))
