"""Tool arguments that are repeated in HTTP headers, marked with `x-mcp-header` in a tool's input schema (MCP
2026-07-28).

The marks are learnt from `tools/list`; headers are then made and checked for calls of the tool. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from faultkit.mcp.wire.era import decode_header_value, encode_header_value
from faultkit.mcp.wire.message import Incoming

_MARK = "x-mcp-header"


class ParameterHeaders:
    """The marked arguments of each known tool."""

    def __init__(self) -> None:
        self._by_tool: dict[str, list[tuple[tuple[str, ...], str]]] = {}

    def learn(self, reply: Incoming) -> None:
        """Learn the marks of listed tools from a reply; other replies are ignored."""
        if _MARK.encode() not in reply.raw:
            return
        result = reply.message.get("result")
        tools = result.get("tools") if isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict) and isinstance(name := tool.get("name"), str):
                self._by_tool[name] = list(_marked(tool.get("inputSchema"), ()))

    def of(self, request: Incoming) -> list[tuple[str, str]]:
        """Return the headers that a call must carry."""
        wanted = self._by_tool.get(str(request.params.get("name")), ())
        arguments = request.params.get("arguments")
        headers = []
        for path, token in wanted if request.method == "tools/call" else ():
            text = _text(_at(arguments, path))
            if text is not None:
                headers.append((f"Mcp-Param-{token}", encode_header_value(text)))
        return headers

    def mismatch(self, request: Incoming, headers: Mapping[str, str]) -> str | None:
        """Return what is wrong with the headers of a call, or None."""
        wanted = self._by_tool.get(str(request.params.get("name")), ())
        arguments = request.params.get("arguments")
        for path, token in wanted if request.method == "tools/call" else ():
            name = f"mcp-param-{token}".lower()
            text, given = _text(_at(arguments, path)), headers.get(name)
            if text is None and given is None:
                continue
            if given is None:
                return f"{name} is missing"
            if text is None or not _same(decode_header_value(given), text):
                return f"{name} differs from the body"
        return None


def _marked(schema: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if not isinstance(schema, dict):
        return
    token = schema.get(_MARK)
    if path and isinstance(token, str):
        yield path, token
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        yield from _marked(inner, (*path, name))


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _same(given: str | None, text: str) -> bool:
    if given == text:
        return True
    try:
        return given is not None and float(given) == float(text)
    except ValueError:
        return False
