"""A request whose body is held until a rule has read all of it, in HTTP/1.1.

A body that is longer than `MOST_HELD_BYTES` is not held: it passes as it came. It knows no rule: who reads
the body, and what becomes of it, is a `BodyJudge`'s.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from faultkit.proxy.http.framing import Chunks
from faultkit.proxy.http.heads import CHUNKED, RequestHead
from faultkit.proxy.http.own_answer import OwnAnswer

MOST_HELD_BYTES = 8 << 20
"""Length of a request's body that is held for rules to read."""

_FRAMING = (b"content-length", b"transfer-encoding", b"trailer")


@dataclass(frozen=True, slots=True)
class BodyVerdict:
    """What becomes of a request whose body was read. By default it passes as it came."""

    body: bytes | None = None
    """Another body."""
    answer: OwnAnswer | None = None
    """The answer; the upstream does not get the request."""
    answer_at: float = 0.0
    """When the answer is due."""
    is_plain: bool = False
    """The upstream is asked not to compress its answer."""


class BodyJudge(Protocol):
    """Rules that read the bodies of requests."""

    def wants(self, head: RequestHead) -> bool:
        """Return whether a rule may have to read the body."""

    def judge(self, head: RequestHead, number: int, body: bytes) -> BodyVerdict:
        """Return what becomes of a request; `number` counts those of the connection from 0."""

    def too_long(self, head: RequestHead) -> None:
        """Record that a body was too long to be read."""


class HeldRequest:
    """The bytes of one request that have come: its head for the upstream, and its body."""

    __slots__ = ("_chunks", "_raw", "_size", "wire")

    def __init__(self, head: RequestHead, wire: bytes) -> None:
        """`wire` is the head for the upstream. Its 100-continue was met here: without it, the client would
        get a second one from the upstream (RFC 9110 §10.1.1)."""
        expects = (head.header("expect") or "").lower() == "100-continue"
        self.wire = _without(wire, (b"expect",)) if expects else wire
        self._raw: list[bytes] = []
        self._size = 0
        self._chunks = Chunks(collects=True) if head.length == CHUNKED else None

    @property
    def is_too_long(self) -> bool:
        """Whether more has come than is to be held."""
        return self._size > MOST_HELD_BYTES

    def add(self, raw: bytes) -> None:
        """Take a part of the body, with its chunk sizes as they came."""
        self._raw.append(raw)
        self._size += len(raw)

    def raw(self) -> bytes:
        """Return the request as it came, as far as it has come."""
        return b"".join((self.wire, *self._raw))

    def body(self) -> bytes:
        """Return the content of the body."""
        raw = b"".join(self._raw)
        if self._chunks is None:
            return raw
        self._chunks.walk(raw, 0)
        return self._chunks.take_content()

    def treated(self, verdict: BodyVerdict, content: bytes) -> bytes:
        """Return the request to send: as it came, unless the verdict asks for more."""
        if verdict.body is None and not verdict.is_plain:
            return self.raw()
        body = content if verdict.body is None else verdict.body
        dropped = _FRAMING if not verdict.is_plain else (*_FRAMING, b"accept-encoding")
        lines = [_without(self.wire, dropped)[:-4]]
        if verdict.is_plain:
            lines.append(b"Accept-Encoding: identity")
        lines.append(b"Content-Length: %d" % len(body))
        return b"\r\n".join(lines) + b"\r\n\r\n" + body


def _without(wire: bytes, dropped: Collection[bytes]) -> bytes:
    """Return a head without the fields of these names."""
    first, *rest = wire[:-4].split(b"\r\n")
    kept = (line for line in rest if line.partition(b":")[0].rstrip(b" \t").lower() not in dropped)
    return b"\r\n".join((first, *kept)) + b"\r\n\r\n"
