"""Serving the failure tools on one of the two transports, from the first request to the last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from faultkit.base.http.listening import LOOPBACK, cannot_listen, shown_host
from faultkit.base.http.server import Answer, Limits, Request
from faultkit.base.serving import Signals, until_stopped
from faultkit.faults.call.call import Transport
from faultkit.mcp.failures.door import Door, OpenDoor
from faultkit.mcp.failures.service import FailureServer, Identify, Log, ServeSettings
from faultkit.mcp.wire.front_http import HttpFront
from faultkit.mcp.wire.stdio import serve_stdio

DRAIN_S = 5.0


@dataclass(frozen=True, slots=True)
class ServeJob:
    settings: ServeSettings = field(default_factory=ServeSettings)
    front: Transport = "stdio"
    host: str = "127.0.0.1"
    port: int = 8767
    hosts: tuple[str, ...] | None = LOOPBACK
    """Names that we may be called by; None for any."""
    origins: tuple[str, ...] | None = None
    """Pages from elsewhere that may call; None to go by `hosts` alone."""
    limits: Limits = field(default_factory=Limits)
    linger_s: float = 0.0
    """How long it goes on as before when it is told to stop, but for saying so to those who look."""
    drain_s: float = DRAIN_S
    """How long calls may then take to end."""


class Beside(Protocol):
    """What is served on the same port beside the tools."""

    def begin(self, server: FailureServer, sessions: Callable[[], int]) -> None:
        """`sessions`: how many there are of clients."""

    def handle(self, request: Request, answer: Answer) -> None: ...

    def identify(self, door: Door) -> Identify:
        """What tells the server who calls."""

    def log(self, log: Log) -> Log:
        """What the server tells of its calls."""

    def drain(self) -> None:
        """It was told to stop, and will."""

    async def idle(self) -> None:
        """Returns when no call is running."""

    async def close(self) -> None: ...


async def run_server(
    job: ServeJob,
    say: Callable[[str], None] = lambda line: None,
    log: Log = lambda ended: None,
    door: Door | None = None,
    beside: Beside | None = None,
) -> str:
    """Returns what ended it. `say` is told where it can be reached."""
    door = door or OpenDoor()
    if job.front == "stdio":
        server = FailureServer(job.settings, log, door.identify)
        try:
            return await until_stopped(serve_stdio(server))
        finally:
            await server.stop()
    if beside is None:
        server = FailureServer(job.settings, log, door.identify)
    else:
        server = FailureServer(job.settings, beside.log(log), beside.identify(door))
    try:
        with Signals() as signals:
            return await _serve_http(job, say, server, door, beside, signals)
    finally:
        await server.stop()


async def _serve_http(
    job: ServeJob,
    say: Callable[[str], None],
    server: FailureServer,
    door: Door,
    beside: Beside | None,
    signals: Signals,
) -> str:
    front = HttpFront(
        server,
        limits=job.limits,
        hosts=job.hosts,
        origins=job.origins,
        foreign=door.foreign,
        admit=door.admit,
        gone_cancels=True,
        beside=None if beside is None else beside.handle,
    )
    if beside is not None:
        beside.begin(server, lambda: front.session_count)
    try:
        host, port = await front.start(job.host, job.port)
    except OSError as error:
        raise cannot_listen(job.host, job.port, error) from None
    try:
        say(f"failure tools on http://{shown_host(host)}:{port}/mcp")
        if beside is None:
            return await signals.until_stopped()
        say(f"portal on http://{shown_host(host)}:{port}/portal/")
        ended = await signals.until_stopped()
        beside.drain()
        # Who says it twice does not want to wait.
        await signals.until_stopped(_drained(job, beside))
        return ended
    finally:
        if beside is not None:
            await beside.close()
        await server.stop()
        await front.stop()


async def _drained(job: ServeJob, beside: Beside) -> None:
    await asyncio.sleep(job.linger_s)
    with suppress(TimeoutError):
        await asyncio.wait_for(beside.idle(), job.drain_s)
