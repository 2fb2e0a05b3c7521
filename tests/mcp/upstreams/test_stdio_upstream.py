"""A server as a process: its end and its last output."""

from __future__ import annotations

import asyncio
import sys
import time

import pytest

from faultkit.base.process_identity import birth_of, is_same_process
from faultkit.mcp.upstreams.stdio_upstream import ServerProcess

LEAVES_A_CHILD = """
import os, sys, time
if os.fork() == 0:
    time.sleep(60)
os.write(1, b"last")
os._exit(7)
"""


def test_a_line_that_shows_a_defect_loses_no_other() -> None:
    lines: list[bytes] = []
    told: list[object] = []

    def on_line(line: bytes) -> None:
        if line == b"2":
            raise ZeroDivisionError
        lines.append(line)

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, each: told.append(each["exception"]))
        server = ServerProcess(on_line, lambda code: None)
        await server.start([sys.executable, "-I", "-S", "-c", "import os; os.write(1, b'1\\n2\\n3\\n')"])
        try:
            async with asyncio.timeout(10):
                await server.ended()
        finally:
            await server.stop()

    asyncio.run(main())
    assert lines == [b"1", b"3"]
    assert [type(each) for each in told] == [ZeroDivisionError]


def test_a_server_does_not_get_the_tokens_that_steer_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT_CONTROL_TOKEN", "secret")
    monkeypatch.setenv("FAULT_GATEWAY_HEADERS", "authorization: secret")
    monkeypatch.setenv("OTHER_TOKEN", "its own")
    lines: list[bytes] = []

    async def main() -> None:
        server = ServerProcess(lines.append, lambda code: None)
        code = "import os; print(sorted(v for v in os.environ.values() if 'secret' in v or v == 'its own'))"
        await server.start([sys.executable, "-I", "-S", "-c", code])
        try:
            async with asyncio.timeout(10):
                await server.ended()
        finally:
            await server.stop()

    asyncio.run(main())
    assert lines == [b"['its own']"]


def test_a_server_has_ended_though_its_child_holds_its_output_open() -> None:
    lines: list[bytes] = []

    async def main() -> None:
        codes: list[int] = []
        server = ServerProcess(lines.append, codes.append)
        await server.start([sys.executable, "-I", "-S", "-c", LEAVES_A_CHILD])
        try:
            async with asyncio.timeout(10):
                assert await server.ended() == 7
        finally:
            await server.stop()
        assert codes == [7]

    asyncio.run(main())
    assert lines == [b"last"]


@pytest.mark.parametrize("ends_by_itself", [True, False])
def test_a_child_in_a_session_of_its_own_ends_with_the_server(ends_by_itself: bool) -> None:
    lines: list[bytes] = []
    code = """
import os, subprocess, sys, time
sleep = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"]
child = subprocess.Popen(sleep, start_new_session=True)
os.write(1, b"%d\\n" % child.pid)
sys.stdin.read()
if sys.argv[1] != "True":
    time.sleep(60)
"""

    async def main() -> str | None:
        started = asyncio.Event()

        def on_line(line: bytes) -> None:
            lines.append(line)
            started.set()

        server = ServerProcess(on_line, lambda code: None)
        await server.start([sys.executable, "-I", "-S", "-c", code, str(ends_by_itself)])
        try:
            async with asyncio.timeout(20):
                await started.wait()
            birth = birth_of(int(lines[0]))
        finally:
            await server.stop(grace_s=20 if ends_by_itself else 0)
        return birth

    birth = asyncio.run(main())
    assert birth is not None
    until = time.monotonic() + 20
    while is_same_process(int(lines[0]), birth) and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_same_process(int(lines[0]), birth)
