"""A program ends with the process that started it, also if that is killed."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from faultkit.base import process_guard
from faultkit.base.process_group import kill_group

PATIENCE_S = 60
START = """
import asyncio, sys
from faultkit.base.external_program import Program
from faultkit.mcp.upstreams.stdio_upstream import ServerProcess

async def main():
    argv = ["sh", "-c", "trap '' HUP; sleep 600 & wait"]
    if sys.argv[1] == "program":
        program = Program(lambda: 0.0)
        await program.start(argv, "", {"PATH": "/usr/bin:/bin"}, None)
    else:
        program = ServerProcess(lambda line: None, lambda code: None)
        await program.start(argv)
    print(program._transport.get_pid(), flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def group_exists(leader: int) -> bool:
    """Return whether a group has processes other than zombies, which only wait for the init process."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    return any(
        int(group) == leader and not state.startswith("Z")
        for group, state in map(str.split, listed.splitlines())
    )


@pytest.mark.parametrize("kind", ["program", "server"])
def test_kill_9_leaves_neither_the_program_nor_its_children(kind: str) -> None:
    with subprocess.Popen([sys.executable, "-c", START, kind], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        leader = int(process.stdout.readline())
        assert group_exists(leader)
        process.kill()
        process.wait(PATIENCE_S)
        for _ in range(PATIENCE_S * 10):
            if not group_exists(leader):
                return
            with pytest.raises(subprocess.TimeoutExpired):
                subprocess.run(["sleep", "60"], timeout=0.1, check=False)
        pytest.fail("the program is still there")


def test_a_group_that_has_ended_is_guarded_no_longer() -> None:
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    process_guard.guard_group(process.pid)
    kill_group(process.pid)
    assert process.wait(PATIENCE_S) == -signal.SIGKILL
    assert process.pid not in process_guard._guarded


def test_a_guard_that_was_killed_is_replaced_and_knows_all_groups() -> None:
    processes = [subprocess.Popen(["sleep", "600"], start_new_session=True) for _ in range(2)]
    process_guard.guard_group(processes[0].pid)
    first = process_guard._guard
    assert first is not None
    first.kill()
    first.wait(PATIENCE_S)
    process_guard.guard_group(processes[1].pid)
    second = process_guard._guard
    assert second is not None
    assert second is not first
    # The end of the pipe is what the death of this process looks like.
    process_guard._end_guard()
    assert [process.wait(PATIENCE_S) for process in processes] == [-signal.SIGTERM] * 2
    for process in processes:
        kill_group(process.pid)
