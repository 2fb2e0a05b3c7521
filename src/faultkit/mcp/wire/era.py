"""The two eras of MCP: which one a request belongs to, and what the modern one requires of it. Pure.

Legacy: protocol versions up to 2025-11-25, with sessions that `initialize` opens.
Modern: 2026-07-28, without sessions: each request carries its version and capabilities in `_meta`, and over
HTTP the headers Mcp-Protocol-Version, Mcp-Method, Mcp-Name and Mcp-Param-* repeat parts of the body (MCP
2026-07-28, Streamable HTTP, Request Metadata; section names below are of that page).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.faults.call_fault import Era
from faultkit.mcp.wire.message import INVALID_PARAMS, METHOD_NOT_FOUND, NAMED_BY, Incoming, read

LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)
NEWEST_LEGACY = LEGACY_VERSIONS[-1]
NEWEST = MODERN_VERSIONS[-1]
BATCH_VERSIONS = ("2024-11-05", "2025-03-26")
"""Versions that have JSON-RPC batches."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"

VERSION_HEADER = "mcp-protocol-version"
METHOD_HEADER = "mcp-method"
NAME_HEADER = "mcp-name"
SESSION_HEADER = "mcp-session-id"

# MCP 2026-07-28, Overview, Error Codes.
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

_CACHEABLE_METHODS = (
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)
_NAMED_METHODS = ("tools/call", "prompts/get", "resources/read")
"""Methods whose target is repeated in Mcp-Name (Standard Request Headers)."""
_BASE64 = re.compile(r"=\?base64\?(.*)\?=")
_PLAIN = re.compile(r"[\x20-\x7e]*")


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error with which a request is answered instead of being served."""

    status: int
    """HTTP status."""
    code: int
    message: str
    data: Any = None


def meta_of(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `_meta` of the parameters; empty if there is none."""
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def era_of(incoming: Incoming, headers: Mapping[str, str] | None = None) -> Era:
    """Return the era of a request: by the version in `_meta`, which no legacy request has, or by the
    header."""
    if VERSION_KEY in meta_of(incoming.params):
        return "modern"
    version = None if headers is None else headers.get(VERSION_HEADER)
    # Unknown versions count as modern, because only that era has an error for them (-32022).
    return "modern" if version is not None and version not in LEGACY_VERSIONS else "legacy"


def refusal_of(incoming: Incoming, headers: Mapping[str, str] | None = None) -> Refusal | None:
    """Return why a modern request must be refused, or None. Over stdio there are no headers to check.

    Checked in this order: missing metadata, headers that differ from the body (Server Validation), an
    unsupported version (Protocol Version Header)."""
    meta = meta_of(incoming.params)
    version = meta.get(VERSION_KEY)
    if version is None or CAPABILITIES_KEY not in meta:
        missing = VERSION_KEY if version is None else CAPABILITIES_KEY
        return Refusal(400, INVALID_PARAMS, f"Invalid params: _meta lacks {missing}")
    if headers is not None:
        wrong = _header_mismatch(incoming, headers, version)
        if wrong is not None:
            return Refusal(400, HEADER_MISMATCH, f"Header mismatch: {wrong}")
    if version not in MODERN_VERSIONS:
        data = {"supported": list(MODERN_VERSIONS), "requested": version}
        return Refusal(400, UNSUPPORTED_VERSION, "Unsupported protocol version", data)
    return None


def _header_mismatch(incoming: Incoming, headers: Mapping[str, str], version: object) -> str | None:
    wanted = {VERSION_HEADER: version, METHOD_HEADER: incoming.method}
    if incoming.method in _NAMED_METHODS:
        name = incoming.params.get(NAMED_BY[incoming.method])
        if isinstance(name, str):
            wanted[NAME_HEADER] = name
    for header, value in wanted.items():
        given = headers.get(header)
        if given is None:
            return f"{header} is missing"
        if decode_header_value(given) != value:
            return f"{header} differs from the body"
    return None


def headers_of(incoming: Incoming) -> list[tuple[str, str]]:
    """Return the headers that a modern request over HTTP must carry, taken from its body."""
    version = meta_of(incoming.params).get(VERSION_KEY)
    headers = [
        ("MCP-Protocol-Version", str(version or NEWEST)),
        ("Mcp-Method", encode_header_value(incoming.method)),
    ]
    if incoming.method in _NAMED_METHODS:
        name = incoming.params.get(NAMED_BY[incoming.method])
        if isinstance(name, str):
            headers.append(("Mcp-Name", encode_header_value(name)))
    return headers


