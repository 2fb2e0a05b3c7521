"""Running a gateway: either transport in front, either behind, and cleaning up at the end.

front    server    runs
http     http      the relay: HTTP messages pass unchanged
any other pair     the bridge: a front and an upstream that deal in messages, joined by `Link`
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from faultkit.base.address import Verify, is_loopback, url_host
from faultkit.base.certificates import MutualTls
from faultkit.base.errors import InputError
from faultkit.base.external_program import check_program
from faultkit.base.http.callers import allowed_hosts, has_token, refuse_without_token
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.base.http.http_server import HttpServer
from faultkit.base.network import cannot_listen, new_token
from faultkit.base.signals import AsyncStopSignal
from faultkit.faults.call_fault import ERAS, Transport
from faultkit.mcp.gateway.gateway_control import GatewayControl, GatewayState
from faultkit.mcp.gateway.gateway_service import GatewayService
from faultkit.mcp.gateway.http_relay import HttpRelay
from faultkit.mcp.gateway.recorder import Recorder
from faultkit.mcp.injector import check_plan
from faultkit.mcp.run_log import RunLog, Say
from faultkit.mcp.targets import Inventory
from faultkit.mcp.upstreams.http_upstream import HttpUpstream, check_url
from faultkit.mcp.upstreams.stdio_upstream import StdioUpstream
from faultkit.mcp.upstreams.upstream import Connect, Upstream, UpstreamListener
from faultkit.mcp.wire.exchange import Session
from faultkit.mcp.wire.http_front import Continuation, HttpFront
from faultkit.mcp.wire.stdio_front import serve_stdio
from faultkit.plan import Plan

HEADERS_VARIABLE = "FAULT_GATEWAY_HEADERS"
"""Environment variable with headers for the upstream, one a line."""
_END_OF_INPUT = "end of input"
_MOST_SERVERS = 32
"""Limit of sessions, each of which has a server process of its own. One more ends the one used least
recently."""
_IDLE_S = 1800.0
"""Seconds after which an unused session ends."""


@dataclass(frozen=True, slots=True)
class GatewayJob:
    """What to run: the server, the front, the plan and where to record."""

    command: tuple[str, ...] = ()
    """Command of a stdio server; the alternative to `upstream`."""
    upstream: str = ""
    """URL of a server over HTTP; the alternative to `command`."""
    front: Transport = "stdio"
    host: str = "127.0.0.1"
    port: int = 8766
    plan: Plan = Plan()  # noqa: RUF009
    server: str = ""
    """Name of the server, for rules that match by server."""
    record: str | None = None
    """File of the recording; None for no recording."""
    overwrite: bool = False
    """True to replace an existing recording."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers that replace those of the same name on each request to `upstream`."""
    verify: Verify = True
    """Which certificates of the upstream are trusted."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables added to the environment of `command`."""
    control: tuple[str, int] | None = None
    """Address of the control API; None for no control API."""
    control_tls: MutualTls | None = None
    """How the control API speaks TLS; None for clear text, on loopback only."""
    control_token: str | None = None
    """Bearer token of the control API; None to generate and print one."""
    token: str | None = None
    """Bearer token that clients over HTTP must send; None to generate and print one where callers could do
    harm."""
    is_open: bool = False
    """True to serve all clients over HTTP, without a token."""
    json_events: bool = False
    """True to write lines for the user as JSON events."""


@dataclass(frozen=True, slots=True)
class GatewayEnd:
    """Why a gateway ended."""

    why: str
    code: int = 0
    """Exit code for this process; that of the server if the server ended the gateway."""
    recording: str | None = None
    """File of the recording; None if there is none."""


def check_gateway_job(job: GatewayJob) -> None:
    """Raise InputError for a job that cannot run, before anything is started."""
    if bool(job.command) == bool(job.upstream):
        got = "both" if job.command else "neither"
        raise InputError("", f"expected a command behind -- or --upstream URL, got {got}")
    if job.upstream:
        check_url(job.upstream)
    else:
        check_program(job.command[0])
    check_plan(job.plan, job.front, ERAS, Inventory(job.server))


async def run_gateway(job: GatewayJob, say: Say = lambda line: None) -> GatewayEnd:
    """Run a gateway until it ends and return why. `say` gets lines for the user."""
    check_gateway_job(job)
    state = GatewayState(job.plan, job.server, job.front)
    log = RunLog(say, lambda: state.elapsed_s, as_json=job.json_events)
    state.injector.on_misfit = log.misfit
    log.caveats(job.plan)
    if job.json_events:
        state.on_injection.append(log.injected)
    with AsyncStopSignal() as signals, _recording(job, state, log.note) as recorder:
        async with _control_api(job, state, log.note):
            run = _run_relay if job.front == "http" and job.upstream else _run_bridge
            ended = await run(job, _client_token(job), state, recorder, signals, log)
    log.ended(ended.why, state.injector)
    return ended if recorder is None else replace(ended, recording=recorder.path)


@contextmanager
def _recording(job: GatewayJob, state: GatewayState, say: Say) -> Iterator[Recorder | None]:
    if job.record is None:
        yield None
        return
    recorder = Recorder(job.record, lambda: state.elapsed_s, overwrite=job.overwrite, say=say)
    if job.plan.rules:
        recorder.rules(job.plan)
    state.on_plan.append(recorder.rules)
    try:
        yield recorder
    finally:
        recorder.close()


