"""From the bytes of a head to what framing must know of it.

Clients that keep a connection send much the same head again and again, so small heads are parsed once
and remembered. Parsed heads are therefore shared and must never be changed.
"""

from __future__ import annotations

from functools import lru_cache

from faultkit.proxy.http.body import ABSENT, CHUNKED, declared_body
from faultkit.proxy.http.heads import REQUEST_LINE, STATUS_LINE, RequestHead, ResponseHead

_REMEMBERED_HEADS = 512
_REMEMBERED_BYTES = 2048
"""Longer heads are parsed each time: they are rare, and would fill the memory."""


def read_request_head(raw: bytes) -> RequestHead:
    """A head that can be framed safely; a ValueError says why it cannot."""
    return _request_head(raw) if len(raw) <= _REMEMBERED_BYTES else _request_head.__wrapped__(raw)


def read_response_head(raw: bytes) -> ResponseHead:
    """As for requests; but trouble with the body is left in `problem`, for some answers have no body."""
    return _response_head(raw) if len(raw) <= _REMEMBERED_BYTES else _response_head.__wrapped__(raw)


@lru_cache(_REMEMBERED_HEADS)
def _request_head(raw: bytes) -> RequestHead:
    _check_lines(raw)
    line = REQUEST_LINE.match(raw)
    if line is None:
        raise ValueError("HTTP/2" if raw.startswith(b"PRI * HTTP/2.0\r\n") else "not an HTTP/1 request line")
    lower = raw.lower()
    if b"\r\n " in lower or b"\r\n\t" in lower:
        raise ValueError("folded header line in a request")
    method, minor = line[1].decode("ascii"), int(line[3])
    length = declared_body(lower, minor)
    if length < 0 and length not in (ABSENT, CHUNKED):
        raise ValueError("a request whose body has no end")
    connect = method == "CONNECT"
    if connect and length != ABSENT:
        raise ValueError("CONNECT with a body")
    return RequestHead(raw, method, line[2], minor, length, connect or b"\r\nupgrade:" in lower)


@lru_cache(_REMEMBERED_HEADS)
def _response_head(raw: bytes) -> ResponseHead:
    _check_lines(raw)
    line = STATUS_LINE.match(raw)
    if line is None:
        raise ValueError("not an HTTP/1 status line")
    minor = int(line[1])
    try:
        return ResponseHead(raw, int(line[2]), minor, declared_body(raw.lower(), minor))
    except ValueError as problem:
        return ResponseHead(raw, int(line[2]), minor, ABSENT, str(problem))


def _check_lines(raw: bytes) -> None:
    lines = raw.count(b"\r\n")
    if raw.count(b"\n") != lines or raw.count(b"\r") != lines:
        raise ValueError("bare CR or LF in a head")
