"""`mcp`: a tool call, as a client of the legacy era makes it, over stdio or streamable HTTP."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from faultkit.base.documents.reading import Reading
from faultkit.base.documents.values import text
from faultkit.base.errors import FaultkitError, InputError
from faultkit.chaos.experiment.work.command import read_argv
from faultkit.chaos.experiment.work.http import read_texts, read_url
from faultkit.chaos.experiment.work.python import read_arguments
from faultkit.chaos.experiment.work.work import Failed, Scene
from faultkit.mcp.client import At, Client

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
        at = At(self.argv, self.url or "", self.env, self.headers)
        began = time.monotonic()
        try:
            async with Client(at) as client:
                reply = await client.call(self.tool, self.arguments)
        except FaultkitError as error:
            raise Failed(str(error)) from None
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
