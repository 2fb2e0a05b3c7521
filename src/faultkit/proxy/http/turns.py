"""Values of an HTTP exchange: one request and its place in the order of responses (`Turn`), the responses
that the proxy writes itself (`OwnAnswer`), and what an exchange asks of the link (`Output`).

An injected answer carries `X-Fault-Injected: http_error`, so that it can be told from the upstream's own in a
capture. Answers of the proxy about its own trouble (502, 504) carry `Proxy-Status` (RFC 9209) instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeAlias

from faultkit.faults.events import Event
from faultkit.proxy.http.heads import RequestHead


class Turn:
    """What is known of one request until its response has gone to the client."""

    # Most turns change none of these: defaults on the class make the common turn cheap.
    answer: OwnAnswer | None = None
    """What the client gets instead of the upstream's response."""
    sent = True
    """The request goes to the upstream; otherwise it is read and dropped."""
    whole = False
    """The request has been read to its end."""
    started = False
    """The client has got a part of the upstream's response."""
    due = False
    """`answer` may be written as soon as all earlier responses are finished."""
    ready_at = 0.0
    """Time before which `answer` is not written."""
    closing = False
    """The client's connection ends after the response."""
    continues = False
    """The client waits for 100 (Continue) before it sends the body, which is then dropped (RFC 9110
    §10.1.1)."""

    def __init__(self, head: RequestHead | None) -> None:
        self.head = head
        """None if the bytes were no request at all."""

    @property
    def connects(self) -> bool:
        """Whether the request asks for a tunnel."""
        return self.head is not None and self.head.method == "CONNECT"

    @property
    def keeps_alive(self) -> bool:
        """Whether the client means to use the connection again."""
        return self.head is not None and self.head.keep_alive

    def answer_with(self, answer: OwnAnswer) -> None:
        """Send `answer` to the client, once it is due."""
        self.answer = answer
        # An interim status never ends an exchange: nothing could follow it on this connection.
        self.closing = answer.status < 200 or not self.keeps_alive

    def drop_request(self) -> None:
        """Send nothing, or nothing more, of the request to the upstream."""
        head = self.head
        self.sent = False
        if not self.whole and head is not None and head.minor == 1:
            self.continues = (head.header("expect") or "").lower() == "100-continue"

    def make_due(self, at: float) -> None:
        """Let the answer be written from `at` on."""
        self.due = True
        self.ready_at = max(self.ready_at, at)


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
    injected: bool = True
    trouble: str | None = None
    """Why the upstream could not be reached: an error type of RFC 9209 §2.3."""


def answer_bytes(answer: OwnAnswer, request: RequestHead | None, closing: bool) -> bytes:
    """Return the whole response. `request` is None if no head could be read."""
    status = answer.status
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Unknown')}"]
    body = b""
    if status >= 200 and status not in _WITHOUT_LENGTH:
        # RFC 9110 §15.3.6: 205 must not have content.
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


# --- outputs -------------------------------------------------------------------------------- An event inside
# an output may lie in the future: the link holds it until it is due. In each direction the times never
# decrease.


@dataclass(frozen=True, slots=True)
class ToClient:
    """Deliver this to the client."""

    event: Event


@dataclass(frozen=True, slots=True)
class ToUpstream:
    """Deliver this to the upstream leg."""

    event: Event


@dataclass(frozen=True, slots=True)
class Dial:
    """Open an upstream leg, then call `dialled` or `dial_failed`. Nothing goes upstream before that."""

    host: str
    port: int
    tls: bool = False
    tunnel: bool = False
    """The client asked for it by CONNECT: from `dialled` on the bytes are not read as HTTP."""


@dataclass(frozen=True, slots=True)
class Hangup:
    """Close the upstream leg, or cancel its dial. Nothing more is expected from it."""


Output: TypeAlias = ToClient | ToUpstream | Dial | Hangup
