"""The servers of a suite as upstreams of gateways: started as programs, reached by URL, or mocked."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from faultkit.agents.suite.definition import CommandServer, MockServer, SuiteServer, UrlServer
from faultkit.base.address import LOOPBACK_NAMES
from faultkit.base.external_program import check_program
from faultkit.mcp.injector import Injector
from faultkit.mcp.mock.mock_service import MockService
from faultkit.mcp.mock.mock_source import load_source
from faultkit.mcp.upstreams.http_upstream import HttpUpstream
from faultkit.mcp.upstreams.stdio_upstream import StdioUpstream
from faultkit.mcp.upstreams.upstream import Connect
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.plan import Plan

_HOST = "127.0.0.1"


@asynccontextmanager
async def open_upstream(server: SuiteServer) -> AsyncIterator[Connect]:
    """Yield what connects a gateway to a server. A mock is served on loopback meanwhile."""
    serving = server.serving
    if isinstance(serving, CommandServer):
        check_command_in(serving.argv[0], serving.cwd)
        yield lambda listener: StdioUpstream(serving.argv, listener, serving.env, serving.cwd)
    elif isinstance(serving, UrlServer):
        yield lambda listener: HttpUpstream(serving.url, listener, headers=serving.headers.items())
    else:
        async with _mocked(serving) as url:
            yield lambda listener: HttpUpstream(url, listener)


@asynccontextmanager
async def _mocked(serving: MockServer) -> AsyncIterator[str]:
    manifest = serving.source or load_source(serving.tools_from)
    mock = MockService(manifest, Injector(Plan(), manifest.name))
    try:
        async with listen(HttpFront(mock, hosts=LOOPBACK_NAMES)) as url:
            yield url
    finally:
        await mock.stop()


@asynccontextmanager
async def listen(front: HttpFront) -> AsyncIterator[str]:
    """Serve on a free port of loopback and yield the URL."""
    _, port = await front.start(_HOST, 0)
    try:
        yield f"http://{_HOST}:{port}/mcp"
    finally:
        await front.stop()


def check_command_in(program: str, cwd: str | None) -> None:
    """Check that a program exists. A relative path starts at `cwd`. Raises InputError."""
    check_program(os.path.join(cwd, program) if cwd and os.path.dirname(program) else program)
