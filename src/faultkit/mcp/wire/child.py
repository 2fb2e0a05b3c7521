"""A stdio server as a process of ours: spoken to in lines, and ended as the specification says.

Close its stdin, wait; SIGTERM, wait; SIGKILL. It has a process group of its own, so that what it started ends
with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from faultkit.base.errors import TargetError
from faultkit.mcp.wire.lines import LineReader, TooLong
from faultkit.mcp.wire.pipe import PipeReader

GRACE_S = 2.0
"""For each step of the ending."""
LEFT_S = 0.5
"""So long may what a server said last take to come out of the pipe; whoever it started may hold that open."""


class ServerProcess:
    """A running server. `on_line` gets what it says, `on_end` its exit code, once."""

    def __init__(
        self,
        on_line: Callable[[bytes], None],
        on_end: Callable[[int], None],
        *,
        on_too_long: Callable[[TooLong], None] = lambda line: None,
        on_full: Callable[[bool], None] = lambda full: None,
    ) -> None:
        """`on_full` is told when it does not read fast enough, and when it does again."""
        self._on_line = on_line
        self._on_end = on_end
        self._on_too_long = on_too_long
        self._on_full = on_full
        self._lines = LineReader()
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._stdout: PipeReader | None = None
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._writable: asyncio.Future[None] | None = None
        self._open = {"process", "stdout"}
        """What it said last is still in the pipe when it exits: it has ended when both have."""

    async def start(
        self, command: Sequence[str], env: Mapping[str, str] | None = None, cwd: str | None = None
    ) -> None:
        """Raises TargetError if it cannot be started."""
        loop = asyncio.get_running_loop()
        # Pipes of our own: what comes through those of asyncio's subprocesses takes another turn of the loop.
        child_stdin, stdin_fd = os.pipe()
        stdout_fd, child_stdout = os.pipe()
        stdin, stdout = os.fdopen(stdin_fd, "wb", 0), os.fdopen(stdout_fd, "rb", 0)
        try:
            self._transport, _ = await loop.subprocess_exec(
                lambda: _Life(self),
                *command,
                stdin=child_stdin,
                stdout=child_stdout,
                stderr=None,
                env=None if env is None else {**os.environ, **env},
                cwd=cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise TargetError(f"cannot start {command[0]}: {why}") from None
        finally:
            os.close(child_stdin)
            os.close(child_stdout)
            if self._transport is None:
                stdin.close()
                stdout.close()
        self._stdout = PipeReader(stdout, self._said, self._said_last)
        self._stdin, _ = await loop.connect_write_pipe(lambda: _Stdin(self), stdin)

    def send(self, raw: bytes) -> bool:
        """One line. False if it is not there to get it."""
        if self._stdin is None or self._stdin.is_closing() or self._ended.done():
            return False
        self._stdin.write(raw + b"\n")
        return True

    @property
    def unread_bytes(self) -> int:
        """What it was sent and has not read."""
        return 0 if self._stdin is None else self._stdin.get_write_buffer_size()

    def pause_reading(self, paused: bool) -> None:
        """Leaves what it says in its pipe, until it has to wait as well."""
        if self._stdout is not None:
            self._stdout.pause(paused)

    def close_input(self) -> None:
        """Nothing more will be said to it: a server ends by itself then."""
        if self._stdin is not None:
            self._stdin.close()

    async def ended(self) -> int:
        return await asyncio.shield(self._ended)

    async def stop(self, *, grace_s: float = GRACE_S, term_s: float = GRACE_S) -> None:
        """It is gone when this returns. `grace_s`: to end by itself, `term_s`: after SIGTERM."""
        if self._transport is None:
            return
        self.close_input()
        try:
            for seconds, sign in ((grace_s, signal.SIGTERM), (term_s, signal.SIGKILL)):
                if await self._ends_within(seconds):
                    break
                self._signal(sign)
            await self._ends_within(GRACE_S)
        finally:
            # Whatever it started and left behind is in its group; and if we are cut short, it goes too.
            self._signal(signal.SIGKILL)
            self._transport.close()
            if self._stdout is not None:
                self._stdout.close()
                self.closed("stdout")

    async def _ends_within(self, seconds: float) -> bool:
        # What it says at the last must not keep it from ending.
        self.pause_reading(False)
        done, _ = await asyncio.wait([self._ended], timeout=seconds)
        return bool(done)

    def _signal(self, sign: int) -> None:
        if self._transport is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._transport.get_pid(), sign)

    def _said(self, data: bytes) -> None:
        self._hand_on(self._lines.feed(data))

    def _said_last(self) -> None:
        self._hand_on(self._lines.end())
        self.closed("stdout")

    def _hand_on(self, lines: list[bytes | TooLong]) -> None:
        for line in lines:
            if isinstance(line, TooLong):
                self._on_too_long(line)
            else:
                self._on_line(line)

    # Called by the process and the pipe to it.

    def pause(self, paused: bool) -> None:
        if paused and self._writable is None:
            self._writable = asyncio.get_running_loop().create_future()
            self._on_full(True)
        elif not paused and self._writable is not None:
            self._writable.set_result(None)
            self._writable = None
            self._on_full(False)

    def exited(self) -> None:
        self.closed("process")
        if not self._ended.done():
            asyncio.get_running_loop().call_later(LEFT_S, self._leave_output)

    def _leave_output(self) -> None:
        """The process is gone. What still comes is said by somebody else."""
        if self._ended.done() or self._stdout is None:
            return
        if self._stdout.is_paused:
            # It cannot have been read yet.
            asyncio.get_running_loop().call_later(LEFT_S, self._leave_output)
            return
        self._stdout.close()
        self._said_last()

    def closed(self, part: str) -> None:
        self._open.discard(part)
        if self._open or self._ended.done():
            return
        assert self._transport is not None
        self.pause(False)
        code = self._transport.get_returncode()
        self._ended.set_result(-1 if code is None else code)
        self._on_end(self._ended.result())


class _Life(asyncio.SubprocessProtocol):
    def __init__(self, process: ServerProcess) -> None:
        self._process = process

    def process_exited(self) -> None:
        self._process.exited()


class _Stdin(asyncio.BaseProtocol):
    def __init__(self, process: ServerProcess) -> None:
        self._process = process

    def pause_writing(self) -> None:
        self._process.pause(True)

    def resume_writing(self) -> None:
        self._process.pause(False)
