"""An external program: the check that it exists, its run, its output and its end.

The program leads its own process group, so that its children end with it, and a guard ends the group if this
process is killed. Children that left the group for a
session of their own are found by a variable in their environment, where the system shows it (Linux).
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from faultkit.base.errors import InputError, TargetError
from faultkit.base.process_group import end_group, kill_group
from faultkit.base.process_guard import guard_group

TERM_S = 2.0
"""Seconds between SIGTERM and SIGKILL."""
_LAST_S = 1.0
"""Seconds in which a program's pipes must close after its end, and a killed program must end."""
_MOST_BYTES = 1 << 20
"""Bytes kept of each output, counted from its end."""
_STDOUT, _STDERR = 1, 2
_MARK = "FAULT_RUN"


_OWN_SECRETS = (
    "FAULT_AGENT_TOKEN",
    "FAULT_CHAOS_TOKEN",
    "FAULT_CONTROL_TOKEN",
    "FAULT_GATEWAY_HEADERS",
    "FAULT_GATEWAY_TOKEN",
)


def inherited_environment() -> dict[str, str]:
    """Return the environment for a program under test: without Faultkit's own tokens, with which it could
    change the faults that it is tested with."""
    return {name: value for name, value in os.environ.items() if name not in _OWN_SECRETS}


def check_program(name: str) -> None:
    """Raise TargetError if a program cannot be started; InputError for an empty name."""
    if not name.strip():
        raise InputError("", f'expected a program behind --, got "{name}"')
    if shutil.which(name) is None:
        raise TargetError(f"cannot start {name}: {_why_not_executable(name)}")


def _why_not_executable(name: str) -> str:
    if os.path.isdir(name):
        return "it is a directory"
    if not os.path.isfile(name):
        return "there is no such program"
    if os.path.dirname(name):
        return "it is a file that may not be executed"
    return "it is no program on the path, only a file here: name what runs it, such as python, before it"


class Program(asyncio.SubprocessProtocol):
    """One run of an external program, with its output."""

    def __init__(self, now_ms: Callable[[], float]) -> None:
        self._now_ms = now_ms
        self._output = {_STDOUT: bytearray(), _STDERR: bytearray()}
        self._transport: asyncio.SubprocessTransport | None = None
        self._exited = asyncio.Event()
        self._closed = asyncio.Event()
        self._open = {_STDOUT, _STDERR}
        self._mark = b""
        self.last_output_ms = 0.0
        """Time of the last output on stdout, by `now_ms`."""

    async def start(self, argv: Sequence[str], stdin: str, env: Mapping[str, str], cwd: str | None) -> None:
        """Start the program. Raises TargetError if that fails."""
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
        """Wait until it has exited, end what is left of its group, and read the rest of its output.

        A process that has left the group may hold the pipes open; it is waited for no longer than _LAST_S."""
        await self._exited.wait()
        # Children that outlive it may hold its pipes open; their output does not count as its own.
        if self._transport is not None:
            kill_group(self._transport.get_pid())
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_S):
                await self._closed.wait()

    async def stop(self) -> None:
        """End the program and its children, by SIGTERM and then by SIGKILL, and wait for its end."""
        if self._transport is None:
            return
        try:
            await end_group(self._transport.get_pid(), self._exits_within, term_s=TERM_S, kill_s=0)
        finally:
            for pid in _marked_processes(self._mark):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        await self._exits_within(_LAST_S)
        self._transport.close()

    async def _exits_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        return self._exited.is_set()

    @property
    def exit_code(self) -> int | None:
        return None if self._transport is None else self._transport.get_returncode()

    @property
    def stdout(self) -> str:
        return self._output[_STDOUT].decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self._output[_STDERR].decode("utf-8", "replace")

    # --- callbacks of SubprocessProtocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        guard_group(transport.get_pid())

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        output = self._output[fd]
        output += data
        del output[:-_MOST_BYTES]
        if fd == _STDOUT and data.strip():
            self.last_output_ms = self._now_ms()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self._closed.set()

    def process_exited(self) -> None:
        self._exited.set()


def _marked_processes(mark: bytes) -> list[int]:
    """Return the processes that have this variable in their environment, where it may be read."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found
