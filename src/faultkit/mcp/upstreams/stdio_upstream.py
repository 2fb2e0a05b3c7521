"""A server that runs as a child process, reached over stdio.

`ServerProcess` runs it and deals in lines; `StdioUpstream` is an `Upstream` and deals in messages. The server
is ended as MCP 2025-11-25, Lifecycle, Shutdown, says for stdio: close its stdin, wait; SIGTERM, wait;
SIGKILL. It has a process group of its own, so that processes it started end with it, and a guard ends the
group if this process is killed. Its descendants in other groups and sessions are killed, too; a process that
was detached, so that init is its parent, is none of them: it may be a service that several programs share.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence

from faultkit.base.errors import TargetError
from faultkit.base.external_program import inherited_environment
from faultkit.base.framing import LineReader, OversizedLine
from faultkit.base.process_group import end_group, kill_group
from faultkit.base.process_guard import guard_group
from faultkit.base.process_identity import descendants_of, kill_processes
from faultkit.mcp.upstreams.upstream import UpstreamListener
from faultkit.mcp.wire.message import Id, Incoming, read
from faultkit.mcp.wire.pipes import PipeReader

GRACE_S = 2.0
"""Seconds for each step of ending the server."""
_LAST_OUTPUT_S = 0.5
"""Seconds to read the last output of a server that exited; a process it started may hold the pipe open."""


class ServerProcess:
    """A running server. `on_line` gets each line of its stdout; `on_end` gets its exit code, once."""

    def __init__(
        self,
        on_line: Callable[[bytes], None],
        on_end: Callable[[int], None],
        *,
        on_oversized_line: Callable[[OversizedLine], None] = lambda line: None,
        on_input_full: Callable[[bool], None] = lambda full: None,
    ) -> None:
        """`on_input_full` is called with True when its stdin is full, with False when it has drained."""
        self._on_line = on_line
        self._on_end = on_end
        self._on_oversized_line = on_oversized_line
        self._on_input_full = on_input_full
        self._lines = LineReader()
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._stdout: PipeReader | None = None
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._is_input_full = False
        self._open = {"process", "stdout"}
        """Parts that have not ended. The last output is still in the pipe when the process exits."""

    async def start(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stderr: int | None = None,
    ) -> None:
        """Start the process. Raises TargetError if that fails.

        `stderr`: descriptor for its standard error; None: the one of this process."""
        loop = asyncio.get_running_loop()
        # Own pipes: output through those of asyncio's subprocesses takes one more turn of the event loop.
        child_stdin, stdin_fd = os.pipe()
        stdout_fd, child_stdout = os.pipe()
        stdin, stdout = os.fdopen(stdin_fd, "wb", 0), os.fdopen(stdout_fd, "rb", 0)
        try:
            self._transport, _ = await loop.subprocess_exec(
                lambda: _ExitProtocol(self),
                *command,
                stdin=child_stdin,
                stdout=child_stdout,
                stderr=stderr,
                env={**inherited_environment(), **(env or {})},
                cwd=cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            # Where the working folder cannot be entered, the error names that and not the program.
            is_folder = cwd is not None and getattr(error, "filename", None) == cwd
            place = f" in the folder {cwd}" if is_folder else ""
            raise TargetError(f"cannot start {command[0]}{place}: {why}") from None
        finally:
            os.close(child_stdin)
            os.close(child_stdout)
            if self._transport is None:
                stdin.close()
                stdout.close()
        self._stdout = PipeReader(stdout, self._on_data, self._on_output_end)
        self._stdin, _ = await loop.connect_write_pipe(lambda: _StdinProtocol(self), stdin)

    def send(self, raw: bytes) -> bool:
        """Write one line; return False if the server can no longer read it."""
        if self._stdin is None or self._stdin.is_closing() or self._ended.done():
            return False
        self._stdin.write(raw + b"\n")
        return True

    @property
    def unread_bytes(self) -> int:
        """Bytes sent to the server that it has not read."""
        return 0 if self._stdin is None else self._stdin.get_write_buffer_size()

    def pause_reading(self, paused: bool) -> None:
        """Stop or resume reading its output; a full pipe makes the server wait."""
        if self._stdout is not None:
            self._stdout.pause(paused)

    def close_input(self) -> None:
        """Close its stdin, after which a server exits by itself."""
        if self._stdin is not None:
            self._stdin.close()

    async def ended(self) -> int:
        """Wait until the process and its output have ended; return the exit code."""
        return await asyncio.shield(self._ended)

    async def stop(self, *, grace_s: float = GRACE_S, term_s: float = GRACE_S) -> None:
        """End the server and wait. `grace_s`: time to exit by itself; `term_s`: time after SIGTERM."""
        if self._transport is None:
            return
        # Looked for while the server lives: when it ends, its children belong to init.
        started = descendants_of(self._transport.get_pid())
        self.close_input()
        try:
            if not await self._ends_within(grace_s):
                started |= descendants_of(self._transport.get_pid())
                await end_group(self._transport.get_pid(), self._ends_within, term_s=term_s, kill_s=GRACE_S)
        finally:
            # Kill what the server left behind in its group, and the server if this task is cancelled.
            kill_group(self._transport.get_pid())
            kill_processes(started)
            self._transport.close()
            if self._stdout is not None:
                self._stdout.close()
                self.closed("stdout")

    async def _ends_within(self, seconds: float) -> bool:
        # A server that blocks on its full stdout cannot exit, so keep reading.
        self.pause_reading(False)
        done, _ = await asyncio.wait([self._ended], timeout=seconds)
        return bool(done)

    def _on_data(self, data: bytes) -> None:
        self._deliver(self._lines.feed(data))

    def _on_output_end(self) -> None:
        self._deliver(self._lines.end())
        self.closed("stdout")

    def _deliver(self, lines: list[bytes | OversizedLine]) -> None:
        for line in lines:
            try:
                if isinstance(line, OversizedLine):
                    self._on_oversized_line(line)
                else:
                    self._on_line(line)
            except Exception as error:
                # A defect that one line shows must not lose the lines behind it.
                asyncio.get_running_loop().call_exception_handler(
                    {"message": "a line from the server could not be handled", "exception": error}
                )

    # --- called by the protocols below --------------------------------------------------------

    def pause(self, paused: bool) -> None:
        if paused != self._is_input_full:
            self._is_input_full = paused
            self._on_input_full(paused)

    def exited(self) -> None:
        self.closed("process")
        if not self._ended.done():
            asyncio.get_running_loop().call_later(_LAST_OUTPUT_S, self._stop_reading_output)

    def _stop_reading_output(self) -> None:
        """Stop reading: the process has exited, so later output comes from another process."""
        if self._ended.done() or self._stdout is None:
            return
        if self._stdout.is_paused:
            # The output has not been read yet.
            asyncio.get_running_loop().call_later(_LAST_OUTPUT_S, self._stop_reading_output)
            return
        self._stdout.close()
        self._on_output_end()

    def closed(self, part: str) -> None:
        self._open.discard(part)
        if self._open or self._ended.done():
            return
        assert self._transport is not None
        self.pause(False)
        code = self._transport.get_returncode()
        self._ended.set_result(-1 if code is None else code)
        self._on_end(self._ended.result())


class _ExitProtocol(asyncio.SubprocessProtocol):
    def __init__(self, process: ServerProcess) -> None:
        self._process = process

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        guard_group(transport.get_pid())

    def process_exited(self) -> None:
        self._process.exited()


class _StdinProtocol(asyncio.BaseProtocol):
    def __init__(self, process: ServerProcess) -> None:
        self._process = process

    def pause_writing(self) -> None:
        self._process.pause(True)

    def resume_writing(self) -> None:
        self._process.pause(False)


# The specification leaves the times open. The Python SDK (mcp 2.3) gives this process two seconds after
# closing its stdin, and two more after SIGTERM. Ending the server has to fit into that.
_GRACE_S, _TERM_S = 1.5, 1.0


class StdioUpstream:
    """An `Upstream` over stdio."""

    def __init__(
        self,
        command: Sequence[str],
        listener: UpstreamListener,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stderr: int | None = None,
    ) -> None:
        self._command = command
        self._env = env
        self._cwd = cwd
        self._stderr = stderr
        self._listener = listener
        self._stopping = False
        self._process = ServerProcess(
            lambda line: listener.on_message(read(line)),
            self._ended,
            on_oversized_line=listener.on_oversized_line,
            on_input_full=listener.on_input_full,
        )

    async def start(self) -> None:
        await self._process.start(self._command, self._env, self._cwd, self._stderr)

    def send(self, incoming: Incoming) -> None:
        self._process.send(incoming.raw)

    def abandon(self, id: Id) -> None:
        """Do nothing: the client's cancellation has been forwarded to the server."""

    def pause(self, paused: bool) -> None:
        self._process.pause_reading(paused)

    @property
    def unread_bytes(self) -> int:
        return self._process.unread_bytes

    def close_input(self) -> None:
        self._process.close_input()

    async def stop(self, *, urgent: bool = False) -> None:
        self._stopping = True
        await self._process.stop(grace_s=0 if urgent else _GRACE_S, term_s=_TERM_S)

    def _ended(self, code: int) -> None:
        if not self._stopping:
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            self._listener.on_exit(f"the server ended {how}", code)
