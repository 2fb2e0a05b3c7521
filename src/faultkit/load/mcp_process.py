"""The process of an MCP server over stdio, on the event loop of a load: lines in, lines out, and its end.

It is ended as MCP 2025-11-25, Lifecycle, Shutdown, says: close its stdin, wait; SIGTERM, wait; SIGKILL. It
leads a process group, which a guard ends if this process is killed, and its descendants end with it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from faultkit.base.errors import TargetError
from faultkit.base.external_program import inherited_environment
from faultkit.base.framing import LineReader
from faultkit.base.process_group import kill_group, signal_group
from faultkit.base.process_guard import guard_group
from faultkit.base.process_identity import descendants_of, kill_processes
from faultkit.load.load import McpTarget
from faultkit.proxy.event_loop import Loop

_READ_BYTES = 65536
_STDERR_BYTES = 2048
"""What is kept of the end of its standard error, for the message about its end."""
_GRACE_S = 1.5
"""Seconds for all processes together to end when their stdin is closed."""
_TERM_S = 1.0
"""Seconds for all of them to end after SIGTERM."""


class McpProcess:
    """A running server. `on_line` gets each line of its stdout; `on_end` is called once, at the end of it."""

    def __init__(
        self, target: McpTarget, loop: Loop, on_line: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> None:
        """Start the process. Raises TargetError if that fails."""
        self._loop = loop
        self._on_line = on_line
        self._on_end = on_end
        self._lines = LineReader()
        self._unsent = b""
        self._stderr = b""
        self._has_ended = False
        self._started: dict[int, str] = {}
        """What it has started, by process id, with the time of its start."""
        try:
            self._process = subprocess.Popen(
                target.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**inherited_environment(), **dict(target.env)},
                cwd=target.cwd,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            place = f" in the folder {target.cwd}" if getattr(error, "filename", None) == target.cwd else ""
            raise TargetError(f"cannot start {target.command[0]}{place}: {why}") from None
        guard_group(self._process.pid)
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._in, self._out, self._err = (
            process.stdin.fileno(),
            process.stdout.fileno(),
            process.stderr.fileno(),
        )
        self._open = {self._in, self._out, self._err}
        for fd, handler in (
            (self._out, self._on_output),
            (self._err, self._on_stderr),
            (self._in, self._on_input),
        ):
            os.set_blocking(fd, False)
            loop.handlers[fd] = handler
            loop.poller.add(fd)

    def send(self, line: bytes) -> None:
        """Write one line. What the server does not read yet waits here."""
        if self._in not in self._open:
            return
        data = self._unsent + line + b"\n"
        try:
            count = os.write(self._in, data)
        except BlockingIOError:
            count = 0
        except OSError:
            return  # It has closed its stdin; the end of its stdout follows.
        self._unsent = data[count:]
        if self._unsent:
            self._loop.poller.await_output(self._in)

    def why_ended(self) -> str:
        """Return how the process ended, with the last line of its standard error."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_TERM_S)
        self._on_stderr(0)
        code = self._process.returncode
        if code is None:
            how = "the server closed its output"
        else:
            how = f"the server ended {f'by signal {-code}' if code < 0 else f'with exit code {code}'}"
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return f"{how}: {lines[-1][:200]}" if lines else how

    # --- events -------------------------------------------------------------------------------

    def _on_output(self, flags: int) -> None:
        while self._out in self._open:
            try:
                data = os.read(self._out, _READ_BYTES)
            except BlockingIOError:
                self._await_input(self._out)
                return
            except OSError:
                data = b""
            lines = self._lines.feed(data) if data else self._lines.end()
            for line in lines:
                if isinstance(line, bytes):
                    self._on_line(line)
            if not data:
                self._close(self._out)
                self._end()

    def _on_stderr(self, flags: int) -> None:
        while self._err in self._open:
            try:
                data = os.read(self._err, _READ_BYTES)
            except BlockingIOError:
                self._await_input(self._err)
                return
            except OSError:
                data = b""
            self._stderr = (self._stderr + data)[-_STDERR_BYTES:]
            if not data:
                self._close(self._err)

    def _on_input(self, flags: int) -> None:
        if self._unsent:
            unsent, self._unsent = self._unsent, b""
            self.send(unsent[:-1])

    def _await_input(self, fd: int) -> None:
        if self._loop.poller.await_input is not None:
            self._loop.poller.await_input(fd)

    def _end(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._on_end()

    # --- ending -------------------------------------------------------------------------------

    def close_input(self) -> None:
        """Close its stdin, after which a server exits by itself."""
        self._close(self._in)

    def _close(self, fd: int) -> None:
        if fd not in self._open:
            return
        self._open.discard(fd)
        del self._loop.handlers[fd]
        self._loop.poller.remove(fd)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None and not stream.closed and stream.fileno() == fd:
                stream.close()

    def note_descendants(self) -> None:
        """Note what the server has started. When it ends, its children belong to init."""
        if self._process.poll() is None:
            self._started |= descendants_of(self._process.pid)

    def terminate(self) -> None:
        """Send SIGTERM to a server that still runs."""
        if self._process.poll() is None:
            self.note_descendants()
            with suppress(PermissionError):
                signal_group(self._process.pid, signal.SIGTERM)

    def await_end(self, deadline: float) -> None:
        """Wait until the server has ended, or until `deadline` (monotonic)."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(max(deadline - time.monotonic(), 0))

    def discard(self) -> None:
        """Kill what is left of the server and of all that it started."""
        self.note_descendants()
        kill_group(self._process.pid)
        kill_processes(self._started)
        self.await_end(time.monotonic() + _TERM_S)
        for fd in tuple(self._open):
            self._close(fd)


def end_all(processes: Iterable[McpProcess]) -> None:
    """End these processes side by side, and leave none behind."""
    ending = list(processes)
    try:
        for process in ending:
            process.note_descendants()
            process.close_input()
        _await_all(ending, _GRACE_S)
        for process in ending:
            process.terminate()
        _await_all(ending, _TERM_S)
    finally:
        for process in ending:
            process.discard()


def _await_all(processes: Iterable[McpProcess], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for process in processes:
        process.await_end(deadline)
