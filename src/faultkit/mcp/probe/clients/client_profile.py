"""Profiles of clients: the client is run twice with a working server, then once for each fault that fits.

`run_case` is one run, from the start of the client to what it leaves behind. Over HTTP, the server runs here.
On stdio, the client starts the server itself (`recording_mock`), and the server connects back over a Unix
socket.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from faultkit.base.address import LOOPBACK_NAMES
from faultkit.base.client_program import ClientProgram, argv_of, loopback_variables
from faultkit.base.errors import InputError
from faultkit.base.external_program import check_program, inherited_environment
from faultkit.base.tasks import work_on_each
from faultkit.faults.call_fault import ERAS, Era, Transport
from faultkit.mcp.fault_specs import NONE
from faultkit.mcp.injector import check_plan
from faultkit.mcp.probe.clients.client_behaviour import (
    ClientBehaviour,
    ClientRun,
    Profile,
    behaviour_of,
    control_problem,
    era_in,
    inconclusive_behaviour,
)
from faultkit.mcp.probe.clients.fault_battery import BATTERY, fitting, manifest_of, plan_of
from faultkit.mcp.probe.clients.recording_mock import JournalEntry, RecordingMock, entry_of
from faultkit.mcp.wire.http_front import HttpFront

_HOST = "127.0.0.1"
_SETTLE_S = 1.0
"""How long what ends with the client may take to end."""
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class ProfileJob:
    """The client and the settings that all runs of a profile have in common."""

    command: tuple[str, ...]
    transport: Transport
    era: Era | None = None
    """The only era that the server speaks; None for both."""
    tools_from: str | None = None
    seed: int | str = 0
    limit_s: float = 30.0


async def run_case(job: ProfileJob, spec: str) -> ClientRun:
    """Run the client with one fault, for no longer than the time limit and a few seconds to clean up.

    Raises TargetError if the client cannot be started.
    """
    case = _CaseRun(job, spec)
    serve = case.over_http if job.transport == "http" else case.over_stdio
    with tempfile.TemporaryDirectory(prefix="faultkit-") as folder:
        async with serve(Path(folder)) as (argv, env):
            return await case.run(argv, env)


class _CaseRun:
    """One run: its clock, its journal, and its server."""

    def __init__(self, job: ProfileJob, spec: str) -> None:
        self._job = job
        self._spec = spec
        self._loop = asyncio.get_running_loop()
        self._began_s = self._loop.time()
        self._journal: list[JournalEntry] = []
        self._leaks: Callable[[], list[str]] = list

    def _now_ms(self) -> float:
        return round((self._loop.time() - self._began_s) * 1000, 1)

    def _record(self, entry: JournalEntry) -> None:
        self._journal.append(replace(entry, at_ms=self._now_ms()))

    async def run(self, argv: Sequence[str], env: dict[str, str]) -> ClientRun:
        self._began_s = self._loop.time()
        program = ClientProgram(self._now_ms)
        try:
            await program.start(argv, "", env, None)
            has_ended = await _within(program.exited(), self._job.limit_s)
            elapsed_ms, journal = self._now_ms(), tuple(self._journal)
            leaks: list[str] = []
            if has_ended:
                leaks = await self._left_open(program)
                await program.ended()
            return ClientRun(
                journal,
                program.exit_code if has_ended else None,
                program.stdout,
                program.stderr,
                tuple(leaks),
                elapsed_ms,
            )
        finally:
            await program.stop()

    async def _left_open(self, program: ClientProgram) -> list[str]:
        """Return what is still open after a while; returns at once when nothing is."""
        until_s = self._loop.time() + _SETTLE_S
        while True:
            processes = program.left
            left = [*self._leaks(), *([_counted(processes, "process")] if processes else [])]
            if not left or self._loop.time() >= until_s:
                return left
            await asyncio.sleep(_POLL_S)

    @asynccontextmanager
    async def over_http(self, folder: Path) -> AsyncIterator[tuple[list[str], dict[str, str]]]:
        job = self._job
        plan = plan_of(self._spec, job.seed)
        service = RecordingMock(manifest_of(job.tools_from), plan, job.era, self._record)
        front = HttpFront(service, hosts=LOOPBACK_NAMES)

        def leaks() -> list[str]:
            counts = (
                (front.session_count, "session"),
                (front.connection_count, "connection"),
                (service.calls_open, "call"),
            )
            return [_counted(count, what) for count, what in counts if count]

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
    async def over_stdio(self, folder: Path) -> AsyncIterator[tuple[list[str], dict[str, str]]]:
        servers: dict[int, asyncio.Task[None] | None] = {}
        """The running servers by process id."""
        started = 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal started
            started += 1
            session = f"process-{started}"
            pid = int(await reader.readline() or b"0")
            servers[pid] = asyncio.current_task()
            try:
                writer.write(json.dumps(self._instructions()).encode() + b"\n")
                while line := await reader.readline():
                    self._record(entry_of(line, session, 0.0))
            except (OSError, ValueError):
                pass
            finally:
                del servers[pid]
                writer.close()

        self._leaks = lambda: [_counted(len(servers), "server process")] if servers else []
        path = folder / "s"
        server = await asyncio.start_unix_server(serve, str(path))
        command = [sys.executable, "-m", "faultkit.mcp.probe.clients.recording_mock", str(path)]
        try:
            env, config = environment_of(folder, command=command)
            yield argv_of(self._job.command, {SERVER: command, CONFIG: [config]}), env
        finally:
            server.close()
            left = {pid: task for pid, task in servers.items() if task is not None}
            for pid in left:
                # Its connection is still open, so the process id has not been reused.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await asyncio.gather(*left.values(), return_exceptions=True)

    def _instructions(self) -> dict[str, object]:
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


def _counted(number: int, what: str) -> str:
    many = {"process": "processes", "server process": "server processes"}.get(what, f"{what}s")
    return f"{number} {what if number == 1 else many}"


NAME = "faultkit"
"""The name of the server in the config file."""
SERVER, URL, CONFIG = "{server}", "{url}", "{config}"


def environment_of(folder: Path, *, url: str = "", command: Sequence[str] = ()) -> tuple[dict[str, str], str]:
    """Return the environment of the client, and the path of the config file that names the server."""
    server: Mapping[str, object] = {"type": "http", "url": url}
    if not url:
        server = {"command": command[0], "args": list(command[1:])}
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {NAME: server}}, indent=2) + "\n", "utf-8")
    added = {"FAULT_MCP_CONFIG": str(config)}
    if url:
        added["FAULT_MCP_URL"] = url
    return {**inherited_environment(), **loopback_variables(), **added}, str(config)


# --- a profile ------------------------------------------------------------------------------------

OnRow = Callable[[int, int, ClientBehaviour], None]
"""The number of the row, the number of all rows, and the row."""


def check_job(job: ProfileJob, specs: Sequence[str]) -> None:
    """Raise InputError for a job that cannot work, before anything is started."""
    if not job.command:
        raise InputError("", "expected the command of the client after --, got none")
    check_program(job.command[0])
    for sign, of in ((SERVER, "stdio"), (URL, "http")):
        if job.transport != of and any(sign in word for word in job.command):
            raise InputError(
                "--transport", f"expected {of}, got {job.transport}: {sign} stands for a server over {of}"
            )
    manifest_of(job.tools_from)
    eras: tuple[Era, ...] = ERAS if job.era is None else (job.era,)
    for spec in specs:
        try:
            check_plan(plan_of(spec, job.seed), job.transport, eras)
        except InputError as error:
            raise error.at(f'--fault "{spec}"') from None


async def profile_client(
    job: ProfileJob,
    specs: Sequence[str] = (),
    *,
    parallel: int = 2,
    on_row: OnRow = lambda number, of, behaviour: None,
) -> Profile:
    """Profile the client; `specs` replace the battery. Raises TargetError if it cannot be started."""
    check_job(job, specs)
    control = again = await run_case(job, NONE)
    problem = control_problem(control)
    if not problem:
        # Run it twice, because its output may differ each time.
        again = await run_case(job, NONE)
        problem = control_problem(again)
    era = era_in(control)
    wanted = tuple(specs) or fitting(BATTERY, job.transport, era or job.era or "legacy")
    command = shlex.join(job.command)
    if problem:
        rows = tuple(inconclusive_behaviour(spec, "the control run failed") for spec in wanted)
        note = f"the control run failed, so no fault can be judged: {problem}"
        return Profile(command, job.transport, era, inconclusive_behaviour("", problem), rows, (note,))
    comparable = control.stdout == again.stdout
    rows = await _run_cases(job, wanted, control, comparable, parallel, on_row)
    notes = (
        () if comparable else ("the client prints something else each time, so its output is not compared",)
    )
    return Profile(command, job.transport, era, behaviour_of("", control, control), rows, notes)


async def _run_cases(
    job: ProfileJob, specs: Sequence[str], control: ClientRun, comparable: bool, parallel: int, on_row: OnRow
) -> tuple[ClientBehaviour, ...]:
    async def one(spec: str) -> ClientBehaviour:
        return behaviour_of(spec, await run_case(job, spec), control, comparable=comparable)

    return await work_on_each(specs, one, parallel, on_row)
