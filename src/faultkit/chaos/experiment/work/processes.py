"""`start` and `signal`: a process of the experiment's own, and signals to one. Both are undone at the end."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import shown
from faultkit.base.documents.values import text, whole
from faultkit.base.errors import InputError
from faultkit.chaos.experiment.work.command import Command, parse_command
from faultkit.chaos.experiment.work.work import USUAL_LIMIT_S, Failed, Scene, why_of
from faultkit.chaos.processes import birth_of, this_boot
from faultkit.chaos.undo import Undo

KEYS = ("process", "pid", "pid_file", "signal")
SIGNALS = {each.name: each for each in signal.Signals}
_MOST_PID = 1 << 31
_WAITS_FOR_A_WORD = 'read -r go && exec "$@" </dev/null'
"""So that its number is on disk before it does anything. If we die first, it reads an end and goes, too."""


@dataclass(frozen=True, slots=True)
class Start:
    command: Command
    name: str = ""
    kind: ClassVar[str] = "start"
    usual_limit_s: ClassVar[float] = USUAL_LIMIT_S

    @property
    def says(self) -> str:
        return f"start {self.command.argv[0]}"

    def resolve(self, scene: Scene) -> None:
        self.command.resolve(scene)

    async def perform(self, scene: Scene) -> Any:
        return await self.act(scene)

    async def act(self, scene: Scene) -> Any:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            _WAITS_FOR_A_WORD,
            "sh",
            *self.command.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=scene.folder / (self.command.folder or ""),
            env={**os.environ, **self.command.env},
            start_new_session=True,
        )
        assert process.stdin is not None
        birth = birth_of(process.pid)
        if birth is None:
            raise Failed(f"{self.command.argv[0]} ended before it began")
        try:
            data = {"pid": process.pid, "birth": birth, "group": True, "boot": this_boot()}
            scene.reversals.intend(Undo("end_process", data, f"end {self.name} (process {process.pid})"))
            process.stdin.write(b"go\n")
        finally:
            process.stdin.close()
        scene.started.append(process)
        scene.processes[self.name] = process.pid
        return {"pid": process.pid}


@dataclass(frozen=True, slots=True)
class Signal:
    number: signal.Signals
    process: str | None = None
    """The name of the step that started it."""
    pid: int | None = None
    pid_file: str | None = None
    kind: ClassVar[str] = "signal"
    usual_limit_s: ClassVar[float] = USUAL_LIMIT_S

    @property
    def says(self) -> str:
        whom = self.process or self.pid_file or f"process {self.pid}"
        return f"send {self.number.name} to {whom}"

    def resolve(self, scene: Scene) -> None:
        if self.process is None:
            self._found(scene)

    async def perform(self, scene: Scene) -> Any:
        return await self.act(scene)

    async def act(self, scene: Scene) -> Any:
        pid = self._found(scene)
        if self.number == signal.SIGSTOP:
            data = {"pid": pid, "birth": birth_of(pid)}
            says = f"let {self.process or f'process {pid}'} go on"
            scene.reversals.intend(Undo("continue_process", data, says))
        try:
            os.kill(pid, self.number)
        except OSError as error:
            raise Failed(f"process {pid}: {why_of(error)}") from None
        return {"pid": pid, "signal": self.number.name}

    def undo(self, scene: Scene, limit_s: float) -> Undo:
        pid = self._found(scene)
        return Undo("continue_process", {"pid": pid, "birth": birth_of(pid)}, self.says, limit_s)

    def _found(self, scene: Scene) -> int:
        if self.process is not None:
            if self.process not in scene.processes:
                raise Failed(f"{self.process} was not started")
            pid = scene.processes[self.process]
        elif self.pid_file is not None:
            pid = _read_pid(scene.folder / self.pid_file)
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
        raise InputError("pid_file", f"{file}: {why_of(error)}") from None
    except (ValueError, IndexError):
        raise InputError("pid_file", f"expected the number of a process in {file}") from None
    if pid < 2:
        raise InputError("pid_file", f"expected a number from 2 in {file}, got {pid}")
    return pid


def parse_start(value: object, path: str, problems: list[InputError]) -> Start | None:
    command = parse_command(value, path, problems)
    return None if command is None else Start(command)


def parse_signal(value: object, path: str, problems: list[InputError]) -> Signal | None:
    before = len(problems)
    reading = Reading(value, KEYS, path, problems)
    whom = [key for key in ("process", "pid", "pid_file") if key in reading.given]
    if reading.sound and len(whom) != 1:
        got = " and ".join(whom) or "none"
        problems.append(InputError(path, f"expected one of process, pid, pid_file, got {got}"))
    number = reading.need("signal", _signal, signal.SIGCONT, "the name of a signal such as SIGSTOP")
    process = reading.take("process", text, None)
    pid = reading.take("pid", whole(2, _MOST_PID), None)
    pid_file = reading.take("pid_file", text, None)
    return Signal(number, process, pid, pid_file) if len(problems) == before else None


def _signal(value: object) -> signal.Signals:
    name = value.upper() if isinstance(value, str) else ""
    name = name if name.startswith("SIG") else f"SIG{name}"
    if name not in SIGNALS:
        raise InputError("", f"expected the name of a signal such as SIGSTOP, got {shown(value)}")
    return SIGNALS[name]
