"""Serving the failure tools on one of the two transports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from faultkit.faults.call.call import Transport
from faultkit.mcp.failures.door import Door
from faultkit.mcp.failures.service import FailureServer, Log, ServeSettings
from faultkit.mcp.listening import allowed_hosts, cannot_listen, shown_host
from faultkit.mcp.serving import until_stopped
from faultkit.mcp.wire.front_http import HttpFront
from faultkit.mcp.wire.stdio import serve_stdio


@dataclass(frozen=True, slots=True)
class ServeJob:
    settings: ServeSettings = field(default_factory=ServeSettings)
    front: Transport = "stdio"
    host: str = "127.0.0.1"
    port: int = 8767


async def run_server(
    job: ServeJob, say: Callable[[str], None] = lambda line: None, log: Log = lambda ended: None
) -> str:
    """Returns what ended it. `say` is told where it can be reached."""
    door = Door()
    server = FailureServer(job.settings, log, door.identify)
    try:
        if job.front == "stdio":
            return await until_stopped(serve_stdio(server))
        front = HttpFront(server, hosts=allowed_hosts(job.host), admit=door.admit)
        try:
            host, port = await front.start(job.host, job.port)
        except OSError as error:
            raise cannot_listen(job.host, job.port, error) from None
        try:
            say(f"failure tools on http://{shown_host(host)}:{port}/mcp")
            return await until_stopped()
        finally:
            await front.stop()
    finally:
        await server.stop()
