"""An MCP client of the legacy era over either transport: opens a session, lists and calls tools.

It returns whole replies as they came, which checks and suites need and the SDK does not offer. Of the
server's requests, only `ping` is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from faultkit import __version__
from faultkit.base.errors import TargetError
from faultkit.base.framing import OversizedLine
from faultkit.mcp.upstreams.http_upstream import HttpUpstream
from faultkit.mcp.upstreams.stdio_upstream import StdioUpstream
from faultkit.mcp.upstreams.upstream import Connect, Upstream, UpstreamListener
from faultkit.mcp.wire.era import NEWEST_LEGACY
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
"""Default seconds to wait for the reply to `initialize`."""
_MOST_PAGES = 1000
"""Pages of `tools/list` that are read, because a server may send cursors without end."""
_MOST_UNASKED_LINES = 1000
_MOST_UNASKED_BYTES = 8 << 20
"""What a bounded client reads of messages that are no replies. A flood of them takes all of the event loop's
time, which the clients of other servers need."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """How to reach a server: a command to run, or a URL."""

    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None

    def __str__(self) -> str:
        return self.url or " ".join(self.command)


class McpClient:
    """A client session, used as an async context manager. Raises TargetError if the server is unavailable."""

    def __init__(
        self,
        at: ServerAddress,
        *,
        name: str = "faultkit",
        opening_s: float = OPENING_S,
        connect: Connect | None = None,
        is_bounded: bool = False,
        stderr: int | None = None,
    ) -> None:
        """`connect`: replaces the connection that `at` describes. `is_bounded`: give a server up that sends
        far more than it was asked for. `stderr`: descriptor for the standard error of a server process."""
        self.at = at
        self._connect = connect or self._connect_to_address
        self._name = name
        self._opening_s = opening_s
        self._upstream: Upstream | None = None
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._request_count = 0
        self._exit_reason = ""
        self._is_bounded = is_bounded
        self._stderr = stderr
        self._unasked_lines = self._unasked_bytes = 0
        self.server_info: Mapping[str, Any] = {}
        self.capabilities: Mapping[str, Any] = {}
        self.protocol_version: object = None
        """What the server answers to `initialize`."""
        self.invalid_lines = 0
        """Lines of the server that are no messages."""

    async def __aenter__(self) -> McpClient:
        self._upstream = self._connect(self)
        try:
            await self._upstream.start()
            async with asyncio.timeout(self._opening_s):
                await self._open()
        except TimeoutError:
            await self._upstream.stop(urgent=True)
            raise TargetError(f"{self.at}: no answer to initialize within {self._opening_s:g} s") from None
        except BaseException:
            await self._upstream.stop(urgent=True)
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._upstream is not None:
            await self._upstream.stop(urgent=exc[0] is not None)

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the whole reply, with a result or an error.

        Cancelling the task sends `notifications/cancelled` to the server."""
        if self._exit_reason:
            raise TargetError(f"{self.at}: {self._exit_reason}")
        assert self._upstream is not None
        self._request_count += 1
        id = self._request_count
        reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[id] = reply
        self._upstream.send(
            read(encode({"jsonrpc": "2.0", "id": id, "method": method, "params": dict(params or {})}))
        )
        try:
            return await reply
        except asyncio.CancelledError:
            self._upstream.send(read(notification_of(CANCELLED, {"requestId": id})))
            self._upstream.abandon(id)
            raise
        finally:
            del self._pending[id]

    async def tools(self) -> list[dict[str, Any]]:
        """Return the tools of all pages of `tools/list`. Entries that are no objects are left out."""
        return [tool for tool in await self.listed_tools() if isinstance(tool, dict)]

    async def listed_tools(self) -> list[Any]:
        """Return the entries of all pages of `tools/list` as they are. Raises TargetError if there is no end
        of pages."""
        found: list[Any] = []
        cursor: object = None
        cursors: list[object] = []
        for _ in range(_MOST_PAGES):
            reply = await self.request("tools/list", {} if cursor is None else {"cursor": cursor})
            result = reply.get("result")
            if not isinstance(result, dict) or not isinstance(result.get("tools"), list):
                raise TargetError(f"{self.at}: tools/list: expected a list of tools, got {_short(reply)}")
            found += result["tools"]
            cursor = result.get("nextCursor")
            if cursor is None:
                return found
            if cursor in cursors:
                raise TargetError(f"{self.at}: tools/list has no end: its pages come again")
            cursors.append(cursor)
        raise TargetError(f"{self.at}: tools/list has no end within {_MOST_PAGES:,} pages")

    @property
    def is_gone(self) -> bool:
        """True once the server has exited by itself, or was given up."""
        return bool(self._exit_reason)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool and return the whole reply, with a result or an error."""
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
            why = _short(opened)
            if self.at.url and why.startswith(f"cannot reach {self.at.url}"):
                raise TargetError(why)
            raise TargetError(f"{self.at}: the server refuses to initialize: {why}")
        self.protocol_version = result.get("protocolVersion")
        self.server_info = _mapping(result.get("serverInfo"))
        self.capabilities = _mapping(result.get("capabilities"))
        assert self._upstream is not None
        self._upstream.send(read(notification_of("notifications/initialized", {})))

    def _connect_to_address(self, listener: UpstreamListener) -> Upstream:
        if self.at.url:
            return HttpUpstream(self.at.url, listener, headers=self.at.headers.items())
        return StdioUpstream(self.at.command, listener, self.at.env, self.at.cwd, self._stderr)

    # --- UpstreamListener ---------------------------------------------------------------------

    def on_message(self, incoming: Incoming) -> None:
        if incoming.kind == "invalid":
            self.invalid_lines += 1
        if self._is_bounded and incoming.kind != "response":
            self._count_unasked(incoming)
        if incoming.kind == "request" and self._upstream is not None and not self._exit_reason:
            if incoming.method == "ping":
                answer = result_of(incoming.id, {})
            else:
                answer = error_of(incoming.id, METHOD_NOT_FOUND, f"{incoming.method} is not served here")
            self._upstream.send(read(answer))
        elif incoming.kind == "response" and isinstance(incoming.id, int):
            reply = self._pending.get(incoming.id)
            if reply is not None and not reply.done():
                reply.set_result(incoming.message)

    def on_oversized_line(self, line: OversizedLine) -> None:
        self._fail(f"the server sent {line.size} bytes in one message")

    def on_input_full(self, is_full: bool) -> None:
        """Nothing to do: calls are few and small."""

    def on_exit(self, why: str, code: int | None) -> None:
        self._exit_reason = why
        self._fail(why)

    def _count_unasked(self, incoming: Incoming) -> None:
        """Count a message that is no reply; stop reading from a server that sends them without end."""
        self._unasked_lines += 1
        self._unasked_bytes += len(incoming.raw)
        too_many = self._unasked_lines > _MOST_UNASKED_LINES or self._unasked_bytes > _MOST_UNASKED_BYTES
        if too_many and not self._exit_reason:
            kind = "that are no MCP messages" if incoming.kind == "invalid" else "that are no replies"
            self._exit_reason = f"the server floods its output with lines {kind}"
            self._fail(self._exit_reason)
            if self._upstream is not None:
                self._upstream.pause(True)

    def _fail(self, why: str) -> None:
        for reply in self._pending.values():
            with suppress(asyncio.InvalidStateError):
                reply.set_exception(TargetError(f"{self.at}: {why}"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _short(message: Mapping[str, Any]) -> str:
    error = message.get("error")
    text = error.get("message") if isinstance(error, Mapping) else None
    return str(text if text is not None else encode(dict(message)).decode("utf-8", "replace"))[:200]
