"""Replies of a mock as bytes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from faultkit.mcp.mock.model import Failure
from faultkit.mcp.wire.message import Id, encode

Member: TypeAlias = bytes
"""`"result":{…}` or `"error":{…}`: all of a reply but its id, so that it can stand ready for many calls."""


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
