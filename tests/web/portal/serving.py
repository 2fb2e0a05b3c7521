"""`fault serve` over HTTP with the portal, in a thread of the test process, and a client of its tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from threading import Thread
from typing import Any

from faultkit.audit.access.access import Access
from faultkit.audit.access.access_settings import AccessSettings
from faultkit.audit.access.api_keys import KeyStore
from faultkit.audit.access.rate_limits import Rate
from faultkit.audit.store import Store
from faultkit.audit.store_factory import open_store
from faultkit.audit.writer import AuditWriter
from faultkit.mcp.failures.failure_service import FailureService, ServeSettings
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.web.call_rows import call_logger
from faultkit.web.caller_gates import Authenticator
from faultkit.web.request_context import AuditLog
from faultkit.web.site import Site

WAIT_S = 20.0
_JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@dataclass(slots=True)
class Served:
    port: int
    store: Store
    writer: AuditWriter
    keys: KeyStore
    loop: asyncio.AbstractEventLoop
    admin_key: str = ""
    """A key that a test made, for views that need one."""
    _sessions: dict[str, str] = field(default_factory=dict)
    """Session ids by key: a session belongs to the caller that opened it."""
    _last: int = 0

    @property
    def page(self) -> str:
        return f"http://127.0.0.1:{self.port}/portal"

    def call(self, tool: str, _key: str = "", **arguments: Any) -> dict[str, Any]:
        """Call a tool over MCP, and return the reply."""
        if _key not in self._sessions:
            opening = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            }
            self._post("initialize", opening, _key)
        return self._post("tools/call", {"name": tool, "arguments": arguments}, _key)

    def called(self, tool: str, **arguments: Any) -> None:
        """Call a tool, and wait until its row is written."""
        self.call(tool, **arguments)
        # The reply is sent right before the row is queued, in one iteration of the loop; this waits for it.
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self.loop).result(WAIT_S)
        assert self.writer.flush()

    def first_id(self) -> str:
        """Return the id of the first call in the log."""
        return self.store.after(0)[0].id

    def _post(self, method: str, params: dict[str, Any], key: str) -> dict[str, Any]:
        self._last += 1
        headers = _JSON | ({"x-api-key": key} if key else {})
        headers |= {"mcp-session-id": self._sessions[key]} if key in self._sessions else {}
        message = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        try:
            connection.request("POST", "/mcp", json.dumps(message), headers)
            answer = connection.getresponse()
            body = answer.read().decode()
            if (opened := answer.getheader("mcp-session-id")) is not None:
                self._sessions[key] = opened
        finally:
            connection.close()
        lines = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: {")]
        reply: dict[str, Any] = json.loads(lines[-1] if lines else body)
        return reply


@contextmanager
def serving(*, anonymous: bool = True) -> Iterator[Served]:
    """Yield a server on a free port, with its log in memory. `anonymous`: no key is required."""
    with open_store("memory:") as store:
        writer = AuditWriter(store, flush_s=0.02)
        keys = KeyStore(store)
        listening: Future[int] = Future()
        ending = asyncio.Event()

        async def serve() -> None:
            access = Access(AccessSettings(anonymous=anonymous), keys, add=writer.add)
            gate = Authenticator(access)
            settings = ServeSettings("portal-test")
            site = Site(settings, AuditLog(store, writer), access, replays=Rate(1000, 60))
            server = FailureService(settings, site.log(call_logger(writer)), site.identify(gate))
            front = HttpFront(
                server, on_foreign_caller=gate.foreign, admit=gate.admit, other_handler=site.handle
            )
            await access.start()
            site.begin(server, lambda: front.session_count)
            _, port = await front.start("127.0.0.1", 0)
            listening.set_result(port)
            await ending.wait()
            await front.stop()
            await site.close()
            await server.stop()
            await access.close()

        loop = asyncio.new_event_loop()
        thread = Thread(target=lambda: loop.run_until_complete(serve()))
        thread.start()
        try:
            yield Served(listening.result(WAIT_S), store, writer, keys, loop)
        finally:
            loop.call_soon_threadsafe(ending.set)
            thread.join(WAIT_S)
            loop.close()
            writer.close()
