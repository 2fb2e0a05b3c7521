"""Serving a mock on one of the two transports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from faultkit.errors import TargetError
from faultkit.faults.call.call import ERAS, Transport
from faultkit.mcp.injector import Injector, check_plan
from faultkit.mcp.mock.model import Manifest
from faultkit.mcp.mock.service import Mock
from faultkit.mcp.serving import until_stopped
from faultkit.mcp.wire.front_http import HttpFront
from faultkit.mcp.wire.stdio import serve_stdio
from faultkit.plan import Plan


@dataclass(frozen=True, slots=True)
class MockJob:
    manifest: Manifest
    plan: Plan = Plan()  # noqa: RUF009
    front: Transport = "stdio"
    host: str = "127.0.0.1"
    port: int = 8765


def check_job(job: MockJob) -> None:
    """InputError for a fault that cannot act here."""
    names = [tool.name for tool in job.manifest.tools]
    check_plan(job.plan, job.front, ERAS, tools=names, server=job.manifest.name)


async def run_mock(job: MockJob, say: Callable[[str], None] = lambda line: None) -> str:
    """Returns what ended it. `say` is told where it can be reached."""
    check_job(job)
    mock = Mock(job.manifest, Injector(job.plan, job.manifest.name))
    try:
        if job.front == "stdio":
            return await until_stopped(serve_stdio(mock))
        front = HttpFront(mock, hosts=allowed_hosts(job.host))
        try:
            host, port = await front.start(job.host, job.port)
        except OSError as error:
            raise cannot_listen(job.host, job.port, error) from None
        try:
            say(f"mock on http://{shown_host(host)}:{port}/mcp")
            return await until_stopped()
        finally:
            await front.stop()
    finally:
        await mock.stop()


def allowed_hosts(host: str) -> tuple[str, ...] | None:
    """Names that a request may call us by: on loopback those of loopback, elsewhere any."""
    return ("localhost", "127.0.0.1", "::1") if host in ("localhost", "127.0.0.1", "::1") else None


def shown_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def cannot_listen(host: str, port: int, error: OSError) -> TargetError:
    why = "the port is taken" if error.errno == 98 else (error.strerror or str(error)).lower()
    return TargetError(f"cannot listen on {shown_host(host)}:{port}: {why}")
