"""One run of the client in front of one faulty server, from its start to whatever is left of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from faultkit.base.http.listening import LOOPBACK
from faultkit.faults.call.call import Era, Transport
from faultkit.mcp.probe.clients.battery import plan_of
from faultkit.mcp.probe.clients.client import CONFIG, SERVER, URL, ClientProgram, argv_of, environment_of
from faultkit.mcp.probe.clients.conduct import Run
from faultkit.mcp.probe.clients.journal import Entry, entry_of
from faultkit.mcp.probe.clients.manifest import manifest_of
from faultkit.mcp.probe.clients.watched import Watched
from faultkit.mcp.wire.front_http import HttpFront

_HOST = "127.0.0.1"
_SETTLE_S = 1.0
"""For what ends with the client, to have ended."""
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Job:
    """What all runs of a profile have in common."""

    command: tuple[str, ...]
    transport: Transport
    era: Era | None = None
    """The only one that the server speaks; None for both."""
    tools_from: str | None = None
    seed: int | str = 0
    limit_s: float = 30.0


async def run_case(job: Job, spec: str) -> Run:
    """Takes no longer than the limit of the job, and a few seconds to clean up. TargetError if the client
    cannot be started."""
    place = _Place(job, spec)
    serve = place.over_http if job.transport == "http" else place.on_pipes
    with tempfile.TemporaryDirectory(prefix="faultkit-") as folder:
        async with serve(Path(folder)) as (argv, env):
            return await place.run(argv, env)


class _Place:
    """Where one run takes place: its clock, its journal, and its server."""

    def __init__(self, job: Job, spec: str) -> None:
        self._job = job
        self._spec = spec
        self._loop = asyncio.get_running_loop()
        self._began_s = self._loop.time()
        self._journal: list[Entry] = []
        self._leaks: Callable[[], list[str]] = list

    def _now_ms(self) -> float:
        return round((self._loop.time() - self._began_s) * 1000, 1)

    def _hear(self, entry: Entry) -> None:
        self._journal.append(replace(entry, at_ms=self._now_ms()))

    async def run(self, argv: Sequence[str], env: dict[str, str]) -> Run:
        self._began_s = self._loop.time()
        program = ClientProgram(self._now_ms)
        try:
            await program.start(argv, "", env, None)
            has_ended = await _within(program.exited(), self._job.limit_s)
            elapsed_ms, journal = self._now_ms(), tuple(self._journal)
            leaks: list[str] = []
            if has_ended:
                leaks = await self._left(program)
                await program.ended()
            return Run(
                journal,
                program.exit_code if has_ended else None,
                program.stdout,
                program.stderr,
                tuple(leaks),
                elapsed_ms,
            )
        finally:
            await program.stop()

    async def _left(self, program: ClientProgram) -> list[str]:
        """What is still there after a while; nothing as soon as nothing is."""
        until_s = self._loop.time() + _SETTLE_S
        while True:
            processes = program.left
            left = [*self._leaks(), *([_count(processes, "process")] if processes else [])]
            if not left or self._loop.time() >= until_s:
                return left
            await asyncio.sleep(_LOOK_S)

    @asynccontextmanager
    async def over_http(self, folder: Path) -> AsyncIterator[tuple[list[str], dict[str, str]]]:
        job = self._job
        plan = plan_of(self._spec, job.seed)
        service = Watched(manifest_of(job.tools_from), plan, job.era, self._hear)
        front = HttpFront(service, hosts=LOOPBACK)

        def leaks() -> list[str]:
            counts = (
                (front.session_count, "session"),
                (front.connection_count, "connection"),
                (service.calls_open, "call"),
            )
            return [_count(count, what) for count, what in counts if count]

        self._leaks = leaks
        try:
            _, port = await front.start(_HOST, 0)
            url = f"http://{_HOST}:{port}/mcp"
            env, config = environment_of(folder, url=url)
            yield argv_of(job.command, {URL: [url], CONFIG: [config]}), env
        finally:
            await front.stop()
            await service.stop()

    @asynccontextmanager
    async def on_pipes(self, folder: Path) -> AsyncIterator[tuple[list[str], dict[str, str]]]:
        servers: dict[int, asyncio.Task[None] | None] = {}
        """By the numbers of their processes, those that are running."""
        started = 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal started
            started += 1
            session = f"process-{started}"
            pid = int(await reader.readline() or b"0")
            servers[pid] = asyncio.current_task()
            try:
                writer.write(json.dumps(self._told()).encode() + b"\n")
                while line := await reader.readline():
                    self._hear(entry_of(line, session, 0.0))
            except (OSError, ValueError):
                pass
            finally:
                del servers[pid]
                writer.close()

        self._leaks = lambda: [_count(len(servers), "server process")] if servers else []
        path = folder / "s"
        server = await asyncio.start_unix_server(serve, str(path))
        command = [sys.executable, "-m", "faultkit.mcp.probe.clients.server", str(path)]
        try:
            env, config = environment_of(folder, command=command)
            yield argv_of(self._job.command, {SERVER: command, CONFIG: [config]}), env
        finally:
            server.close()
            left = {pid: task for pid, task in servers.items() if task is not None}
            for pid in left:
                # Ours, and nobody else will end it: its connection is open, so that it is still that process.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await asyncio.gather(*left.values(), return_exceptions=True)

    def _told(self) -> dict[str, object]:
        job = self._job
        tools_from = None if job.tools_from is None else os.path.abspath(job.tools_from)
        return {"spec": self._spec, "seed": job.seed, "era": job.era, "tools_from": tools_from}


async def _within(work: Awaitable[None], limit_s: float) -> bool:
    try:
        async with asyncio.timeout(limit_s):
            await work
    except TimeoutError:
        return False
    return True


def _count(number: int, what: str) -> str:
    many = {"process": "processes", "server process": "server processes"}.get(what, f"{what}s")
    return f"{number} {what if number == 1 else many}"
