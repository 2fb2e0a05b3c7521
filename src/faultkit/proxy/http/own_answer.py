"""Responses that the proxy writes itself, in HTTP/1.1.

An injected answer carries `X-Fault-Injected` with the kind of the fault, so that a capture tells it from an
answer of the upstream. Answers of the proxy about its own trouble (502, 504) carry `Proxy-Status` (RFC 9209)
instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from faultkit.faults.http_fault import Fields
from faultkit.proxy.http.heads import RequestHead

PROXY_STATUS = "Proxy-Status: faultkit; error="
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
ESTABLISHED = b"HTTP/1.1 200 Connection Established\r\n\r\n"

_REASONS = {status.value: status.phrase for status in HTTPStatus}
_WITHOUT_LENGTH = frozenset((204, 304))


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """A response to be written in place of the upstream's."""

    status: int
    body: str = ""
    headers: Fields = ()
    injected: str | None = None
    """The kind of the fault that asks for it, if one does."""
    trouble: str | None = None
    """Why the upstream could not be reached: an error type of RFC 9209 §2.3."""


def content_of(answer: OwnAnswer) -> tuple[list[tuple[str, str]], bytes]:
    """Return the fields of an answer that do not depend on the version of HTTP, and its body."""
    fields: list[tuple[str, str]] = []
    body = b""
    if answer.status >= 200 and answer.status not in _WITHOUT_LENGTH:
        # RFC 9110 §15.3.6: 205 must not have content.
        body = b"" if answer.status == 205 else answer.body.encode()
        if not any(name.lower() == "content-type" for name, _ in answer.headers):
            fields.append(("Content-Type", "text/plain; charset=utf-8"))
        fields.append(("Content-Length", str(len(body))))
    fields += answer.headers
    if answer.injected is not None:
        fields.append(("X-Fault-Injected", answer.injected))
    return fields, body


def answer_bytes(answer: OwnAnswer, request: RequestHead | None, closing: bool) -> bytes:
    """Return the whole response. `request` is None if no head could be read."""
    fields, body = content_of(answer)
    lines = [f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, 'Unknown')}"]
    lines += (f"{name}: {value}" for name, value in fields)
    if answer.trouble is not None:
        lines.append(f"{PROXY_STATUS}{answer.trouble}")
    if closing:
        lines.append("Connection: close")
    elif request is not None and request.minor == 0:
        lines.append("Connection: keep-alive")
    if request is not None and request.method == "HEAD":
        body = b""
    return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body
