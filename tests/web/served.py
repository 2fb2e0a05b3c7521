"""`fault serve` over HTTP, in a thread of the test process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import httpx

from faultkit.audit.access.access import Access
from faultkit.audit.access.access_settings import AccessSettings
from faultkit.audit.access.api_keys import KeyStore
from faultkit.audit.row import AuditRow
from faultkit.audit.store import Store
from faultkit.audit.store_factory import open_store
from faultkit.audit.writer import AuditWriter, WriterState
from faultkit.mcp.failures.failure_run import ServeJob
from faultkit.mcp.failures.failure_service import ServeSettings
from faultkit.mcp.failures.failure_tool import GROUPS, Group
from faultkit.mcp.wire.era import CAPABILITIES_KEY, VERSION_KEY
from faultkit.web.request_context import AuditLog
from faultkit.web.site import serve_site

PATIENCE_S = 10.0
VERSION = "2026-07-28"
PORTAL = "/api/v1/portal"
AUDIT = f"{PORTAL}/audit"
ADMIN = "/api/v1/admin"
OURS = {"x-requested-with": "test"}


class Served:
    """The running server, a client, and its log."""

    def __init__(self, url: str, store: Store | None, writer: AuditWriter | None, said: list[str]) -> None:
        self.url = url
        self._store = store
        self._writer = writer
        self.said = said
        # Without `verify`, because loading the CA certificates would take longer than the test.
        self.client = httpx.Client(base_url=url, timeout=PATIENCE_S, verify=False)

    @property
    def store(self) -> Store:
        assert self._store is not None
        return self._store

    @property
    def state(self) -> WriterState:
        assert self._writer is not None
        return self._writer.state()

    def get(self, path: str, **parameters: str) -> httpx.Response:
        return self.client.get(path, params=parameters)

    def json(self, path: str, **parameters: str) -> Any:
        answer = self.get(path, **parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None) -> httpx.Response:
        return self.client.post(path, json=body, headers=OURS)

    def call(self, name: str, arguments: Any = None, path: str = "/mcp", **headers: str) -> Any:
        """Call a tool in the modern era, which needs no `initialize`, and wait until its row is written."""
        meta = {VERSION_KEY: VERSION, CAPABILITIES_KEY: {}}
        params = {"name": name, "arguments": arguments or {}, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        own = {"mcp-protocol-version": VERSION, "mcp-method": "tools/call", "mcp-name": name}
        accept = {"accept": "application/json, text/event-stream"}
        answer = self.client.post(path, json=message, headers=own | accept | headers)
        self.flush()
        return answer.json()

    def flush(self) -> None:
        assert self._writer is not None
        # A reply is sent before its row is queued; at the next reply, it has been.
        self.get("/healthz")
        assert self._writer.flush(PATIENCE_S)

    def newest(self) -> AuditRow:
        self.flush()
        return self.store.events().rows[0]


@contextmanager
def served(
    where: str | None = "memory:",
    settings: AccessSettings | None = None,
    groups: tuple[Group, ...] = GROUPS,
) -> Iterator[Served]:
    """Yield a running server. `where`: the store; None to serve without an audit log."""
    store = None if where is None else open_store(where)
    writer = None if store is None else AuditWriter(store, flush_s=0.0)
    rules = settings or AccessSettings()
    said: list[str] = []
    listening: Future[str] = Future()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def say(line: str) -> None:
        said.append(line)
        if line.startswith("failure tools on "):
            listening.set_result(line.split()[-1].removesuffix("/mcp"))

    async def serve() -> None:
        job = ServeJob(
            ServeSettings(groups=groups),
            "http",
            port=0,
            hosts=rules.hosts,
            origins=rules.origins,
            limits=rules.limits,
        )
        audit = None if store is None or writer is None else AuditLog(store, writer)
        add = (lambda entry: None) if writer is None else writer.add
        keys = None if store is None else KeyStore(store)
        await serve_site(job, Access(rules, keys, add=add, say=say), audit, say)

    serving = asyncio.run_coroutine_threadsafe(serve(), loop)
    try:
        running = Served(listening.result(PATIENCE_S), store, writer, said)
        try:
            yield running
        finally:
            running.client.close()
    finally:
        serving.cancel()
        stopped = asyncio.run_coroutine_threadsafe(_others_ended(), loop)
        stopped.result(PATIENCE_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE_S)
        loop.close()
        if writer is not None:
            writer.close()
        if store is not None:
            store.close()


async def _others_ended() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=PATIENCE_S)
    assert not [task for task in others if not task.done()]
