"""Serving a mock on one of the two transports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultkit.base.http.listening import allowed_hosts, cannot_listen, shown_host
from faultkit.base.serving import Signals
from faultkit.faults.call.call import ERAS, Transport
from faultkit.mcp.injector import Injector, check_plan
from faultkit.mcp.mock.inventory import inventory_of
from faultkit.mcp.mock.model import Manifest
from faultkit.mcp.mock.service import Mock
from faultkit.mcp.wire.stdio import serve_stdio
from faultkit.plan import Plan

if TYPE_CHECKING:
    from faultkit.mcp.mock.recording import Recording


@dataclass(frozen=True, slots=True)
class MockJob:
    manifest: Manifest | Recording
    plan: Plan = Plan()  # noqa: RUF009
    front: Transport = "stdio"
    host: str = "127.0.0.1"
    port: int = 8765


def check_job(job: MockJob) -> None:
    """InputError for a fault that cannot act here."""
    if job.plan.rules:
        check_plan(job.plan, job.front, ERAS, inventory_of(job.manifest))


async def run_mock(
    job: MockJob, say: Callable[[str], None] = lambda line: None, *, stdin_fd: int = 0, stdout_fd: int = 1
) -> str:
    """Returns what ended it. `say` is told where it can be reached."""
    check_job(job)
    for warning in () if isinstance(job.manifest, Manifest) else job.manifest.warnings:
        say(f"warning: {warning}")
    mock = Mock(job.manifest, Injector(job.plan, job.manifest.name))
    with Signals() as signals:
        try:
            if job.front == "stdio":
                return await signals.until_stopped(serve_stdio(mock, stdin_fd, stdout_fd))
            return await _serve_http(mock, job, signals, say)
        finally:
            await mock.stop()


async def _serve_http(mock: Mock, job: MockJob, signals: Signals, say: Callable[[str], None]) -> str:
    # Not at the top: a client that starts us on pipes waits for every import.
    from faultkit.mcp.wire.front_http import HttpFront

    front = HttpFront(mock, hosts=allowed_hosts(job.host))
    try:
        host, port = await front.start(job.host, job.port)
    except OSError as error:
        raise cannot_listen(job.host, job.port, error) from None
    try:
        say(f"mock on http://{shown_host(host)}:{port}/mcp")
        return await signals.until_stopped()
    finally:
        await front.stop()
