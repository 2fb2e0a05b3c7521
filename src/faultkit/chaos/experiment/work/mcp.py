"""`mcp`: a tool call, as a client of the legacy era makes it, over stdio or streamable HTTP."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from faultkit import __version__
from faultkit.chaos.experiment.work.command import read_argv
from faultkit.chaos.experiment.work.http import read_texts, read_url
from faultkit.chaos.experiment.work.python import read_arguments
from faultkit.chaos.experiment.work.work import Failed, Scene
from faultkit.errors import FaultkitError, InputError
from faultkit.mcp.gateway.http_upstream import HttpUpstream
from faultkit.mcp.gateway.stdio_upstream import StdioUpstream
from faultkit.mcp.gateway.upstream import Upstream
from faultkit.mcp.wire.era import NEWEST_LEGACY
from faultkit.mcp.wire.lines import TooLong
from faultkit.mcp.wire.message import Incoming, encode, notification_of, read
from faultkit.scenario.reading import Reading
from faultkit.scenario.values import text

KEYS = ("command", "url", "tool", "arguments", "env", "headers")


@dataclass(frozen=True, slots=True)
class McpCall:
    tool: str
    arguments: Mapping[str, Any]
    argv: tuple[str, ...] = ()
    url: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: ClassVar[str] = "mcp"
    usual_limit_s: ClassVar[float] = 30.0

    @property
    def says(self) -> str:
        return f"call tool {self.tool} of {self.url or self.argv[0]}"

    def resolve(self, scene: Scene) -> None:
        if self.argv and shutil.which(self.argv[0]) is None:
            raise InputError("command", f'expected a program that can be run, got "{self.argv[0]}"')

    async def perform(self, scene: Scene) -> Any:
        """`status`: ok, tool_error, error (of the protocol); `text`, `structured`, `error`, `elapsed_ms`."""
        asking = _Asking()
        server: Upstream
        if self.url is not None:
            server = HttpUpstream(self.url, asking, headers=self.headers.items())
        else:
            server = StdioUpstream(self.argv, asking, self.env)
        began = time.monotonic()
        try:
            await server.start()
            opening = {
                "protocolVersion": NEWEST_LEGACY,
                "capabilities": {},
                "clientInfo": {"name": "faultkit", "version": __version__},
            }
            opened = await asking.ask(server, "initialize", opening)
            if "error" in opened:
                raise Failed(f"the server refuses to initialize: {opened['error'].get('message')}")
            server.send(read(notification_of("notifications/initialized", {})))
            params = {"name": self.tool, "arguments": dict(self.arguments)}
            reply = await asking.ask(server, "tools/call", params)
        except FaultkitError as error:
            raise Failed(str(error)) from None
        finally:
            await server.stop(urgent=True)
        return {**_answer(reply), "elapsed_ms": round((time.monotonic() - began) * 1000, 3)}


def _answer(reply: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in reply:
        return {"status": "error", "error": reply["error"]}
    result = reply["result"] if isinstance(reply.get("result"), dict) else {}
    content = result.get("content")
    texts = [
        block.get("text", "")
        for block in (content if isinstance(content, list) else [])
        if isinstance(block, dict) and block.get("type") == "text"
    ]
    return {
        "status": "tool_error" if result.get("isError") else "ok",
        "text": "\n".join(str(each) for each in texts),
        "structured": result.get("structuredContent"),
    }


class _Asking:
    """Waits for replies. What else the server says is not what was asked."""

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._gone: str | None = None

    async def ask(self, server: Upstream, method: str, params: object) -> dict[str, Any]:
        id = len(self._waiting) + 1
        reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[id] = reply
        if self._gone is not None:
            raise Failed(self._gone)
        server.send(read(encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})))
        return await reply

    def hear(self, incoming: Incoming) -> None:
        reply = self._waiting.get(incoming.id) if isinstance(incoming.id, int) else None
        if incoming.kind == "response" and reply is not None and not reply.done():
            reply.set_result(incoming.message)

    def hear_too_long(self, line: TooLong) -> None:
        self._fail(f"the server sent {line.size} bytes in one message")

    def full(self, is_full: bool) -> None:
        """One call fills nothing."""

    def gone(self, why: str, code: int | None) -> None:
        self._fail(why)

    def _fail(self, why: str) -> None:
        self._gone = why
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(Failed(why))


def parse_mcp(value: object, path: str, problems: list[InputError]) -> McpCall | None:
    before = len(problems)
    reading = Reading(value, KEYS, path, problems)
    if reading.sound and ("command" in reading.given) == ("url" in reading.given):
        both = "both" if "url" in reading.given else "neither"
        problems.append(InputError(path, f"expected a command or a url of an MCP server, got {both}"))
    tool = reading.need("tool", text, "", "the name of a tool")
    argv = reading.take("command", read_argv, ()) if "command" in reading.given else ()
    url = reading.take("url", read_url, None)
    arguments = reading.take("arguments", read_arguments, {})
    env = reading.take("env", read_texts, {})
    headers = reading.take("headers", read_texts, {})
    return McpCall(tool, arguments, argv, url, env, headers) if len(problems) == before else None
