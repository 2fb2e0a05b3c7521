"""Facts and limits of the machine. Nothing here may name the host or one of its folders."""

from __future__ import annotations

import os
import platform
import resource
import shutil
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).parent
PROJECT = BENCH.parent
OUT = BENCH / "out"

_DEBIAN_PACKAGE = {
    "haproxy": "haproxy",
    "nginx": "nginx libnginx-mod-stream",
    "wrk": "wrk",
    "hey": "hey",
    "h2load": "nghttp2-client",
    "cc": "gcc libc6-dev",
}
_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"


@dataclass(frozen=True, slots=True)
class Machine:
    cores: int
    system: str
    python: str
    open_files: int
    """Return the highest possible limit of descriptors: a proxy needs two a connection."""

    def sentence(self) -> str:
        return f"{self.cores} cores, {self.system}, Python {self.python}, {self.open_files:,} open files"


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """CPU times of the machine since its start, in clock ticks."""

    total: int
    steal: int


def describe() -> Machine:
    major, minor = platform.release().split(".")[:2]
    return Machine(
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {major}.{minor}",
        python=platform.python_version(),
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    )


def raise_open_files(wanted: int) -> int:
    """Raise the limit for this process and its children as far as allowed; return the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in ((wanted, max(wanted, hard)), (min(wanted, hard), hard)):
        if soft >= wanted:
            break
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
            break
        except (ValueError, OSError):
            continue
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def find_program(name: str) -> str | None:
    """Return the path of a program, also from sbin, where Debian has daemons."""
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{_SBIN}")


def missing(name: str) -> str | None:
    """Return None if the program is installed; otherwise what to install."""
    if find_program(name):
        return None
    package = _DEBIAN_PACKAGE.get(name, name)
    return f"{name} is not installed: apt-get install {package} (or run bench/install.sh)"


def cpu_times() -> CpuTimes:
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return CpuTimes(total=sum(fields[:8]), steal=fields[7])


def steal_percent(before: CpuTimes, after: CpuTimes) -> float:
    """Return the share of time that the hypervisor took: above 2 %, figures are not reliable."""
    return 100 * (after.steal - before.steal) / max(after.total - before.total, 1)
