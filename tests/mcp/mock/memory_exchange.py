"""A session and exchanges without a wire: what a mock sends, and when, in virtual time."""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar

from faultkit.faults.call_fault import Cut, Era, Frame, Send, Transport
from faultkit.mcp.injector import Injector
from faultkit.mcp.mock.mock_model import Manifest
from faultkit.mcp.mock.mock_server import MockService
from faultkit.mcp.wire.era import CAPABILITIES_KEY, VERSION_KEY
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import bytes_of, encode, read
from faultkit.plan import Plan
from tests.mcp.specs import parse_specs

MODERN_META = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}


class MemoryExchange(Exchange):
    """An exchange that keeps what is written, with the time."""

    transport: ClassVar[Transport] = "stdio"

    def __init__(self, client: MemoryClient, message: dict[str, Any]) -> None:
        super().__init__(client.session, read(encode(message)))
        self._client = client

    def write_note(self, raw: bytes) -> None:
        self._client.write(raw)

    def write_reply(self, raw: bytes) -> None:
        self._client.write(raw)

    async def send(self, frame: Frame, *, streamed: bool) -> None:
        assert isinstance(frame, Send | Cut)
        self._client.write(bytes_of(frame.message))


class MemoryClient:
    """A client of a mock; `received` has all messages with their times in milliseconds."""

    def __init__(self, mock: MockService, era: Era = "legacy", name: str = "one") -> None:
        self.received: list[tuple[float, Any]] = []
        self._mock = mock
        self._began_s = asyncio.get_running_loop().time()
        self.session = Session(name, "stdio", era, self.write)
        mock.opened(self.session)
        if era == "legacy":
            note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            mock.notification(self.session, read(encode(note)))

    def write(self, raw: bytes) -> None:
        now_s = asyncio.get_running_loop().time() - self._began_s
        self.received.append((round(now_s * 1000, 3), json.loads(raw)))

    def ask(self, id: int, method: str, /, **params: Any) -> None:
        if self.session.era == "modern":
            params = {**params, "_meta": {**MODERN_META, **params.get("_meta", {})}}
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self._mock.request(MemoryExchange(self, message))

    def call(self, id: int, tool: str, /, meta: dict[str, Any] | None = None, **arguments: Any) -> None:
        self.ask(id, "tools/call", name=tool, arguments=arguments, _meta=meta or {})

    def close(self) -> None:
        self._mock.closed(self.session)

    @property
    def messages(self) -> list[Any]:
        """All messages, without times."""
        return [message for _, message in self.received]

    @property
    def methods(self) -> list[str]:
        """Methods of the notifications, and `reply` for replies, in order."""
        return [message.get("method", "reply") for message in self.messages]


def mock_of(manifest: Manifest, *specs: str) -> MockService:
    return MockService(manifest, Injector(Plan(parse_specs(specs)), manifest.name))
