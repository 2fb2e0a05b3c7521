"""Steps with processes: `process`, `start` and `signal`.

For each: its keys, its work, and its builder.

`process` runs a command; as an action, any status but 0 is a failure. `start` starts a service, which is
ended when the experiment rolls back. `signal` sends a signal; a process that it stopped is continued by the
rollback.

No process outlives the run, however the runner dies. Those of actions are in the ledger before they begin, so
that they are ended before what they did is undone. Those of checks have the guard of `base.process_guard`: a
check must also work where the ledger cannot be written, such as on a disk that the experiment has filled.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from faultkit.base.documents.checks import shown
from faultkit.base.documents.key_tables import Key, KeyTable, Schema
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA, text, whole_number
from faultkit.base.errors import InputError
from faultkit.base.external_program import inherited_environment
from faultkit.base.process_group import kill_group
from faultkit.base.process_guard import guard_group
from faultkit.base.process_identity import birth_of, boot_id
from faultkit.base.text import one_line
from faultkit.chaos.safety.lease import ENDED_ITSELF
from faultkit.chaos.safety.undo import USUAL_LIMIT_S, Undo
from faultkit.chaos.steps.step_work import (
    TEXTS_SCHEMA,
    USUAL_STEP_LIMIT_S,
    StepContext,
    StepFailed,
    read_texts,
    system_message,
)

COMMAND_FORM = "a command such as [redis-cli, ping]"
ARGV_SCHEMA: Schema = {"type": ["array", "string"], "items": {"type": ["string", "integer"]}}
MOST_BYTES = 64 << 10
"""Bytes kept of each output; the rest is read and dropped."""
_REAP_S = 5.0
"""Seconds to wait for the exit of a process that was killed."""
_LAST_OUTPUT_S = 0.2
"""Seconds to wait for the last output, if another process still holds the pipes."""
_STARTS_S = 0.5
"""Seconds in which a service that cannot start ends, as far as it is waited for."""
_END_LIMIT_S = 4.0
"""Seconds that another process may take to end the command of an action: half of them for SIGTERM."""
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_WAIT_THEN_EXEC = 'read -r go && exec "$@" </dev/null'
"""Script that waits for a line before it becomes the command, so that its process id is written down before
it does anything. If this process dies first, the script reads the end of its input and exits."""


def read_argv(value: object) -> tuple[str, ...]:
    """Return the words of a list, or of a text split like in a shell. No shell is used to run it."""
    if isinstance(value, str):
        try:
            parts: list[object] = [*shlex.split(value)]
        except ValueError as error:
            raise InputError("", f"expected {COMMAND_FORM}, got {shown(value)}: {error}") from None
    else:
        parts = value if isinstance(value, list) else []
    words = [str(part) if isinstance(part, int) and not isinstance(part, bool) else part for part in parts]
    if not words or not all(isinstance(word, str) and word and "\0" not in word for word in words):
        raise InputError("", f"expected {COMMAND_FORM}, got {shown(value)}")
    return tuple(str(word) for word in words)


COMMAND = KeyTable(
    Key(
        "command",
        read_argv,
        ARGV_SCHEMA,
        (),
        "The program and its arguments, without a shell: a list, or a text that is split like in a shell. "
        "Either may stand in place of the mapping.",
        COMMAND_FORM,
    ),
    Key("folder", text, TEXT_SCHEMA, help="The working folder; by default that of the experiment's file."),
    Key(
        "env",
        read_texts,
        TEXTS_SCHEMA,
        {},
        "Environment variables added for the command. Of the runner's it has all but Faultkit's own tokens.",
    ),
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command to run."""

    argv: tuple[str, ...]
    folder: str | None = None
    """Working folder; by default that of the experiment's file."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of this process, of which the command gets all but Faultkit's own tokens."""
    kind: ClassVar[str] = "process"
    usual_limit_s: ClassVar[float] = 30.0

    @property
    def says(self) -> str:
        return f"run {self.argv[0]}"

    def resolve(self, context: StepContext) -> None:
        if self.folder is not None and not (context.folder / self.folder).is_dir():
            raise InputError("folder", f'expected a folder that exists, got "{self.folder}"')
        if shutil.which(self.argv[0], path=self.full_env.get("PATH")) is None:
            name = context.folder / (self.folder or "") / self.argv[0]
            if os.sep not in self.argv[0] or not os.access(name, os.X_OK):
                raise InputError("command", f'expected a program that can be run, got "{self.argv[0]}"')

    async def perform(self, context: StepContext) -> Any:
        """Run the command; return `status`, `stdout`, `stderr`, `elapsed_ms`. If it is cancelled, the
        command's process group is killed."""
        transport, output = await self._start(context)
        try:
            guard_group(transport.get_pid())
            _let_go(transport)
            return await output.result(transport)
        finally:
            await output.end(transport)

    async def act(self, context: StepContext) -> Any:
        transport, output = await self._start(context)
        entry = None
        try:
            entry = context.rollback.intend(_end_undo(transport.get_pid(), self.argv[0], _END_LIMIT_S))
            _let_go(transport)
            found = await output.result(transport)
        finally:
            await output.end(transport)
            if entry is not None and output.exited.is_set():
                context.rollback.forget(entry, "it has ended", ENDED_ITSELF)
        if found["status"] != 0:
            stderr = one_line(found["stderr"])[:200]
            problem = f"{self.argv[0]} ended with {found['status']}"
            raise StepFailed(f"{problem}: {stderr}" if stderr else problem)
        return found

    async def _start(self, context: StepContext) -> tuple[asyncio.SubprocessTransport, _OutputCollector]:
        """Start the command, which waits for `_let_go`.

        A shell may drop variables whose names it cannot use. With such names the command does not wait."""
        env = self.full_env
        waits = all(_NAME.fullmatch(name) for name in env)
        waiting = ("/bin/sh", "-c", _WAIT_THEN_EXEC, "sh") if waits else ()
        try:
            return await asyncio.get_running_loop().subprocess_exec(
                _OutputCollector,
                *waiting,
                *self.argv,
                stdin=asyncio.subprocess.PIPE if waits else asyncio.subprocess.DEVNULL,
                cwd=context.folder / (self.folder or ""),
                env=env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            what = self.argv[0]
            if isinstance(error, OSError) and not (context.folder / (self.folder or "")).is_dir():
                what = f"folder {self.folder}"
            raise StepFailed(f"{what}: {getattr(error, 'strerror', None) or error}") from None

    def undo(self, context: StepContext, limit_s: float) -> Undo:
        folder = str(context.folder / (self.folder or ""))
        data = {"argv": list(self.argv), "cwd": folder, "env": dict(self.env)}
        return Undo("command", data, self.says, limit_s)

    @property
    def full_env(self) -> dict[str, str]:
        return {**inherited_environment(), **self.env}


class _OutputCollector(asyncio.SubprocessProtocol):
    """Collects the output until the process exits: its children may keep the pipes open for longer."""

    def __init__(self) -> None:
        self.kept = {1: bytearray(), 2: bytearray()}
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.exited = asyncio.Event()
        self._began = time.monotonic()
        self._open = {1, 2}

    async def result(self, transport: asyncio.SubprocessTransport) -> dict[str, Any]:
        """Wait for the end of the process; return its status, its output and how long it took."""
        await self.ended
        stdout, stderr = (bytes(self.kept[fd]).decode("utf-8", "replace") for fd in (1, 2))
        return {
            "status": transport.get_returncode(),
            "stdout": stdout,
            "stderr": stderr,
            "elapsed_ms": round((time.monotonic() - self._began) * 1000, 3),
        }

    async def end(self, transport: asyncio.SubprocessTransport) -> None:
        """Kill the process, and those that it left behind in its group."""
        kill_group(transport.get_pid())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REAP_S):
                await self.exited.wait()
        transport.close()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = self.kept[fd]
        kept += data[: MOST_BYTES - len(kept)]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        self._end_if_complete()

    def process_exited(self) -> None:
        self.exited.set()
        self._end_if_complete()
        asyncio.get_running_loop().call_later(_LAST_OUTPUT_S, self._end)

    def _end_if_complete(self) -> None:
        if self.exited.is_set() and not self._open:
            self._end()

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


