"""The failure tools behind an `Authenticator`, on a loopback port, with the log in memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from faultkit.audit.access.access import Access
from faultkit.audit.access.access_settings import AccessSettings
from faultkit.audit.access.api_keys import KeyStore
from faultkit.audit.access.oidc import TokenVerifier
from faultkit.audit.row import AuditRow
from faultkit.audit.store_factory import open_store
from faultkit.audit.writer import AuditWriter
from faultkit.mcp.failures.failure_service import FailureService, ServeSettings
from faultkit.mcp.wire.era import CAPABILITIES_KEY, VERSION_KEY
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.web.call_rows import call_logger
from faultkit.web.caller_gates import Authenticator

PATIENCE_S = 10.0
VERSION = "2026-07-28"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


class Served:
    """The running server, a client, and its log."""

    def __init__(self, url: str, keys: KeyStore, rows: Callable[[], list[AuditRow]]) -> None:
        self.url = url
        self.keys = keys
        self._rows = rows
        self._seen = 0
        # Without `verify`, because loading the CA certificates would take longer than the test.
        self.client = httpx.Client(timeout=PATIENCE_S, verify=False)

    def new_rows(self) -> list[AuditRow]:
        """Return the rows since the last call of this method."""
        rows = self._rows()
        new, self._seen = rows[self._seen :], len(rows)
        return new

    def initialize(self, **headers: str) -> httpx.Response:
        accept = {"accept": "application/json, text/event-stream"}
        return self.client.post(self.url, json=INITIALIZE, headers=accept | _dashed(headers))

    def call(self, name: str, arguments: Any = None, **headers: str) -> httpx.Response:
        """Call a tool in the modern era, which needs no `initialize`."""
        meta = {VERSION_KEY: VERSION, CAPABILITIES_KEY: {}}
        params = {"name": name, "arguments": arguments or {}, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        own = {"mcp-protocol-version": VERSION, "mcp-method": "tools/call", "mcp-name": name}
        accept = {"accept": "application/json, text/event-stream"}
        return self.client.post(self.url, json=message, headers=own | accept | _dashed(headers))


def _dashed(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@contextmanager
def served(settings: AccessSettings, tokens: Callable[[], TokenVerifier] | None = None) -> Iterator[Served]:
    store = open_store("memory:")
    writer = AuditWriter(store, flush_s=0.0)
    keys = KeyStore(store)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start() -> tuple[Access, HttpFront, FailureService, str]:
        access = Access(settings, keys, None if tokens is None else tokens(), add=writer.add)
        gate = Authenticator(access)
        server = FailureService(ServeSettings(), call_logger(writer), gate.identify)
        front = HttpFront(
            server,
            hosts=settings.hosts,
            origins=settings.origins,
            on_foreign_caller=gate.foreign,
            admit=gate.admit,
            limits=settings.limits,
        )
        host, port = await front.start("127.0.0.1", 0)
        return access, front, server, f"http://{host}:{port}/mcp"

    async def stop(access: Access, front: HttpFront, server: FailureService) -> None:
        await front.stop()
        await server.stop()
        await access.close()

    def rows() -> list[AuditRow]:
        # A reply is sent right before its row is queued, in the same iteration of the loop.
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(PATIENCE_S)
        assert writer.flush(PATIENCE_S)
        return list(store.all())

    *parts, url = asyncio.run_coroutine_threadsafe(start(), loop).result(PATIENCE_S)
    running = Served(url, keys, rows)
    try:
        yield running
    finally:
        running.client.close()
        asyncio.run_coroutine_threadsafe(stop(*parts), loop).result(PATIENCE_S)  # type: ignore[arg-type]
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE_S)
        loop.close()
        writer.close()
        store.close()
