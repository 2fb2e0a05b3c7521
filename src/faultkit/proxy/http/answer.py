"""The responses that the proxy writes itself, as bytes.

An injected answer carries `X-Fault-Injected: http_error`, so that whoever reads a capture can tell it
from the upstream's own. Answers of the proxy about its own trouble (502, 504) carry `Proxy-Status`
(RFC 9209) instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from faultkit.proxy.http.heads import RequestHead

PROXY_STATUS = "Proxy-Status: faultkit; error="
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
ESTABLISHED = b"HTTP/1.1 200 Connection Established\r\n\r\n"

_REASONS = {status.value: status.phrase for status in HTTPStatus}
_WITHOUT_LENGTH = frozenset((204, 304))


@dataclass(frozen=True, slots=True)
class Answer:
    """A response to be written in place of the upstream's."""

    status: int
    body: str = ""
    injected: bool = True
    trouble: str | None = None
    """Why the upstream could not be had, in the words of RFC 9209."""


def answer_bytes(answer: Answer, request: RequestHead | None, closing: bool) -> bytes:
    """The whole response. `request` is None where no head could be read."""
    status = answer.status
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Unknown')}"]
    body = b""
    if status >= 200 and status not in _WITHOUT_LENGTH:
        # 205 may announce nothing but an empty body.
        body = b"" if status == 205 else answer.body.encode()
        lines += ["Content-Type: text/plain; charset=utf-8", f"Content-Length: {len(body)}"]
    if answer.injected:
        lines.append("X-Fault-Injected: http_error")
    if answer.trouble is not None:
        lines.append(f"{PROXY_STATUS}{answer.trouble}")
    if closing:
        lines.append("Connection: close")
    elif request is not None and request.minor == 0:
        lines.append("Connection: keep-alive")
    if request is not None and request.method == "HEAD":
        body = b""
    return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body
