"""Serving a mock on one of the two transports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultkit.faults.call.call import ERAS, Transport
from faultkit.mcp.injector import Injector, check_plan
from faultkit.mcp.listening import allowed_hosts, cannot_listen, shown_host
from faultkit.mcp.mock.model import Manifest
from faultkit.mcp.mock.service import Mock
from faultkit.mcp.serving import until_stopped
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
    names = [str(tool["name"]) for tool in job.manifest.listed]
    check_plan(job.plan, job.front, ERAS, tools=names, server=job.manifest.name)


async def run_mock(
    job: MockJob, say: Callable[[str], None] = lambda line: None, *, stdin_fd: int = 0, stdout_fd: int = 1
) -> str:
    """Returns what ended it. `say` is told where it can be reached."""
    check_job(job)
    mock = Mock(job.manifest, Injector(job.plan, job.manifest.name))
    try:
        if job.front == "stdio":
            return await until_stopped(serve_stdio(mock, stdin_fd, stdout_fd))
        return await _serve_http(mock, job, say)
    finally:
        await mock.stop()


async def _serve_http(mock: Mock, job: MockJob, say: Callable[[str], None]) -> str:
    # Not at the top: a client that starts us on pipes waits for every import.
    from faultkit.mcp.wire.front_http import HttpFront

    front = HttpFront(mock, hosts=allowed_hosts(job.host))
    try:
        host, port = await front.start(job.host, job.port)
    except OSError as error:
        raise cannot_listen(job.host, job.port, error) from None

    async def announce() -> None:
        say(f"mock on http://{shown_host(host)}:{port}/mcp")
        await asyncio.Event().wait()

    try:
        # Told only when signals are heeded: whoever reads the line may send one at once.
        return await until_stopped(announce())
    finally:
        await front.stop()
