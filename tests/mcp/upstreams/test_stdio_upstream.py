"""A server as a process: its end and its last output."""

from __future__ import annotations

import asyncio
import sys

import pytest

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
