"""Processes are recognised by the time of their start, whatever their names are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from faultkit.base.process_identity import birth_of, descendants_of, group_is_alive, kill_processes

NAMED = """
import sys
open("/proc/self/comm", "wb").write(bytes.fromhex(sys.argv[1]))
print(flush=True)
sys.stdin.read()
"""


@contextmanager
def named(name: bytes) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process of this name, in a group of its own."""
    command = [sys.executable, "-I", "-S", "-c", NAMED, name.hex()]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
@pytest.mark.parametrize("name", [b"plain", b"a) Z 1", b"\xff\xfe"], ids=repr)
def test_a_process_is_found_under_any_name(name: bytes) -> None:
    with named(name) as process:
        birth = birth_of(process.pid)
        assert birth is not None
        assert birth.isdecimal()
        assert group_is_alive(process.pid)
        assert descendants_of(os.getpid())[process.pid] == birth
        kill_processes({process.pid: "another start"})
        assert process.poll() is None
        kill_processes({process.pid: birth})
        assert process.wait(20) == -9
    assert birth_of(process.pid) is None
    assert not group_is_alive(process.pid)
