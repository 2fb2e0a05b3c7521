"""Replies of a mock as bytes, and what the modern era asks of a result. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from faultkit.faults.call.call import Era
from faultkit.mcp.mock.model import Failure
from faultkit.mcp.wire.era import SERVER_INFO_KEY
from faultkit.mcp.wire.message import Id, encode

Member: TypeAlias = bytes
"""`"result":{…}` or `"error":{…}`: all of a reply but its id, so that it can stand ready for many calls."""

_CACHED = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")


def reply_of(id: Id | None, member: Member) -> bytes:
    own = b"%d" % id if type(id) is int else encode(id)
    return b'{"jsonrpc":"2.0","id":' + own + b"," + member + b"}"


def result_member(result: object) -> Member:
    return b'"result":' + encode(result)


def error_member(error: Failure | Mapping[str, Any]) -> Member:
    """Of a failure of ours, or of an error as somebody else wrote it."""
    return b'"error":' + encode(_document(error) if isinstance(error, Failure) else error)


def _document(failure: Failure) -> dict[str, Any]:
    error: dict[str, Any] = {"code": failure.code, "message": failure.message}
    if failure.data is not None:
        error["data"] = failure.data
    return error


def finished(result: dict[str, Any], method: str, era: Era, info: Mapping[str, Any]) -> dict[str, Any]:
    """With what the modern era asks of each result, where it is not there already."""
    if era == "legacy":
        return result
    more: dict[str, Any] = {"resultType": "complete"}
    if method in _CACHED:
        more |= {"ttlMs": 0, "cacheScope": "private"}
    meta = result.get("_meta")
    return {**more, **result, "_meta": {SERVER_INFO_KEY: info, **(meta if isinstance(meta, dict) else {})}}
