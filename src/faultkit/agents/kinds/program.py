"""A program of others, run to its end or ended: what it said, when, and how it went.

It has a process group of its own, so that what it started ends with it. What has left the group for a session
of its own is known by the environment that it has inherited, where the system shows that (Linux).
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from faultkit.base.errors import TargetError

TERM_S = 2.0
"""Between SIGTERM and SIGKILL."""
_LAST_S = 1.0
_MOST_BYTES = 1 << 20
"""Of each of its outputs, the last ones are kept."""
_STDOUT, _STDERR = 1, 2
_MARK = "FAULT_RUN"


class Program(asyncio.SubprocessProtocol):
    def __init__(self, now_ms: Callable[[], float]) -> None:
        self._now_ms = now_ms
        self._said = {_STDOUT: bytearray(), _STDERR: bytearray()}
        self._transport: asyncio.SubprocessTransport | None = None
        self._exited = asyncio.Event()
        self._silent = asyncio.Event()
        self._open = {_STDOUT, _STDERR}
        self._mark = b""
        self.last_said_ms = 0.0
        """When it last said something on its stdout."""

    async def start(self, argv: Sequence[str], stdin: str, env: Mapping[str, str], cwd: str | None) -> None:
        """TargetError if it cannot be started."""
        mark = secrets.token_hex(16)
        self._mark = f"{_MARK}={mark}".encode()
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.subprocess_exec(
                lambda: self, *argv, env={**env, _MARK: mark}, cwd=cwd, start_new_session=True
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise TargetError(f"cannot start {argv[0]}: {why}") from None
        self._transport = transport
        pipe = transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        pipe.write(stdin.encode("utf-8", "replace"))
        pipe.close()

    async def ended(self) -> None:
        """Returns when it has exited and all that it said is here."""
        await self._exited.wait()
        # What it left behind may hold its pipes open, and has nothing more to say for it.
        self._signal(signal.SIGKILL)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_S):
                await self._silent.wait()

    async def stop(self) -> None:
        """It is gone when this returns: by itself, by SIGTERM or by SIGKILL."""
        if self._transport is None:
            return
        try:
            if not self._exited.is_set():
                self._signal(signal.SIGTERM)
                with suppress(TimeoutError):
                    async with asyncio.timeout(TERM_S):
                        await self._exited.wait()
        finally:
            self._signal(signal.SIGKILL)
            for pid in _bearers(self._mark):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_S):
                await self._exited.wait()
        self._transport.close()

    @property
    def exit_code(self) -> int | None:
        return None if self._transport is None else self._transport.get_returncode()

    @property
    def stdout(self) -> str:
        return self._said[_STDOUT].decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self._said[_STDERR].decode("utf-8", "replace")

    def _signal(self, sign: int) -> None:
        if self._transport is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._transport.get_pid(), sign)

    # Of SubprocessProtocol.

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        said = self._said[fd]
        said += data
        del said[:-_MOST_BYTES]
        if fd == _STDOUT and data.strip():
            self.last_said_ms = self._now_ms()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self._silent.set()

    def process_exited(self) -> None:
        self._exited.set()


def _bearers(mark: bytes) -> list[int]:
    """The processes that have this variable in their environment, as far as one may look."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found
