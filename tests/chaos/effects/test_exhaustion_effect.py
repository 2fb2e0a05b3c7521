"""resource_exhaustion in real processes: what they take, their limits, and their end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultkit.base.errors import RunError
from faultkit.base.process_identity import birth_of
from faultkit.chaos import ChaosFault, FaultRegistry, Injection
from faultkit.chaos.effects.exhaustion_effect import Exhaustion
from faultkit.chaos.safety.ledger import Ledger
from faultkit.chaos.safety.undo import Undo, UndoResult, carry_out
from tests.chaos.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measured through /proc")

MIB = 1 << 20
SLACK_BYTES = 64 * MIB
"""Memory of an interpreter, with the slack of its limit."""


class Notes:
    """An UndoLog that keeps what is written to it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.undos: list[Undo] = []

    def intend(self, undo: Undo) -> str:
        pid = undo.data["pid"]
        held = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        self.lines.append(f"intended while it held {held // (64 * MIB) * 64} MiB")
        self.undos.append(undo)
        return "1"

    def record_undo(self, intent: str, result: UndoResult) -> None:
        self.lines.append(f"{intent} done: {result.ok}")


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def registry(notes: Notes) -> Iterator[FaultRegistry]:
    with FaultRegistry(seed=1, lease=notes) as faults:
        yield faults


def hog(resource: str, amount: float, duration_s: float = 60, **more: object) -> ChaosFault:
    metadata = {"resource": resource, "amount": amount, **more}
    return ChaosFault("hog", "resource_exhaustion", 1, duration_s, metadata=metadata)


def pid_of(notes: Notes) -> int:
    pid: int = notes.undos[-1].data["pid"]
    return pid


def limit_of(pid: int, name: str) -> int:
    """Return the hard limit."""
    for line in Path(f"/proc/{pid}/limits").read_text().splitlines():
        if line.startswith(name):
            return int(line.removeprefix(name).split()[1])
    raise AssertionError(name)


def test_memory_is_taken_and_kept_within_its_limit_and_given_back(
    registry: FaultRegistry, notes: Notes
) -> None:
    registry.register(hog("memory", 128))
    effect = registry.inject("hog").effect
    assert effect is not None
    pid = pid_of(notes)
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    assert 128 * MIB <= resident <= 128 * MIB + SLACK_BYTES
    assert effect.measured["resident_bytes"] == pytest.approx(resident, abs=4 * MIB)
    assert effect.says == f"process {pid} holds 128 MiB of memory"
    addresses = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    assert addresses <= limit_of(pid, "Max address space") <= addresses + 32 * MIB
    assert Path(f"/proc/{pid}/oom_score_adj").read_text() == "1000\n"

    registry.remove("hog")
    assert birth_of(pid) is None
    assert not Path(f"/proc/{pid}").exists()
    assert notes.lines == ["intended while it held 0 MiB", "1 done: True"]


@pytest.mark.parametrize(
    ("resource", "amount", "measured", "least", "most"),
    [
        ("descriptors", 300, "descriptors", 300, 308),
        ("threads", 50, "threads", 50, 54),
    ],
)
def test_descriptors_and_threads_are_counted_by_the_kernel(
    registry: FaultRegistry,
    notes: Notes,
    resource: str,
    amount: float,
    measured: str,
    least: int,
    most: int,
) -> None:
    registry.register(hog(resource, amount))
    registry.inject("hog")
    pid = pid_of(notes)
    counts = {
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "threads": len(os.listdir(f"/proc/{pid}/task")),
    }
    assert least <= counts[measured] <= most
    assert registry.measure("hog")[measured] == counts[measured]
    highest = max(map(int, os.listdir("/proc/self/fd")))
    assert limit_of(pid, "Max open files") <= 300 + highest + 16
    registry.remove("hog")
    assert birth_of(pid) is None


def test_a_core_is_kept_busy(registry: FaultRegistry, notes: Notes) -> None:
    registry.register(hog("cpu", 1))
    registry.inject("hog")
    before_s = registry.measure("hog")["cpu_s"]
    until(lambda: registry.measure("hog")["cpu_s"] >= before_s + 0.1)
    # The CPU time that the kernel allows: its duration and one second.
    assert limit_of(pid_of(notes), "Max cpu time") == 61


def test_disk_space_is_taken_in_a_file_without_a_name(
    registry: FaultRegistry, notes: Notes, tmp_path: Path
) -> None:
    registry.register(hog("disk", 32, folder=str(tmp_path)))
    effect = registry.inject("hog").effect
    assert effect is not None
    pid = pid_of(notes)
    assert 32 * MIB <= effect.measured["disk_bytes"] <= 33 * MIB
    held = [os.stat(f"/proc/{pid}/fd/{each}") for each in os.listdir(f"/proc/{pid}/fd")]
    assert 32 * MIB in [file.st_size for file in held if file.st_nlink == 0]
    assert limit_of(pid, "Max file size") == 32 * MIB
    assert list(tmp_path.iterdir()) == []
    registry.remove("hog")
    assert birth_of(pid) is None