def opening_of(
    era: Era,
    version: object,
    capabilities: Mapping[str, Any],
    info: Mapping[str, Any],
    instructions: str | None,
) -> dict[str, Any]:
    """Return the result of `initialize` for this version (legacy) or of `server/discover` (modern)."""
    result: dict[str, Any] = {"capabilities": capabilities}
    if era == "modern":
        result["supportedVersions"] = list(MODERN_VERSIONS)
    else:
        # A server that does not know the requested version answers with its newest (MCP 2025-11-25,
        # Lifecycle, Version Negotiation).
        result["protocolVersion"] = version if version in LEGACY_VERSIONS else NEWEST_LEGACY
        result["serverInfo"] = info
    return result if instructions is None else {**result, "instructions": instructions}


def version_in(reply: bytes) -> str | None:
    """Return the protocol version that a reply to `initialize` names."""
    result = read(reply).message.get("result")
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    return version if isinstance(version, str) else None


def complete_result(result: dict[str, Any], method: str, era: Era, info: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with the members that the modern era requires and that it lacks."""
    if era == "legacy":
        return result
    more: dict[str, Any] = {"resultType": "complete"}
    if method in _CACHEABLE_METHODS:
        more |= {"ttlMs": 0, "cacheScope": "private"}
    meta = result.get("_meta")
    return {**more, **result, "_meta": {SERVER_INFO_KEY: info, **(meta if isinstance(meta, dict) else {})}}


STATUS_OF: Mapping[int, int] = {
    -32700: 400,
    -32600: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}
"""HTTP statuses of JSON-RPC errors in the modern era; all others have 200.

404 for an unknown method, and 400 for headers that differ from the body and for an unsupported version, are
required (Protocol Version Header, Server Validation)."""


def encode_header_value(value: str) -> str:
    """Return a header value: the text itself, or base64 if a header cannot carry it (Value Encoding).

    A text that looks like an encoded one is encoded, too."""
    if _PLAIN.fullmatch(value) and value == value.strip() and not _BASE64.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode()}?="


def decode_header_value(value: str) -> str | None:
    """Return the text that `encode_header_value` encoded; None if it cannot be decoded."""
    match = _BASE64.fullmatch(value)
    if match is None:
        return value
    try:
        return base64.b64decode(match[1], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None


_MARK = "x-mcp-header"


class ParameterHeaders:
    """Tool arguments that are repeated in HTTP headers (Custom Headers from Tool Parameters).

    A tool marks them with `x-mcp-header` in its input schema. The marks are learnt from `tools/list`; headers
    are then made and checked for calls of the tool."""

    def __init__(self) -> None:
        self._by_tool: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        """For each tool, the paths of marked arguments and the names of their headers after `Mcp-Param-`."""

    def learn(self, reply: Incoming) -> None:
        """Learn the marks of listed tools from a reply; other replies are ignored."""
        if _MARK.encode() not in reply.raw:
            return
        result = reply.message.get("result")
        tools = result.get("tools") if isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict) and isinstance(name := tool.get("name"), str):
                self._by_tool[name] = list(_marked_paths(tool.get("inputSchema"), ()))

    def of(self, request: Incoming) -> list[tuple[str, str]]:
        """Return the headers that a call must carry."""
        wanted = self._by_tool.get(str(request.params.get("name")), ())
        arguments = request.params.get("arguments")
        headers = []
        for path, token in wanted if request.method == "tools/call" else ():
            text = _header_text(_value_at(arguments, path))
            if text is not None:
                headers.append((f"Mcp-Param-{token}", encode_header_value(text)))
        return headers

    def mismatch(self, request: Incoming, headers: Mapping[str, str]) -> str | None:
        """Return what is wrong with the headers of a call, or None."""
        wanted = self._by_tool.get(str(request.params.get("name")), ())
        arguments = request.params.get("arguments")
        for path, token in wanted if request.method == "tools/call" else ():
            name = f"mcp-param-{token}".lower()
            text, given = _header_text(_value_at(arguments, path)), headers.get(name)
            if text is None and given is None:
                continue
            if given is None:
                return f"{name} is missing"
            if text is None or not _is_same_value(decode_header_value(given), text):
                return f"{name} differs from the body"
        return None


def _marked_paths(schema: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the marked properties; only chains of `properties` count (Schema Extension)."""
    if not isinstance(schema, dict):
        return
    token = schema.get(_MARK)
    if path and isinstance(token, str):
        yield path, token
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        yield from _marked_paths(inner, (*path, name))


def _value_at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _header_text(value: Any) -> str | None:
    """Return a value as a header carries it (Value Encoding); None if it is not repeated."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _is_same_value(given: str | None, text: str) -> bool:
    """Compare a header with the body; numbers are compared as numbers (Server Validation, note)."""
    if given == text:
        return True
    try:
        return given is not None and float(given) == float(text)
    except ValueError:
        return False
