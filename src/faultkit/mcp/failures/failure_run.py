"""Running the failure tools on one of the two transports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from faultkit.base.address import LOOPBACK_NAMES, url_host
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.base.http.http_server import RequestLimits
from faultkit.base.network import cannot_listen
from faultkit.base.signals import AsyncStopSignal, wait_for_stop
from faultkit.faults.call_fault import Transport
from faultkit.mcp.failures.failure_service import (
    CallerGate,
    CallLog,
    FailureService,
    Identify,
    OpenGate,
    ServeSettings,
)
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.mcp.wire.stdio_front import serve_stdio

DRAIN_S = 5.0
"""Default seconds that running calls get to end after a stop signal."""


@dataclass(frozen=True, slots=True)
class ServeJob:
    """What to serve and where."""

    settings: ServeSettings = field(default_factory=ServeSettings)
    front: Transport = "stdio"
    host: str = "127.0.0.1"
    port: int = 8767
    hosts: tuple[str, ...] | None = LOOPBACK_NAMES
    """Host names that requests may use; None for any."""
    origins: tuple[str, ...] | None = None
    """Origins of other sites whose pages may call; None to check `hosts` only."""
    limits: RequestLimits = field(default_factory=RequestLimits)
    linger_s: float = 0.0
    """Seconds to keep serving after a stop signal, while readiness already reports the stop."""
    drain_s: float = DRAIN_S
    """Seconds that running calls then get to end."""


class SideService(Protocol):
    """HTTP paths that are served on the same port beside the tools."""

    def begin(self, server: FailureService, sessions: Callable[[], int]) -> None:
        """Receive the running service; `sessions` returns the number of client sessions."""

    def handle(self, request: HttpRequest, answer: ResponseWriter) -> None:
        """Serve a request for one of these paths."""

    def identify(self, door: CallerGate) -> Identify:
        """Return the function that identifies callers."""

    def log(self, log: CallLog) -> CallLog:
        """Return the log that receives finished calls, wrapping the given one."""

    def drain(self) -> None:
        """Handle a stop signal: report as not ready."""

    async def idle(self) -> None:
        """Wait until no call is running."""

    async def close(self) -> None:
        """Release what the service holds, after the last request."""


async def run_failure_server(
    job: ServeJob,
    say: Callable[[str], None] = lambda line: None,
    log: CallLog = lambda ended: None,
    door: CallerGate | None = None,
    beside: SideService | None = None,
) -> str:
    """Serve until a signal or the end of input and return which.

    `say` gets the addresses. `door` decides which callers are served; `beside` serves other paths of the same
    port."""
    door = door or OpenGate()
    if job.front == "stdio":
        server = FailureService(job.settings, log, door.identify)
        try:
            return await wait_for_stop(serve_stdio(server))
        finally:
            await server.stop()
    if beside is None:
        server = FailureService(job.settings, log, door.identify)
    else:
        server = FailureService(job.settings, beside.log(log), beside.identify(door))
    try:
        with AsyncStopSignal() as signals:
            return await _serve_http(job, say, server, door, beside, signals)
    finally:
        await server.stop()


async def _serve_http(
    job: ServeJob,
    say: Callable[[str], None],
    server: FailureService,
    door: CallerGate,
    beside: SideService | None,
    signals: AsyncStopSignal,
) -> str:
    front = HttpFront(
        server,
        limits=job.limits,
        hosts=job.hosts,
        origins=job.origins,
        on_foreign_caller=door.foreign,
        admit=door.admit,
        disconnect_cancels=True,
        other_handler=None if beside is None else beside.handle,
    )
    if beside is not None:
        beside.begin(server, lambda: front.session_count)
    try:
        host, port = await front.start(job.host, job.port)
    except OSError as error:
        raise cannot_listen(job.host, job.port, error) from None
    try:
        say(f"failure tools on http://{url_host(host)}:{port}/mcp")
        if beside is None:
            return await signals.wait()
        say(f"portal on http://{url_host(host)}:{port}/portal/")
        ended = await signals.wait()
        beside.drain()
        # A second signal skips the grace period.
        await signals.wait(_drain(job, beside))
        return ended
    finally:
        if beside is not None:
            await beside.close()
        await server.stop()
        await front.stop()


async def _drain(job: ServeJob, beside: SideService) -> None:
    await asyncio.sleep(job.linger_s)
    with suppress(TimeoutError):
        await asyncio.wait_for(beside.idle(), job.drain_s)
