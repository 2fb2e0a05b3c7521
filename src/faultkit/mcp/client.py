"""A plain MCP client of the legacy era, over either transport: it opens a session, lists and calls tools.

For our own checks and suites, which need the whole reply as it came. Of what a server asks, only a ping is
answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from faultkit import __version__
from faultkit.base.errors import TargetError
from faultkit.mcp.upstreams.http import HttpUpstream
from faultkit.mcp.upstreams.stdio import StdioUpstream
from faultkit.mcp.upstreams.upstream import Connect, Listener, Upstream
from faultkit.mcp.wire.era import NEWEST_LEGACY
from faultkit.mcp.wire.lines import TooLong
from faultkit.mcp.wire.message import (
    CANCELLED,
    METHOD_NOT_FOUND,
    Incoming,
    encode,
    error_of,
    notification_of,
    read,
    result_of,
)

OPENING_S = 30.0
_MOST_PAGES = 100


@dataclass(frozen=True, slots=True)
class At:
    """Where a server is: a command to run, or a URL."""

    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None

    def __str__(self) -> str:
        return self.url or " ".join(self.command)


class Client:
    """Use it as an async context manager. TargetError: the server cannot be had, or is not there any more."""

    def __init__(
        self,
        at: At,
        *,
        name: str = "faultkit",
        opening_s: float = OPENING_S,
        connect: Connect | None = None,
    ) -> None:
        """`connect`: another way to it than the one that `at` says."""
        self.at = at
        self._connect = connect or self._usual
        self._name = name
        self._opening_s = opening_s
        self._server: Upstream | None = None
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._asked = 0
        self._gone = ""
        self.server_info: Mapping[str, Any] = {}
        self.capabilities: Mapping[str, Any] = {}

    async def __aenter__(self) -> Client:
        self._server = self._connect(self)
        try:
            await self._server.start()
            async with asyncio.timeout(self._opening_s):
                await self._open()
        except TimeoutError:
            await self._server.stop(urgent=True)
            raise TargetError(f"{self.at}: no answer to initialize within {self._opening_s:g} s") from None
        except BaseException:
            await self._server.stop(urgent=True)
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            await self._server.stop(urgent=exc[0] is not None)

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The whole reply: a message with a result or an error. A caller who is cancelled calls it off."""
        if self._gone:
            raise TargetError(f"{self.at}: {self._gone}")
        assert self._server is not None
        self._asked += 1
        id = self._asked
        reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[id] = reply
        self._server.send(
            read(encode({"jsonrpc": "2.0", "id": id, "method": method, "params": dict(params or {})}))
        )
        try:
            return await reply
        except asyncio.CancelledError:
            self._server.send(read(notification_of(CANCELLED, {"requestId": id})))
            self._server.abandon(id)
            raise
        finally:
            del self._waiting[id]

    async def tools(self) -> list[dict[str, Any]]:
        """All pages."""
        found: list[dict[str, Any]] = []
        cursor: object = None
        for _ in range(_MOST_PAGES):
            reply = await self.request("tools/list", {} if cursor is None else {"cursor": cursor})
            result = reply.get("result")
            if not isinstance(result, dict) or not isinstance(result.get("tools"), list):
                raise TargetError(f"{self.at}: tools/list: expected a list of tools, got {_short(reply)}")
            found += [tool for tool in result["tools"] if isinstance(tool, dict)]
            cursor = result.get("nextCursor")
            if cursor is None:
                break
        return found

    @property
    def is_gone(self) -> bool:
        return bool(self._gone)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return await self.request("tools/call", {"name": tool, "arguments": dict(arguments)})

    async def _open(self) -> None:
        opened = await self.request(
            "initialize",
            {
                "protocolVersion": NEWEST_LEGACY,
                "capabilities": {},
                "clientInfo": {"name": self._name, "version": __version__},
            },
        )
        result = opened.get("result")
        if not isinstance(result, dict):
            raise TargetError(f"{self.at}: the server refuses to initialize: {_short(opened)}")
        self.server_info = _mapping(result.get("serverInfo"))
        self.capabilities = _mapping(result.get("capabilities"))
        assert self._server is not None
        self._server.send(read(notification_of("notifications/initialized", {})))

    def _usual(self, listener: Listener) -> Upstream:
        if self.at.url:
            return HttpUpstream(self.at.url, listener, headers=self.at.headers.items())
        return StdioUpstream(self.at.command, listener, self.at.env, self.at.cwd)

    # Of Listener.

    def hear(self, incoming: Incoming) -> None:
        if incoming.kind == "request" and self._server is not None:
            if incoming.method == "ping":
                answer = result_of(incoming.id, {})
            else:
                answer = error_of(incoming.id, METHOD_NOT_FOUND, f"{incoming.method} is not served here")
            self._server.send(read(answer))
        elif incoming.kind == "response" and isinstance(incoming.id, int):
            reply = self._waiting.get(incoming.id)
            if reply is not None and not reply.done():
                reply.set_result(incoming.message)

    def hear_too_long(self, line: TooLong) -> None:
        self._fail(f"the server sent {line.size} bytes in one message")

    def full(self, is_full: bool) -> None:
        """Calls are few and small: what waits to be read is little."""

    def gone(self, why: str, code: int | None) -> None:
        self._gone = why
        self._fail(why)

    def _fail(self, why: str) -> None:
        for reply in self._waiting.values():
            with suppress(asyncio.InvalidStateError):
                reply.set_exception(TargetError(f"{self.at}: {why}"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _short(message: Mapping[str, Any]) -> str:
    error = message.get("error")
    told = error.get("message") if isinstance(error, Mapping) else None
    return str(told if told is not None else encode(dict(message)).decode("utf-8", "replace"))[:200]
