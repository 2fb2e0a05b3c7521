"""The two eras of MCP: which one a request belongs to, and what the modern one asks of it. Pure.

Legacy: versions up to 2025-11-25, begun by `initialize`. Modern: 2026-07-28, where each request carries its
version in `_meta` and, over HTTP, says in headers what its body says.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.faults.call.call import Era
from faultkit.mcp.wire.message import INVALID_PARAMS, METHOD_NOT_FOUND, NAMED_BY, Incoming, read

LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)
NEWEST_LEGACY = LEGACY_VERSIONS[-1]
NEWEST = MODERN_VERSIONS[-1]
BATCH_VERSIONS = ("2024-11-05", "2025-03-26")
"""Those in which a message may be an array of them."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"

VERSION_HEADER = "mcp-protocol-version"
METHOD_HEADER = "mcp-method"
NAME_HEADER = "mcp-name"
SESSION_HEADER = "mcp-session-id"

HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

_CACHED = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")
_MIRRORED = ("tools/call", "prompts/get", "resources/read")
_BASE64 = re.compile(r"=\?base64\?(.*)\?=")
_PLAIN = re.compile(r"[\x20-\x7e]*")


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a request is answered with instead of being served."""

    status: int
    """Over HTTP."""
    code: int
    message: str
    data: Any = None


def meta_of(params: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def era_of(incoming: Incoming, headers: Mapping[str, str] | None = None) -> Era:
    """By the version in `_meta`, which no legacy request has; over HTTP, by the header as well."""
    if VERSION_KEY in meta_of(incoming.params):
        return "modern"
    version = None if headers is None else headers.get(VERSION_HEADER)
    # A version that nobody knows is answered in the way of the newest era, which has an answer for it.
    return "modern" if version is not None and version not in LEGACY_VERSIONS else "legacy"


def refusal_of(incoming: Incoming, headers: Mapping[str, str] | None = None) -> Refusal | None:
    """What is wrong with a modern request; None if nothing is. Without headers, as over stdio."""
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
    if incoming.method in _MIRRORED:
        name = incoming.params.get(NAMED_BY[incoming.method])
        if isinstance(name, str):
            wanted[NAME_HEADER] = name
    for header, value in wanted.items():
        given = headers.get(header)
        if given is None:
            return f"{header} is missing"
        if decoded(given) != value:
            return f"{header} differs from the body"
    return None


def headers_of(incoming: Incoming) -> list[tuple[str, str]]:
    """The headers that a modern request over HTTP must carry, from its body."""
    version = meta_of(incoming.params).get(VERSION_KEY)
    headers = [("MCP-Protocol-Version", str(version or NEWEST)), ("Mcp-Method", encoded(incoming.method))]
    if incoming.method in _MIRRORED:
        name = incoming.params.get(NAMED_BY[incoming.method])
        if isinstance(name, str):
            headers.append(("Mcp-Name", encoded(name)))
    return headers


def opening_of(
    era: Era,
    version: object,
    capabilities: Mapping[str, Any],
    info: Mapping[str, Any],
    instructions: str | None,
) -> dict[str, Any]:
    """What a server says of itself first: to `initialize` of this version, or to `server/discover`."""
    found: dict[str, Any] = {"capabilities": capabilities}
    if era == "modern":
        found["supportedVersions"] = list(MODERN_VERSIONS)
    else:
        found["protocolVersion"] = version if version in LEGACY_VERSIONS else NEWEST_LEGACY
        found["serverInfo"] = info
    return found if instructions is None else {**found, "instructions": instructions}


def version_in(reply: bytes) -> str | None:
    """The one that a reply to `initialize` settles on."""
    result = read(reply).message.get("result")
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    return version if isinstance(version, str) else None


def finished(result: dict[str, Any], method: str, era: Era, info: Mapping[str, Any]) -> dict[str, Any]:
    """With what the modern era asks of each result, where it is not there already."""
    if era == "legacy":
        return result
    more: dict[str, Any] = {"resultType": "complete"}
    if method in _CACHED:
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
"""HTTP statuses of errors in the modern era; 200 for all others."""


def encoded(value: str) -> str:
    """As a header can carry it: plain, or in base64 where it could not survive plainly."""
    if _PLAIN.fullmatch(value) and value == value.strip() and not _BASE64.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode()}?="


def decoded(value: str) -> str | None:
    """What was `encoded`; None if it cannot be."""
    match = _BASE64.fullmatch(value)
    if match is None:
        return value
    try:
        return base64.b64decode(match[1], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