@asynccontextmanager
async def _control_api(job: GatewayJob, state: GatewayState, say: Say) -> AsyncIterator[None]:
    if job.control is None:
        yield
        return
    token = job.control_token or new_token()
    control = GatewayControl(state, token)
    host, port = await control.start(*job.control, job.control_tls)
    say(f"control: {'http' if job.control_tls is None else 'https'}://{url_host(host)}:{port}")
    if job.control_token is None:
        say(f"control token: {token}")
    try:
        yield
    finally:
        await control.stop()


async def _run_relay(
    job: GatewayJob,
    token: str | None,
    state: GatewayState,
    recorder: Recorder | None,
    signals: AsyncStopSignal,
    log: RunLog,
) -> GatewayEnd:
    relay = HttpRelay(
        job.upstream,
        state.injector,
        server=job.server,
        observer=recorder,
        elapsed=lambda: state.elapsed_s,
        headers=job.headers,
        verify=job.verify,
        hosts=allowed_hosts(job.host),
        token=token,
        warn=lambda text: log.note(f"{job.server or 'the server'}: {text}"),
    )
    state.on_plan.append(relay.on_plan)
    server = HttpServer(relay.handle)
    try:
        host, port = await _listen(job, server.start)
        url = f"http://{url_host(host)}:{port}{relay.path}"
        _say_started(job, token, url, job.upstream, log)
        return GatewayEnd(await signals.wait())
    finally:
        await relay.stop()
        await server.stop()


async def _run_bridge(
    job: GatewayJob,
    token: str | None,
    state: GatewayState,
    recorder: Recorder | None,
    signals: AsyncStopSignal,
    log: RunLog,
) -> GatewayEnd:
    server_end: asyncio.Future[GatewayEnd] = asyncio.get_running_loop().create_future()
    front: HttpFront | None = None
    name = job.server or "the server"

    def on_lost(session: Session, why: str, code: int | None) -> None:
        if front is not None:
            log.note(f"{name}: {why}")
            front.forget(session)
        elif not server_end.done():
            if code != 0:
                log.note(f"{name}: {why}")
            # As a shell does: 128 + n for signal n. 3: the server could not be started.
            server_end.set_result(GatewayEnd(why, 3 if code is None else code if code >= 0 else 128 - code))

    gateway = GatewayService(
        _connector(job),
        state.injector,
        server=job.server,
        observer=recorder,
        elapsed=lambda: state.elapsed_s,
        on_lost=on_lost,
        warn=lambda text: log.note(f"{name}: {text}"),
    )
    state.on_plan.append(gateway.on_plan)
    is_orderly = False
    try:
        if job.front == "stdio":
            ended = await _serve_stdio(gateway, signals, server_end)
            is_orderly = ended.why == _END_OF_INPUT
            return ended
        front = HttpFront(
            gateway,
            hosts=allowed_hosts(job.host),
            origins=(),
            admit=None if token is None else partial(_admit, token),
            most_sessions=_MOST_SERVERS,
            idle_s=_IDLE_S,
        )
        host, port = await _listen(job, front.start)
        behind = job.upstream or " ".join(job.command)
        url = f"http://{url_host(host)}:{port}/mcp"
        _say_started(job, token, url, behind, log)
        return GatewayEnd(await signals.wait())
    finally:
        if front is not None:
            await front.stop()
        await gateway.stop(urgent=not is_orderly)


def _client_token(job: GatewayJob) -> str | None:
    """Return the token that clients over HTTP must send; None to serve all.

    Without one, every user of the machine could use the credentials of a gateway that adds headers, or start
    processes as its user, and other machines could reach the server."""
    if job.is_open:
        return None
    is_exposed = job.front == "http" and not is_loopback(job.host)
    return job.token or (new_token() if job.headers or job.command or is_exposed else None)


def _say_started(job: GatewayJob, token: str | None, url: str, behind: str, log: RunLog) -> None:
    log.started(f"gateway on {url}, in front of {behind}", url=url, upstream=behind)
    if token is not None and job.token is None:
        log.note(f"gateway token: {token}")
    if token is None and not is_loopback(job.host):
        log.note(f"warning: every machine that reaches {job.host} may call the server (--no-token)")


def _admit(token: str, request: HttpRequest, answer: ResponseWriter, serve: Continuation) -> None:
    """Serve a request that has the token, and refuse any other."""
    if has_token(request, token):
        serve("")
    else:
        refuse_without_token(answer)


async def _serve_stdio(
    gateway: GatewayService, signals: AsyncStopSignal, server_end: asyncio.Future[GatewayEnd]
) -> GatewayEnd:
    """Serve stdio until the client, the server or a signal ends it."""
    work = serve_stdio(gateway, on_non_message=gateway.forward_non_message, at_end=gateway.drain)
    serving = asyncio.get_running_loop().create_task(signals.wait(work))
    both: list[asyncio.Future[Any]] = [serving, server_end]
    await asyncio.wait(both, return_when="FIRST_COMPLETED")
    if not server_end.done():
        return GatewayEnd(serving.result())
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    return server_end.result()


async def _listen(
    job: GatewayJob, start: Callable[[str, int], Awaitable[tuple[str, int]]]
) -> tuple[str, int]:
    try:
        return await start(job.host, job.port)
    except OSError as error:
        raise cannot_listen(job.host, job.port, error) from None


def _connector(job: GatewayJob) -> Connect:
    def connect(listener: UpstreamListener) -> Upstream:
        if job.upstream:
            return HttpUpstream(job.upstream, listener, headers=job.headers, verify=job.verify)
        return StdioUpstream(job.command, listener, job.env)

    return connect
