"""The process of a Chaos Toolkit experiment, from its parent's side. It does nothing before it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from faultkit.chaos.processes import birth_of
from faultkit.chaos.toolkit.messages import MODULE, TOLD_FD_VARIABLE, Order, order_document
from faultkit.mcp.wire.lines import LineReader

_GONE_S = 5.0
_LAST_WORDS = 2000


class ToolkitProcess:
    """`told` is the descriptor that it tells on: read it here, or on a loop."""

    def __init__(self, folder: str | None = None) -> None:
        self.told, its = os.pipe()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        folders = [*(each or os.getcwd() for each in sys.path), folder or os.getcwd()]
        try:
            self._process = subprocess.Popen(
                # -P: a file in the current folder must not stand in for a module of ours.
                [sys.executable, "-P", "-m", MODULE],
                stdin=subprocess.PIPE,
                stdout=self._said,
                stderr=self._said,
                pass_fds=(its,),
                cwd=folder,
                env={**os.environ, TOLD_FD_VARIABLE: str(its), "PYTHONPATH": os.pathsep.join(folders)},
                start_new_session=True,
            )
        finally:
            os.close(its)
        self._lines = LineReader()

    @property
    def identity(self) -> dict[str, Any]:
        """Its number and birth."""
        return {"pid": self._process.pid, "birth": birth_of(self._process.pid) or ""}

    def order(self, order: Order) -> None:
        self._send(json.dumps(order_document(order)))

    def go_on(self) -> None:
        """It was found valid, and what undoes it is written down."""
        self._send("go")

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def interrupt(self) -> None:
        """The library ends its run then, and plays its rollbacks.

        Not by SIGTERM: what that raises in a Python function counts as a failure of the function, and the
        method goes on behind it."""
        self._signal(signal.SIGUSR1, whole_group=False)

    def close(self) -> str:
        """It is gone when this returns, with all that is left of it. Its last words."""
        self._signal(signal.SIGKILL, whole_group=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GONE_S)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        with contextlib.suppress(OSError):
            os.close(self.told)
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - _LAST_WORDS))
        last = self._said.read().decode("utf-8", "replace").strip()
        self._said.close()
        return last

    def kill(self) -> None:
        self._signal(signal.SIGKILL, whole_group=True)

    def _signal(self, number: signal.Signals, *, whole_group: bool) -> None:
        # Its group may outlive it, but only for as long as we have not taken its remains.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                (os.killpg if whole_group else os.kill)(self._process.pid, number)

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        """What these bytes complete."""
        return [json.loads(line) for line in self._lines.feed(data) if isinstance(line, bytes)]

    def next(self, timeout_s: float) -> list[dict[str, Any]] | None:
        """What it tells within the time, perhaps nothing; None at its end. It blocks."""
        deadline = time.monotonic() + timeout_s
        while True:
            ready, _, _ = select.select([self.told], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return []
            data = os.read(self.told, 1 << 16)
            if not data:
                return None
            if found := self.messages(data):
                return found


class Told(asyncio.Protocol):
    """What a process tells, on a loop; None at its end."""

    def __init__(self, process: ToolkitProcess) -> None:
        self.queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._process = process

    def data_received(self, data: bytes) -> None:
        for message in self._process.messages(data):
            self.queue.put_nowait(message)

    def connection_lost(self, exc: Exception | None) -> None:
        self.queue.put_nowait(None)


async def listen(process: ToolkitProcess) -> tuple[Told, asyncio.ReadTransport]:
    loop = asyncio.get_running_loop()
    # The transport closes the descriptor that it is given.
    file = os.fdopen(os.dup(process.told), "rb", buffering=0)
    transport, told = await loop.connect_read_pipe(lambda: Told(process), file)
    return told, transport
