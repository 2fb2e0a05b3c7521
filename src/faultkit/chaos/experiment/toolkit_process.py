"""The parent's side of the process of a Chaos Toolkit experiment, and rollbacks played in another process.

Why a process: the library sets signal handlers, which only a main thread may do; it keeps state in modules;
and a blocking call in it (a pause, a request without a time limit) ends by a signal or not at all. In a
process of its own, a run can always be interrupted, and killed if it does not react; its rollbacks are then
played in another process.

The protocol with the process (`toolkit_child`) is lines of JSON: an order on its stdin, messages on a
descriptor of their own. `run_rollbacks` is an undo action like any other (`toolkit_rollbacks`): the runner,
the guardian and `fault chaos recover` use it when the experiment's own process cannot play them any more.
"""

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
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from faultkit.base.framing import LineReader
from faultkit.base.process_group import kill_group
from faultkit.base.process_identity import birth_of, is_same_process
from faultkit.chaos.experiment.experiment_model import ToolkitFlags
from faultkit.chaos.safety.undo import UndoResult

_END_S = 5.0
_OUTPUT_END_BYTES = 2000
_START_S = 30.0


# --- protocol --------------------------------------------------------------------------------------


MESSAGES_FD_VARIABLE = "FAULTKIT_TOLD_FD"
"""Variable with the descriptor for messages. Not stdout, which belongs to the experiment's functions."""
MODULE = "faultkit.chaos.experiment.toolkit_child"


@dataclass(frozen=True, slots=True)
class Order:
    """The order to the process: the first line on its stdin."""

    do: Literal["run", "gate", "rollbacks"]
    """gate: only the hypothesis, for a dry run. rollbacks: only the rollbacks, from number `first` on."""
    file: str
    settings: str | None = None
    """File of Chaos Toolkit's settings; None: the usual one."""
    flags: ToolkitFlags = field(default_factory=ToolkitFlags)
    content: dict[str, Any] | None = None
    """The experiment itself, in place of its file, which may have been removed."""
    first: int = 0


MESSAGES: dict[str, str] = {
    "valid": "hypothesis, rollbacks: strategies; count: of rollbacks; experiment. Then it waits for a line",
    "invalid": "why",
    "phase": "phase",
    "activity_began": "name, type, background",
    "activity_ended": "phase, name, type, status, duration_s, why, measured",
    "state": "phase, met",
    "rollbacks_began": "",
    "rollback_began": "index, name",
    "rollback_ended": "index, name, why (it failed, or null), and if nothing else is played its run",
    "rollbacks_ended": "",
    "said": "level, text",
    "journal": "journal",
}
"""The kinds of messages, and the keys of each."""


# --- process ---------------------------------------------------------------------------------------


