"""Running a mock on one of the two transports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultkit.base.address import url_host
from faultkit.base.http.callers import allowed_hosts
from faultkit.base.network import cannot_listen
from faultkit.base.signals import AsyncStopSignal
from faultkit.faults.call.call import ERAS, Transport
from faultkit.mcp.injector import Injector, check_plan
from faultkit.mcp.mock.mock_model import Manifest
from faultkit.mcp.mock.mock_service import MockService
from faultkit.mcp.wire.stdio_front import serve_stdio
from faultkit.plan import Plan

if TYPE_CHECKING:
    from faultkit.mcp.mock.mock_recording import Recording


@dataclass(frozen=True, slots=True)
class MockJob:
    """What to serve and where."""

    manifest: Manifest | Recording
    plan: Plan = Plan()  # noqa: RUF009
    front: Transport = "stdio"
    host: str = "127.0.0.1"
    port: int = 8765


def check_mock_job(job: MockJob) -> None:
    """Raise InputError for a fault that cannot act here."""
    if job.plan.rules:
        check_plan(job.plan, job.front, ERAS, job.manifest.inventory)


async def run_mock(
    job: MockJob, say: Callable[[str], None] = lambda line: None, *, stdin_fd: int = 0, stdout_fd: int = 1
) -> str:
    """Serve until a signal or the end of input and return which. `say` gets the address."""
    check_mock_job(job)
    for warning in () if isinstance(job.manifest, Manifest) else job.manifest.warnings:
        say(f"warning: {warning}")
    mock = MockService(job.manifest, Injector(job.plan, job.manifest.name))
    with AsyncStopSignal() as signals:
        try:
            if job.front == "stdio":
                return await signals.wait(serve_stdio(mock, stdin_fd, stdout_fd))
            return await _serve_http(mock, job, signals, say)
        finally:
            await mock.stop()


async def _serve_http(
    mock: MockService, job: MockJob, signals: AsyncStopSignal, say: Callable[[str], None]
) -> str:
    # Imported late: a client that starts the mock on stdio waits for every import.
    from faultkit.mcp.wire.http_front import HttpFront

    front = HttpFront(mock, hosts=allowed_hosts(job.host))
    try:
        host, port = await front.start(job.host, job.port)
    except OSError as error:
        raise cannot_listen(job.host, job.port, error) from None
    try:
        say(f"mock on http://{url_host(host)}:{port}/mcp")
        return await signals.wait()
    finally:
        await front.stop()
