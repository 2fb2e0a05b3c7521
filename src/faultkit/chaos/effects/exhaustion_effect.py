"""resource_exhaustion: a child process that holds memory, descriptors, threads, CPU or disk of this machine.

Here are the settings and the parent's view of the child; the child itself is `exhaust_child`.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from faultkit.base.child_process import ChildProcess
from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA, choice
from faultkit.base.errors import InputError, RunError
from faultkit.base.process_identity import birth_of
from faultkit.chaos.effects.lasting_effect import (
    Measured,
    NoUndoLog,
    UndoLog,
    number,
    optional_text,
)
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.safety.undo import Undo, UndoResult

MIB = 1 << 20
_SPARE_BYTES = 64 * MIB
"""Memory and disk that are always left free."""
_SPARE_DESCRIPTORS = 64
_CHILD_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of resource: its unit and its bounds."""

    unit: str
    usual: float
    least: float
    most: float
    limit: str
    """Name of the field of Limits that caps it."""
    per_unit: int = 1
    """Amount of that field for one unit."""
    whole: bool = True


RESOURCES: dict[str, Resource] = {
    "memory": Resource("MiB", 256, 1, 65_536, "most_memory_bytes", per_unit=MIB),
    "descriptors": Resource("descriptors", 1024, 1, 524_288, "most_descriptors"),
    "threads": Resource("threads", 100, 1, 32_768, "most_threads"),
    "cpu": Resource("cores", 1, 0.05, 1024, "most_cpus", whole=False),
    "disk": Resource("MiB", 256, 1, 524_288, "most_disk_bytes", per_unit=MIB),
}
"""The resources by their names in `metadata.resource`."""
EXHAUSTION_METADATA = KeyTable(
    Key("resource", choice(tuple(RESOURCES)), {"enum": list(RESOURCES)}, "memory", "What is taken."),
    Key(
        "amount",
        schema={"type": "number"},
        help="How much of it: MiB of memory or disk (256 by default), descriptors (1024), threads (100), "
        "cores of cpu (1).",
    ),
    Key(
        "folder",
        optional_text("a folder on the disk to fill"),
        TEXT_SCHEMA,
        help="Of disk: a folder on the disk to fill; by default that of temporary files.",
    ),
    has_nulls=False,
)


@dataclass(frozen=True, slots=True)
class Exhaustion:
    """Which resource is taken, and how much of it: a StartableEffect."""

    resource: str
    amount: float
    """In the unit of the resource."""
    folder: str = ""
    """A folder on the disk that is filled."""

    @property
    def says(self) -> str:
        unit = RESOURCES[self.resource].unit
        of = f"{unit} of {self.resource}" if unit in ("MiB", "cores") else unit
        return f"{self.amount:g} {of}" + (f" in {self.folder}" if self.folder else "")

    def check(self, limits: Limits, *, targets_too: bool) -> None:
        row = RESOURCES[self.resource]
        most = getattr(limits, row.limit) / row.per_unit
        if self.amount > most:
            raise InputError(
                "metadata.amount",
                f"expected at most {most:g} {row.unit}, got {self.amount:g}; only the limits can raise it",
            )

    def begin(self, name: str, lasts_s: float, lease: UndoLog | None) -> ExhaustionEffect:
        """Start the child and let it take the resource. Raises RunError if so much is not available."""
        _check_available(self)
        child = ChildProcess(
            "faultkit.chaos.effects.exhaust_child:ExhaustChild",
            self.resource,
            self.amount,
            self.folder,
            lasts_s,
            name="the process that takes it",
        )
        try:
            # The child runs but has taken nothing yet: its end is written down now, before the effect starts.
            child.ready(_CHILD_TIMEOUT_S)
            effect = ExhaustionEffect(self, child, lease or NoUndoLog())
        except BaseException:
            child.close()
            raise
        try:
            effect.take()
        except BaseException as error:
            effect.end()
            if isinstance(error, RunError):
                raise RunError(f"{self.says} could not be taken: {error}") from None
            raise
        return effect


class ExhaustionEffect:
    """The child process that holds the resource: a LastingEffect."""

    def __init__(self, exhaustion: Exhaustion, child: ChildProcess, log: UndoLog) -> None:
        self.pid = child.pid
        self._says = exhaustion.says
        self._child = child
        self._birth = birth_of(child.pid) or ""
        self._disk_bytes = 0
        self._log = log
        self._lock = threading.Lock()
        self._result: UndoResult | None = None
        undo = Undo(
            "end_process",
            {"pid": self.pid, "birth": self._birth},
            f"end process {self.pid}, which holds {exhaustion.says}",
        )
        self._intent = log.intend(undo)

    def take(self) -> None:
        """Let the child take the resource. Raises RunError if it cannot."""
        self._child.call("take", timeout_s=_CHILD_TIMEOUT_S)
        self._disk_bytes = self._child.call("disk_bytes", timeout_s=_CHILD_TIMEOUT_S)

    @property
    def says(self) -> str:
        return f"process {self.pid} holds {self._says}"

    @property
    def is_active(self) -> bool:
        return self._result is None and birth_of(self.pid) == self._birth

    def measure(self) -> Measured:
        """Return the counts of the kernel; empty once the child has ended, or where there is no /proc."""
        usage = usage_of(self.pid) if self.is_active else {}
        return {**usage, "disk_bytes": self._disk_bytes} if usage else {}

    def hits(self) -> int:
        return 1  # The resource is taken, whether others want it or not.

    def end(self) -> UndoResult:
        with self._lock:
            if self._result is None:
                self._child.close()
                self._result = UndoResult(True, f"process {self.pid} has ended")
                self._log.record_undo(self._intent, self._result)
            return self._result


def usage_of(pid: int) -> Measured:
    """Return the memory, open files, threads and CPU time of a process of this machine."""
    place = Path(f"/proc/{pid}")
    try:
        resident = int((place / "statm").read_text().split()[1])
        # The program's name is in parentheses and may contain anything.
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


def _check_available(exhaustion: Exhaustion) -> None:
    available = {
        "memory": _available_bytes,
        "disk": lambda: shutil.disk_usage(exhaustion.folder).free,
        "descriptors": _descriptors_allowed,
    }.get(exhaustion.resource)
    if available is None:
        return
    is_bytes = exhaustion.resource != "descriptors"
    unit, spare = (MIB, _SPARE_BYTES) if is_bytes else (1, _SPARE_DESCRIPTORS)
    most = max(0, available() - spare) // unit
    if exhaustion.amount > most:
        raise RunError(f"{exhaustion.says} could not be taken: no more than {most} is available")


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


def read_exhaustion(targets: tuple[str, ...], metadata: Mapping[str, object]) -> Exhaustion:
    """Return the settings of an exhaustion. EXHAUSTION_METADATA are the keys of the metadata."""
    reader = MappingReader(metadata, EXHAUSTION_METADATA, "metadata")
    if targets:
        raise InputError("targets", "expected none: resource_exhaustion is of this machine")
    resource = reader.take("resource")
    row = RESOURCES[resource]
    given = metadata.get("amount", row.usual)
    amount = number(given, "metadata.amount", row.least, row.most, whole=row.whole)
    folder = reader.take("folder")
    if resource != "disk":
        if folder is not None:
            raise InputError("metadata.folder", f"expected only with disk, got it with {resource}")
        return Exhaustion(resource, amount)
    folder = folder or tempfile.gettempdir()
    if not os.path.isdir(folder):
        raise InputError("metadata.folder", f'expected a folder, got "{folder}"')
    return Exhaustion(resource, amount, folder)