class ToolkitProcess:
    """The process, started and waiting for an order. `messages_fd` is the descriptor of its messages."""

    def __init__(self, folder: str | None = None) -> None:
        self.messages_fd, its = os.pipe()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        folders = [*(each or os.getcwd() for each in sys.path), folder or os.getcwd()]
        try:
            self._process = subprocess.Popen(
                # -P: a file in the current folder must not be imported in place of one of our modules.
                [sys.executable, "-P", "-m", MODULE],
                stdin=subprocess.PIPE,
                stdout=self._output,
                stderr=self._output,
                pass_fds=(its,),
                cwd=folder,
                env={**os.environ, MESSAGES_FD_VARIABLE: str(its), "PYTHONPATH": os.pathsep.join(folders)},
                start_new_session=True,
            )
        finally:
            os.close(its)
        self._lines = LineReader()

    @property
    def identity(self) -> dict[str, Any]:
        """The process id and the time of its start, for the ledger."""
        return {"pid": self._process.pid, "birth": birth_of(self._process.pid) or ""}

    def order(self, order: Order) -> None:
        """Send the order."""
        self._send(json.dumps(asdict(order)))

    def go_on(self) -> None:
        """Let the process start, after it reported `valid` and its undo was written down."""
        self._send("go")

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def interrupt(self) -> None:
        """Ask the library to end its run and play its rollbacks.

        Not by SIGTERM: the exception that it raises inside a Python function would count as a failure of that
        function, and the method would continue."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self._process.pid, signal.SIGUSR1)

    def close(self) -> str:
        """Kill the process and all that it started; return the end of its output."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        with contextlib.suppress(OSError):
            os.close(self.messages_fd)
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, size - _OUTPUT_END_BYTES))
        last = self._output.read().decode("utf-8", "replace").strip()
        self._output.close()
        return last

    def kill(self) -> None:
        """Kill the process and all that it started."""
        # The group may outlive its leader. Once the leader's status is collected, its id may be reused.
        if self._process.returncode is None:
            kill_group(self._process.pid)

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        """Return the messages that these bytes complete."""
        return [json.loads(line) for line in self._lines.feed(data) if isinstance(line, bytes)]

    def next(self, timeout_s: float) -> list[dict[str, Any]] | None:
        """Wait for messages; return an empty list after `timeout_s`, None at the end of the process."""
        deadline = time.monotonic() + timeout_s
        while True:
            ready, _, _ = select.select([self.messages_fd], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return []
            data = os.read(self.messages_fd, 1 << 16)
            if not data:
                return None
            if found := self.messages(data):
                return found


def why_toolkit_refuses(file: str) -> str | None:
    """Return why the library does not accept an experiment, or None. Nothing of it is run."""
    process = ToolkitProcess()
    try:
        process.order(Order("gate", os.path.abspath(file)))
        while messages := process.next(_START_S):
            for message in messages:
                if message["kind"] in ("valid", "invalid"):
                    why: str | None = message.get("why")
                    return why
        return "Chaos Toolkit did not say whether it is valid"
    finally:
        process.close()


class MessageReader(asyncio.Protocol):
    """Puts the messages of a process into a queue; None at its end."""

    def __init__(self, process: ToolkitProcess) -> None:
        self.queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._process = process

    def data_received(self, data: bytes) -> None:
        for message in self._process.messages(data):
            self.queue.put_nowait(message)

    def connection_lost(self, exc: Exception | None) -> None:
        self.queue.put_nowait(None)


async def read_messages(process: ToolkitProcess) -> tuple[MessageReader, asyncio.ReadTransport]:
    """Read the messages of a process on the running event loop."""
    loop = asyncio.get_running_loop()
    # A duplicate, because the transport closes its descriptor.
    file = os.fdopen(os.dup(process.messages_fd), "rb", buffering=0)
    transport, reader = await loop.connect_read_pipe(lambda: MessageReader(process), file)
    return reader, transport


# --- rollbacks -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlayedRollbacks:
    """The results of played rollbacks."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    """Entries for the journal."""
    failures: list[str] = field(default_factory=list)

    @property
    def result(self) -> UndoResult:
        if self.failures:
            return UndoResult(False, "; ".join(self.failures))
        return UndoResult(True, f"{len(self.runs)} played")


def run_rollbacks(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """Play all rollbacks. `order` (without `do`), `folder`, `each_s`: seconds for each rollback; `pid` and
    `birth` of the experiment's process."""
    pid, birth = data.get("pid"), data.get("birth")
    if pid is not None and birth and is_same_process(pid, birth):
        # The method must not continue beside the rollbacks.
        kill_group(pid)
    return play_rollbacks(data, limit_s).result


def play_rollbacks(data: Mapping[str, Any], limit_s: float, first: int = 0) -> PlayedRollbacks:
    """Play the rollbacks from number `first` on. One that hangs is given up; those after it are played."""
    deadline = time.monotonic() + limit_s
    played = PlayedRollbacks()
    while first is not None:
        given = {key: value for key, value in data["order"].items() if key != "flags"}
        flags = ToolkitFlags(**data["order"].get("flags", {}))
        order = Order("rollbacks", **given, flags=flags, first=first)
        process = ToolkitProcess(data.get("folder"))
        try:
            process.order(order)
            hung = _play(process, float(data["each_s"]), deadline, played)
        finally:
            process.close()
        if hung is None:
            break
        first = hung + 1
    return played


def _play(process: ToolkitProcess, each_s: float, deadline: float, played: PlayedRollbacks) -> int | None:
    """Play rollbacks in one process; return the number of one that did not end, None if all is done."""
    current: dict[str, Any] | None = None
    until = time.monotonic() + _START_S
    while True:
        messages = process.next(min(until, deadline) - time.monotonic())
        if messages is None:
            what = "the process that played them ended early" if current is None else current["name"]
            played.failures.append(f"{what}: it ended before its rollbacks did")
            return None if current is None else int(current["index"])
        if not messages and time.monotonic() >= deadline:
            played.failures.append("their time is over")
            return None
        if not messages:
            name = "rollbacks" if current is None else current["name"]
            played.failures.append(f"{name}: it did not end within {each_s:g} s")
            return None if current is None else int(current["index"])
        for message in messages:
            kind = message["kind"]
            if kind == "invalid":
                played.failures.append(f"the experiment cannot be read any more: {message['why']}")
                return None
            if kind == "valid":
                process.go_on()
            elif kind == "rollback_began":
                current, until = message, time.monotonic() + each_s
            elif kind == "rollback_ended":
                current, until = None, time.monotonic() + _START_S
                played.runs.append(message["run"])
                if message["why"] is not None:
                    played.failures.append(f"{message['name']}: {message['why']}")
            elif kind == "rollbacks_ended":
                return None