def test_it_ends_by_itself_when_its_time_is_over(registry: FaultRegistry, notes: Notes) -> None:
    registry.register(hog("memory", 8, duration_s=0.05))
    registry.inject("hog")
    until(lambda: birth_of(pid_of(notes)) is None)
    until(lambda: notes.lines[-1] == "1 done: True")
    assert registry.active() == []


def test_injecting_it_again_while_it_is_active_takes_nothing_more(
    registry: FaultRegistry, notes: Notes
) -> None:
    registry.register(hog("memory", 8))
    first, second = registry.inject("hog"), registry.inject("hog")
    assert first.was_triggered
    assert second.was_triggered
    assert second.effect is not None
    assert second.effect.says == f"still at work: process {pid_of(notes)} holds 8 MiB of memory"
    assert len(notes.undos) == 1


def test_an_effect_whose_process_was_killed_is_not_active(registry: FaultRegistry, notes: Notes) -> None:
    registry.register(hog("memory", 8))
    registry.inject("hog")
    os.kill(pid_of(notes), signal.SIGKILL)
    until(lambda: not registry.active())
    assert registry.measure("hog") == {}
    assert registry.inject("hog").was_triggered
    assert len(notes.undos) == 2, "another one was begun"


def test_more_than_there_is_cannot_be_taken(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="could not be taken: no more than"):
        Exhaustion("memory", 1 << 20).begin("hog", 60, None)
    with pytest.raises(RunError, match="could not be taken: no more than"):
        Exhaustion("disk", 1 << 20, str(tmp_path)).begin("hog", 60, None)


def test_an_effect_that_cannot_be_written_down_does_not_begin(registry: FaultRegistry) -> None:
    begun: list[int] = []

    class Full(Notes):
        def intend(self, undo: Undo) -> str:
            begun.append(undo.data["pid"])
            raise RunError("no space left")

    with FaultRegistry(lease=Full()) as full:
        full.register(hog("memory", 8))
        with pytest.raises(RunError, match=r"^no space left$"):
            full.inject("hog")
    assert [birth_of(pid) for pid in begun] == [None]


def test_a_real_lease_has_its_undo_as_long_as_it_is_active(tmp_path: Path) -> None:
    lease = Ledger(tmp_path).open("a test", guarded=False)
    with FaultRegistry(lease=lease) as registry:
        registry.register(hog("memory", 8))
        registry.inject("hog")
        (undo,) = lease.left
        assert carry_out(undo).ok
        assert registry.active() == [], "any process can end it by the lease"
        registry.remove("hog")
        assert lease.left == ()
    lease.end("over")


def test_a_task_that_is_cancelled_while_it_begins_leaves_nothing_behind(
    registry: FaultRegistry, notes: Notes
) -> None:
    registry.register(hog("memory", 8))

    async def main() -> None:
        beginning = asyncio.create_task(registry.ainject("hog"))
        await asyncio.sleep(0)
        beginning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await beginning

    asyncio.run(main())
    until(lambda: notes.undos and birth_of(pid_of(notes)) is None)


def test_the_loop_goes_on_while_it_begins(registry: FaultRegistry) -> None:
    registry.register(hog("memory", 8))

    async def main() -> tuple[int, Injection]:
        beginning = asyncio.create_task(registry.ainject("hog"))
        rounds = 0
        while not beginning.done():
            rounds += 1
            await asyncio.sleep(0.001)
        return rounds, await beginning

    rounds, injection = asyncio.run(main())
    assert injection.was_triggered
    assert rounds > 1


OWNER = """
import threading, time
from faultkit.chaos.effects.exhaustion_effect import Exhaustion

def begin():
    print(Exhaustion("memory", 16).begin("hog", 60, None).pid, flush=True)

threading.Thread(target=begin).start()
time.sleep(60)
"""


def test_it_ends_when_its_parent_is_killed() -> None:
    # Started by a thread other than the main one, as a task does: a signal of the kernel would not help.
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    with owner:
        pid = int(owner.stdout.readline())
        assert birth_of(pid) is not None
        owner.kill()
    until(lambda: birth_of(pid) is None)


def test_the_kernel_ends_it_if_nothing_else_does() -> None:
    held = Exhaustion("memory", 8).begin("hog", 0.1, None)
    assert held.is_active
    until(lambda: not held.is_active)
    assert held.end().ok
