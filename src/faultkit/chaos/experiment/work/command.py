"""`process`: a command and how it ended. As an action, any status but 0 is a failure."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import shown
from faultkit.base.documents.values import text
from faultkit.base.errors import InputError
from faultkit.chaos.experiment.work.http import read_texts
from faultkit.chaos.experiment.work.work import Failed, Scene
from faultkit.chaos.undo import Undo

KEYS = ("command", "folder", "env")
COMMAND_FORM = "a command such as [redis-cli, ping]"
MOST_BYTES = 64 << 10
"""Of each output; what comes after it is read and dropped."""
_LAST_WORDS_S = 0.2
"""For what it said last, if somebody else still holds its outputs."""


@dataclass(frozen=True, slots=True)
class Command:
    argv: tuple[str, ...]
    folder: str | None = None
    """By default that of the experiment's file."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to that of this process."""
    kind: ClassVar[str] = "process"
    usual_limit_s: ClassVar[float] = 30.0

    @property
    def says(self) -> str:
        return f"run {self.argv[0]}"

    def resolve(self, scene: Scene) -> None:
        if shutil.which(self.argv[0], path=self._env.get("PATH")) is None:
            name = scene.folder / (self.folder or "") / self.argv[0]
            if os.sep not in self.argv[0] or not os.access(name, os.X_OK):
                raise InputError("command", f'expected a program that can be run, got "{self.argv[0]}"')

    async def perform(self, scene: Scene) -> Any:
        """`status`, `stdout`, `stderr`, `elapsed_ms`. One that is cut short is killed, with its group."""
        began = time.monotonic()
        try:
            transport, output = await asyncio.get_running_loop().subprocess_exec(
                _Output,
                *self.argv,
                stdin=asyncio.subprocess.DEVNULL,
                cwd=scene.folder / (self.folder or ""),
                env=self._env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise Failed(f"{self.argv[0]}: {getattr(error, 'strerror', None) or error}") from None
        try:
            await output.ended
        finally:
            # What it left behind is in its group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(transport.get_pid(), signal.SIGKILL)
            transport.close()
        stdout, stderr = (bytes(output.kept[fd]).decode("utf-8", "replace") for fd in (1, 2))
        return {
            "status": transport.get_returncode(),
            "stdout": stdout,
            "stderr": stderr,
            "elapsed_ms": round((time.monotonic() - began) * 1000, 3),
        }

    async def act(self, scene: Scene) -> Any:
        answer = await self.perform(scene)
        if answer["status"] != 0:
            said = " ".join(answer["stderr"].split())[:200]
            raise Failed(f"{self.argv[0]} ended with {answer['status']}" + (f": {said}" if said else ""))
        return answer

    def undo(self, scene: Scene, limit_s: float) -> Undo:
        folder = str(scene.folder / (self.folder or ""))
        data = {"argv": list(self.argv), "cwd": folder, "env": dict(self.env)}
        return Undo("command", data, self.says, limit_s)

    @property
    def _env(self) -> dict[str, str]:
        return {**os.environ, **self.env}


class _Output(asyncio.SubprocessProtocol):
    """It has ended when it has exited: what it started may hold its outputs open for longer."""

    def __init__(self) -> None:
        self.kept = {1: bytearray(), 2: bytearray()}
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._open = {1, 2}
        self._exited = False

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = self.kept[fd]
        kept += data[: MOST_BYTES - len(kept)]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        self._check()

    def process_exited(self) -> None:
        self._exited = True
        self._check()
        asyncio.get_running_loop().call_later(_LAST_WORDS_S, self._end)

    def _check(self) -> None:
        if self._exited and not self._open:
            self._end()

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


def parse_command(value: object, path: str, problems: list[InputError]) -> Command | None:
    before = len(problems)
    given = {"command": value} if isinstance(value, str | list) else value
    reading = Reading(given, KEYS, path, problems)
    argv = reading.need("command", read_argv, (), COMMAND_FORM)
    folder = reading.take("folder", text, None)
    env = reading.take("env", read_texts, {})
    return Command(argv, folder, env) if len(problems) == before else None


def read_argv(value: object) -> tuple[str, ...]:
    """A list, or one text that is cut as a shell would cut it. No shell runs it."""
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
