"""Running a gateway: two transports in front, two behind, and whatever ends it cleans up."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from faultkit.errors import InputError, TargetError
from faultkit.faults.call.call import ERAS, Transport
from faultkit.mcp.gateway.http_relay import HttpRelay
from faultkit.mcp.gateway.http_upstream import HttpUpstream, check_url
from faultkit.mcp.gateway.recording import Recorder
from faultkit.mcp.gateway.service import Gateway
from faultkit.mcp.gateway.stdio_upstream import StdioUpstream
from faultkit.mcp.gateway.upstream import Connect, Gone, Hear, Upstream
from faultkit.mcp.injector import Injector, check_plan
from faultkit.mcp.mock.run import allowed_hosts, cannot_listen, shown_host
from faultkit.mcp.serving import until_stopped
from faultkit.mcp.wire.exchange import Session
from faultkit.mcp.wire.front_http import HttpFront
from faultkit.mcp.wire.http.server import HttpServer
from faultkit.mcp.wire.stdio import serve_stdio
from faultkit.plan import Plan


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
    headers: tuple[tuple[str, str], ...] = ()
    verify: bool = True
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Running:
    """What a control API may look at and change while a gateway runs."""

    injector: Injector
    job: GatewayJob
    began: float

    def set_plan(self, plan: Plan) -> None:
        """InputError if a fault of it cannot act here; nothing has changed then."""
        check_plan(plan, self.job.front, ERAS, server=self.job.server or None)
        self.injector.set_plan(plan, asyncio.get_running_loop().time() - self.began)


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
    elif shutil.which(job.command[0]) is None:
        raise TargetError(f"cannot start {job.command[0]}: there is no such program")
    check_plan(job.plan, job.front, ERAS, server=job.server or None)


async def run_gateway(
    job: GatewayJob,
    say: Callable[[str], None] = lambda line: None,
    started: Callable[[Running], None] = lambda running: None,
) -> Ended:
    """Returns what ended it. `say` is told where it can be reached and what its server did."""
    check_job(job)
    began = asyncio.get_running_loop().time()
    injector = Injector(job.plan, job.server)
    recorder = Recorder(job.record, lambda: asyncio.get_running_loop().time() - began) if job.record else None
    started(Running(injector, job, began))
    try:
        if job.front == "http" and job.upstream:
            return await _relay(job, injector, recorder, say)
        return await _bridge(job, injector, recorder, say)
    finally:
        if recorder is not None:
            recorder.close()


async def _relay(
    job: GatewayJob, injector: Injector, recorder: Recorder | None, say: Callable[[str], None]
) -> Ended:
    relay = HttpRelay(
        job.upstream,
        injector,
        server=job.server,
        recorder=recorder,
        headers=job.headers,
        verify=job.verify,
        hosts=allowed_hosts(job.host),
    )
    server = HttpServer(relay.handle)
    try:
        host, port = await _listening(job, server.start)
        say(f"gateway on http://{shown_host(host)}:{port}{relay.path}, in front of {job.upstream}")
        return Ended(await until_stopped())
    finally:
        await relay.stop()
        await server.stop()


async def _bridge(
    job: GatewayJob, injector: Injector, recorder: Recorder | None, say: Callable[[str], None]
) -> Ended:
    left: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
    front: HttpFront | None = None

    def lost(session: Session, why: str, code: int | None) -> None:
        say(f"{job.server or 'the server'}: {why}")
        if front is not None:
            front.forget(session)
        elif not left.done():
            left.set_result(Ended(why, 3 if code is None else code if code >= 0 else 128 - code))

    gateway = Gateway(_connector(job), injector, server=job.server, recorder=recorder, lost=lost)
    try:
        if job.front == "stdio":
            return await _until_left(gateway, left)
        front = HttpFront(gateway, hosts=allowed_hosts(job.host))
        host, port = await _listening(job, front.start)
        behind = job.upstream or " ".join(job.command)
        say(f"gateway on http://{shown_host(host)}:{port}/mcp, in front of {behind}")
        return Ended(await until_stopped())
    finally:
        if front is not None:
            await front.stop()
        await gateway.stop()


async def _until_left(gateway: Gateway, left: asyncio.Future[Ended]) -> Ended:
    """Until the client, the server or a signal ends it."""
    serving = asyncio.get_running_loop().create_task(until_stopped(serve_stdio(gateway)))
    both: list[asyncio.Future[Any]] = [serving, left]
    await asyncio.wait(both, return_when="FIRST_COMPLETED")
    if serving.done():
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
    def connect(hear: Hear, gone: Gone) -> Upstream:
        if job.upstream:
            return HttpUpstream(job.upstream, hear, gone, headers=job.headers, verify=job.verify)
        return StdioUpstream(job.command, hear, gone, job.env)

    return connect