def _let_go(transport: asyncio.SubprocessTransport) -> None:
    """Let a command that waits begin."""
    pipe = transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        pipe.write(b"go\n")
        pipe.close()


def _end_undo(pid: int, name: str, limit_s: float = USUAL_LIMIT_S) -> Undo:
    """Return how another process ends one that this process has just started, with its group.

    Raises StepFailed if it has ended already."""
    birth = birth_of(pid)
    if birth is None:
        raise StepFailed(f"{name} ended before it began")
    data = {"pid": pid, "birth": birth, "group": True, "boot": boot_id()}
    return Undo("end_process", data, f"end {name} (process {pid})", limit_s)


def build_command(reader: MappingReader) -> Command:
    """Return the work of a step `process`."""
    return Command(reader.take("command"), reader.take("folder"), reader.take("env"))


# --- start and signal ------------------------------------------------------------------------------


SIGNALS = {each.name: each for each in signal.Signals}
SIGNAL_FORM = "the name of a signal such as SIGSTOP"
_MOST_PID = 1 << 31


def read_signal(value: object) -> signal.Signals:
    """Return a signal by its name, with or without SIG. Raises InputError for anything else."""
    name = value.upper() if isinstance(value, str) else ""
    name = name if name.startswith("SIG") else f"SIG{name}"
    if name not in SIGNALS:
        raise InputError("", f"expected {SIGNAL_FORM}, got {shown(value)}")
    return SIGNALS[name]


