"""Mocks, and gateways in front of healthy mocks, in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from faultkit.base.http.http_server import HttpServer
from faultkit.mcp.gateway.gateway_service import GatewayService
from faultkit.mcp.gateway.http_relay import HttpRelay
from faultkit.mcp.injector import Injector
from faultkit.mcp.mock.mock_model import Manifest
from faultkit.mcp.mock.mock_server import MockService
from faultkit.mcp.upstreams.http_upstream import HttpUpstream
from faultkit.mcp.wire.exchange import Service
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.plan import Plan
from tests.mcp.faults.call_places import MANIFEST, SERVER


@asynccontextmanager
async def mocked(plan: Plan, manifest: Manifest = MANIFEST) -> AsyncIterator[MockService]:
    mock = MockService(manifest, Injector(plan, manifest.name))
    try:
        yield mock
    finally:
        await mock.stop()


@asynccontextmanager
async def fronted(service: Service, front: HttpFront | None = None) -> AsyncIterator[tuple[str, int]]:
    front = front or HttpFront(service)
    try:
        yield await front.start("127.0.0.1", 0)
    finally:
        await front.stop()


@asynccontextmanager
async def http_mock(plan: Plan, manifest: Manifest = MANIFEST) -> AsyncIterator[tuple[str, int]]:
    async with mocked(plan, manifest) as mock, fronted(mock) as address:
        yield address


@asynccontextmanager
async def relayed(plan: Plan, manifest: Manifest = MANIFEST) -> AsyncIterator[tuple[str, int]]:
    """Serve a relay with the faults, in front of a mock without faults."""
    async with http_mock(Plan(), manifest) as (host, port):
        relay = HttpRelay(f"http://{host}:{port}/mcp", Injector(plan, SERVER), server=SERVER)
        server = HttpServer(relay.handle)
        try:
            yield await server.start("127.0.0.1", 0)
        finally:
            await relay.stop()
            await server.stop()


@asynccontextmanager
async def bridged(plan: Plan) -> AsyncIterator[GatewayService]:
    """Yield a gateway for any front, with a mock over HTTP without faults behind it."""
    async with http_mock(Plan()) as (host, port):
        url = f"http://{host}:{port}/mcp"
        injector = Injector(plan, SERVER)
        gateway = GatewayService(lambda listener: HttpUpstream(url, listener), injector, server=SERVER)
        try:
            yield gateway
        finally:
            await gateway.stop()
