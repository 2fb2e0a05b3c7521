"""What stands behind a gateway in a run: the servers of a suite, each started, reached or mocked."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from faultkit.agents.model import CommandServer, MockServer, SuiteServer, UrlServer
from faultkit.base.commands import check_program
from faultkit.base.http.listening import LOOPBACK
from faultkit.mcp.injector import Injector
from faultkit.mcp.mock.file import load_source
from faultkit.mcp.mock.service import Mock
from faultkit.mcp.upstreams.http import HttpUpstream
from faultkit.mcp.upstreams.stdio import StdioUpstream
from faultkit.mcp.upstreams.upstream import Connect
from faultkit.mcp.wire.front_http import HttpFront
from faultkit.plan import Plan

_HOST = "127.0.0.1"


@asynccontextmanager
async def connecting(server: SuiteServer) -> AsyncIterator[Connect]:
    serving = server.serving
    if isinstance(serving, CommandServer):
        check_argv(serving.argv[0], serving.cwd)
        yield lambda listener: StdioUpstream(serving.argv, listener, serving.env, serving.cwd)
    elif isinstance(serving, UrlServer):
        yield lambda listener: HttpUpstream(serving.url, listener, headers=serving.headers.items())
    else:
        async with _mocked(serving) as url:
            yield lambda listener: HttpUpstream(url, listener)


@asynccontextmanager
async def _mocked(serving: MockServer) -> AsyncIterator[str]:
    manifest = serving.source or load_source(serving.tools_from)
    mock = Mock(manifest, Injector(Plan(), manifest.name))
    try:
        async with listening(HttpFront(mock, hosts=LOOPBACK)) as url:
            yield url
    finally:
        await mock.stop()


@asynccontextmanager
async def listening(front: HttpFront) -> AsyncIterator[str]:
    _, port = await front.start(_HOST, 0)
    try:
        yield f"http://{_HOST}:{port}/mcp"
    finally:
        await front.stop()


def check_argv(program: str, cwd: str | None) -> None:
    """A path is one from where the program is to run."""
    check_program(os.path.join(cwd, program) if cwd and os.path.dirname(program) else program)
