"""Running a gateway: two transports in front, two behind, and whatever ends it cleans up."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from faultkit.base.commands import check_program
from faultkit.base.errors import InputError
from faultkit.base.http.listening import allowed_hosts, cannot_listen, shown_host
from faultkit.base.http.server import HttpServer
from faultkit.base.serving import Signals
from faultkit.faults.call.call import ERAS, Transport
from faultkit.mcp.gateway.control import Control
from faultkit.mcp.gateway.http_relay import HttpRelay
from faultkit.mcp.gateway.recording import Recorder
from faultkit.mcp.gateway.running import Running
from faultkit.mcp.gateway.service import Gateway
from faultkit.mcp.injector import check_plan
from faultkit.mcp.targets import Inventory
from faultkit.mcp.upstreams.http import HttpUpstream, check_url
from faultkit.mcp.upstreams.stdio import StdioUpstream
from faultkit.mcp.upstreams.upstream import Connect, Listener, Upstream
from faultkit.mcp.wire.exchange import Session
from faultkit.mcp.wire.front_http import HttpFront
from faultkit.mcp.wire.stdio import serve_stdio
from faultkit.plan import Plan

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class GatewayJob:
    command: tuple[str, ...] = ()
    """A stdio server; or `upstream`, the URL of one over HTTP."""
    upstream: str = ""
    front: Transport = "stdio"
    host: str = "127.0.0.1"
    port: int = 8766
    plan: Plan = Plan()  # noqa: RUF009
    server: str = ""
    record: str | None = None
    overwrite: bool = False
    """A recording that is there already is replaced."""
    headers: tuple[tuple[str, str], ...] = ()
    verify: bool = True
    env: Mapping[str, str] = field(default_factory=dict)
    control: tuple[str, int] | None = None
    """Where its control API listens."""
    control_token: str | None = None
    """None: one is made up and said."""


@dataclass(frozen=True, slots=True)
class Ended:
    why: str
    code: int = 0
    """For our own process: of a server that left, its own."""


def check_job(job: GatewayJob) -> None:
    """Raises before anything is started."""
    if bool(job.command) == bool(job.upstream):
        got = "both" if job.command else "neither"
        raise InputError("", f"expected a command behind -- or --upstream URL, got {got}")
    if job.upstream:
        check_url(job.upstream)
    else:
        check_program(job.command[0])
    check_plan(job.plan, job.front, ERAS, Inventory(job.server))


async def run_gateway(job: GatewayJob, say: Say = lambda line: None) -> Ended:
    """Returns what ended it. `say` is told where it can be reached and what its server did."""
    check_job(job)
    running = Running(job.plan, job.server, job.front)
    with Signals() as signals, _recorded(job, running, say) as recorder:
        async with _controlled(job, running, say):
            if job.front == "http" and job.upstream:
                return await _relay(job, running, recorder, signals, say)
            return await _bridge(job, running, recorder, signals, say)


@contextmanager
def _recorded(job: GatewayJob, running: Running, say: Say) -> Iterator[Recorder | None]:
    if job.record is None:
        yield None
        return
    recorder = Recorder(job.record, lambda: running.elapsed_s, overwrite=job.overwrite, say=say)
    try:
        yield recorder
    finally:
        recorder.close()


@asynccontextmanager
async def _controlled(job: GatewayJob, running: Running, say: Say) -> AsyncIterator[None]:
    if job.control is None:
        yield
        return
    token = job.control_token or secrets.token_urlsafe(24)
    control = Control(running, token)
    host, port = await control.start(*job.control)
    say(f"control: http://{shown_host(host)}:{port}")
    if job.control_token is None:
        say(f"control token: {token}")
    try:
        yield
    finally:
        await control.stop()


async def _relay(
    job: GatewayJob, running: Running, recorder: Recorder | None, signals: Signals, say: Say
) -> Ended:
    relay = HttpRelay(
        job.upstream,
        running.injector,
        server=job.server,
        recorder=recorder,
        elapsed=lambda: running.elapsed_s,
        headers=job.headers,
        verify=job.verify,
        hosts=allowed_hosts(job.host),
        note=lambda text: say(f"{job.server or 'the server'}: {text}"),
    )
    server = HttpServer(relay.handle)
    try:
        host, port = await _listening(job, server.start)
        say(f"gateway on http://{shown_host(host)}:{port}{relay.path}, in front of {job.upstream}")
        return Ended(await signals.until_stopped())
    finally:
        await relay.stop()
        await server.stop()


async def _bridge(
    job: GatewayJob, running: Running, recorder: Recorder | None, signals: Signals, say: Say
) -> Ended:
    left: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
    front: HttpFront | None = None
    name = job.server or "the server"

    def lost(session: Session, why: str, code: int | None) -> None:
        if front is not None:
            say(f"{name}: {why}")
            front.forget(session)
        elif not left.done():
            if code != 0:
                say(f"{name}: {why}")
            left.set_result(Ended(why, 3 if code is None else code if code >= 0 else 128 - code))

    gateway = Gateway(
        _connector(job),
        running.injector,
        server=job.server,
        recorder=recorder,
        elapsed=lambda: running.elapsed_s,
        lost=lost,
        note=lambda text: say(f"{name}: {text}"),
    )
    is_orderly = False
    try:
        if job.front == "stdio":
            ended = await _until_left(gateway, signals, left)
            is_orderly = ended.why == _END_OF_INPUT
            return ended
        front = HttpFront(gateway, hosts=allowed_hosts(job.host), most_sessions=_MOST_SERVERS, idle_s=_IDLE_S)
        host, port = await _listening(job, front.start)
        behind = job.upstream or " ".join(job.command)
        say(f"gateway on http://{shown_host(host)}:{port}/mcp, in front of {behind}")
        return Ended(await signals.until_stopped())
    finally:
        if front is not None:
            await front.stop()
        await gateway.stop(urgent=not is_orderly)


_END_OF_INPUT = "end of input"
_MOST_SERVERS = 1_000
"""Each session has a server of its own, which may be a process."""
_IDLE_S = 1800.0


async def _until_left(gateway: Gateway, signals: Signals, left: asyncio.Future[Ended]) -> Ended:
    """Until the client, the server or a signal ends it."""
    work = serve_stdio(gateway, foreign=gateway.foreign, at_end=gateway.last_words)
    serving = asyncio.get_running_loop().create_task(signals.until_stopped(work))
    both: list[asyncio.Future[Any]] = [serving, left]
    await asyncio.wait(both, return_when="FIRST_COMPLETED")
    if not left.done():
        return Ended(serving.result())
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    return left.result()


async def _listening(
    job: GatewayJob, start: Callable[[str, int], Awaitable[tuple[str, int]]]
) -> tuple[str, int]:
    try:
        return await start(job.host, job.port)
    except OSError as error:
        raise cannot_listen(job.host, job.port, error) from None


def _connector(job: GatewayJob) -> Connect:
    def connect(listener: Listener) -> Upstream:
        if job.upstream:
            return HttpUpstream(job.upstream, listener, headers=job.headers, verify=job.verify)
        return StdioUpstream(job.command, listener, job.env)

    return connect
