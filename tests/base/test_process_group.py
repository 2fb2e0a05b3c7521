"""Real processes, ended with everything that they started."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultkit.base.process_group import end_group, end_popen_group, kill_group, signal_group

# A leader and its child, which outlives it; each ignores SIGTERM on request.
PROGRAM = """
import os, signal, sys, time
deaf = sys.argv[2] == "deaf"
if deaf:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)
with open(sys.argv[1] + ".part", "w") as file:
    file.write(str(child))
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(60)
"""


class Leader:
    def __init__(self, folder: Path, how: str) -> None:
        file = folder / how
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(file), how], start_new_session=True
        )
        while not file.exists():
            time.sleep(0.005)
        self.child = int(file.read_text())

    async def ends_within(self, seconds: float) -> bool:
        try:
            await asyncio.to_thread(self.process.wait, seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def has_no_heirs(self) -> bool:
        """Whether the processes that it started have ended; init reaps orphans."""
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                state = Path(f"/proc/{self.child}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                return True
            if state == "Z":
                return True
            time.sleep(0.005)
        return False


@pytest.fixture
def heedful(tmp_path: Path) -> Iterator[Leader]:
    leader = Leader(tmp_path, "heedful")
    yield leader
    kill_group(leader.process.pid)
    leader.process.wait(10)


@pytest.fixture
def deaf(tmp_path: Path) -> Iterator[Leader]:
    leader = Leader(tmp_path, "deaf")
    yield leader
    kill_group(leader.process.pid)
    leader.process.wait(10)


needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@needs_proc
def test_a_leader_ends_by_sigterm_and_what_it_started_by_sigkill(heedful: Leader) -> None:
    asyncio.run(end_group(heedful.process.pid, heedful.ends_within, term_s=10, kill_s=10))
    assert heedful.process.returncode == -signal.SIGTERM
    assert heedful.has_no_heirs()


@needs_proc
def test_a_leader_that_ignores_sigterm_is_killed(deaf: Leader) -> None:
    asyncio.run(end_group(deaf.process.pid, deaf.ends_within, term_s=0.05, kill_s=10))
    assert deaf.process.returncode == -signal.SIGKILL
    assert deaf.has_no_heirs()


@needs_proc
def test_a_cancelled_end_kills_at_once(deaf: Leader) -> None:
    async def main() -> None:
        work = asyncio.create_task(
            end_group(deaf.process.pid, deaf.ends_within, term_s=60, kill_s=60),
        )
        await asyncio.sleep(0.02)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        assert await asyncio.to_thread(deaf.process.wait, 10) == -signal.SIGKILL

    asyncio.run(main())
    assert deaf.has_no_heirs()


@needs_proc
def test_without_a_loop_it_is_the_same(heedful: Leader, deaf: Leader) -> None:
    end_popen_group(heedful.process, 10)
    assert heedful.process.returncode == -signal.SIGTERM
    end_popen_group(deaf.process, 0.1)
    assert deaf.process.wait(10) == -signal.SIGKILL
    assert heedful.has_no_heirs()
    assert deaf.has_no_heirs()


def test_a_group_that_has_ended_gets_no_signal() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    ended.wait(60)
    assert not signal_group(ended.pid, signal.SIGTERM)
    kill_group(ended.pid)
    end_popen_group(ended, 1)


def test_a_process_can_end_its_own_group() -> None:
    program = "from faultkit.base.process_group import kill_own_group; kill_own_group()"
    ended = subprocess.run([sys.executable, "-c", program], start_new_session=True, env=dict(os.environ))
    assert ended.returncode == -signal.SIGKILL