SIGNAL = KeyTable(
    Key("signal", read_signal, TEXT_SCHEMA, signal.SIGCONT, "The signal, such as SIGSTOP.", SIGNAL_FORM),
    Key("process", text, TEXT_SCHEMA, help="The name of the `start` step that started the process."),
    Key("pid", whole_number(2, _MOST_PID), {"type": "integer", "minimum": 2}, help="The id of the process."),
    Key("pid_file", text, TEXT_SCHEMA, help="A file with the id of the process."),
)


@dataclass(frozen=True, slots=True)
class Start:
    """A service to start."""

    command: Command
    name: str = ""
    kind: ClassVar[str] = "start"
    usual_limit_s: ClassVar[float] = USUAL_STEP_LIMIT_S

    @property
    def says(self) -> str:
        return f"start {self.command.argv[0]}"

    def resolve(self, context: StepContext) -> None:
        self.command.resolve(context)

    async def perform(self, context: StepContext) -> Any:
        return await self.act(context)

    async def act(self, context: StepContext) -> Any:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            _WAIT_THEN_EXEC,
            "sh",
            *self.command.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=context.folder / (self.command.folder or ""),
            env=self.command.full_env,
            start_new_session=True,
        )
        assert process.stdin is not None
        try:
            context.rollback.intend(_end_undo(process.pid, self.name))
            process.stdin.write(b"go\n")
        finally:
            process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STARTS_S):
                await process.wait()
        if process.returncode:
            raise StepFailed(f"{self.command.argv[0]} ended at once, with {process.returncode}")
        context.started.append(process)
        context.processes[self.name] = process.pid
        return {"pid": process.pid}


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal to a process."""

    number: signal.Signals
    process: str | None = None
    """Name of the step that started the process."""
    pid: int | None = None
    pid_file: str | None = None
    kind: ClassVar[str] = "signal"
    usual_limit_s: ClassVar[float] = USUAL_STEP_LIMIT_S

    @property
    def says(self) -> str:
        return f"send {self.number.name} to {self.process or self.pid_file or f'process {self.pid}'}"

    def resolve(self, context: StepContext) -> None:
        if self.process is None:
            self._find_pid(context)

    async def perform(self, context: StepContext) -> Any:
        return await self.act(context)

    async def act(self, context: StepContext) -> Any:
        pid = self._find_pid(context)
        if self.number == signal.SIGSTOP:
            data = {"pid": pid, "birth": birth_of(pid)}
            says = f"let {self.process or f'process {pid}'} go on"
            context.rollback.intend(Undo("continue_process", data, says))
        context.signalled.add(pid)
        try:
            os.kill(pid, self.number)
        except OSError as error:
            raise StepFailed(f"process {pid}: {system_message(error)}") from None
        return {"pid": pid, "signal": self.number.name}

    def undo(self, context: StepContext, limit_s: float) -> Undo:
        pid = self._find_pid(context)
        return Undo("continue_process", {"pid": pid, "birth": birth_of(pid)}, self.says, limit_s)

    def _find_pid(self, context: StepContext) -> int:
        if self.process is not None:
            if self.process not in context.processes:
                raise StepFailed(f"{self.process} was not started")
            pid = context.processes[self.process]
        elif self.pid_file is not None:
            pid = _read_pid(context.folder / self.pid_file)
        else:
            assert self.pid is not None
            pid = self.pid
        if birth_of(pid) is None:
            raise InputError("pid", f"expected a process that runs, got {pid}")
        return pid


def _read_pid(file: Path) -> int:
    try:
        pid = int(file.read_text("utf-8").split()[0])
    except OSError as error:
        raise InputError("pid_file", f"{file}: {system_message(error)}") from None
    except (ValueError, IndexError):
        raise InputError("pid_file", f"expected the number of a process in {file}") from None
    if pid < 2:
        raise InputError("pid_file", f"expected a number from 2 in {file}, got {pid}")
    return pid


def build_start(reader: MappingReader) -> Start:
    """Return the work of a step `start`."""
    return Start(build_command(reader))


def build_signal(reader: MappingReader) -> Signal:
    """Return the work of a step `signal`."""
    targets = [key for key in ("process", "pid", "pid_file") if key in reader.given]
    if reader.sound and len(targets) != 1:
        problem = f"expected one of process, pid, pid_file, got {' and '.join(targets) or 'none'}"
        reader.problems.append(InputError(reader.path, problem))
    return Signal(reader.take("signal"), reader.take("process"), reader.take("pid"), reader.take("pid_file"))
