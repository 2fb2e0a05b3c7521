"""Where frames begin and end in the bytes of one peer (RFC 6455 §5.2).

A payload comes in the parts in which it arrives, so a frame of any length costs no memory. Every byte is in
the `raw` of one head or part, in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_MOST_CONTROL = 125
"""Bytes of a control frame's payload (RFC 6455 §5.5)."""


MOST_FRAMES = 512
"""Frames that are read in one go, a few milliseconds: other connections wait meanwhile."""


class BadFrames(Exception):
    """A peer sends bytes that are no frames of RFC 6455."""


# Named tuples, because there are many, and a frozen dataclass takes three times as long to make.


class FrameHead(NamedTuple):
    """The beginning of a frame, up to its payload."""

    opcode: int
    is_final: bool
    """The last frame of its message."""
    rsv1: bool
    """In the first frame of a message: it is compressed (RFC 7692 §6)."""
    mask: bytes
    """Four bytes, or none."""
    length: int
    raw: bytes

    @property
    def is_control(self) -> bool:
        return self.opcode >= CLOSE


class FramePart(NamedTuple):
    """A part of the payload, masked as it came. Each frame has a last part, which may be empty."""

    raw: bytes
    is_last: bool


class FrameScanner:
    """Reads the bytes of one peer."""

    __slots__ = ("_allows_rsv1", "_in_message", "_kept", "_left", "_masked", "_strict", "has_more")

    def __init__(self, *, masked: bool, allows_rsv1: bool = False, strict: bool = True) -> None:
        """`masked`: the peer is a client. `strict`: no extension is in use that may define further bits."""
        self._masked = masked
        self._allows_rsv1 = allows_rsv1
        self._strict = strict
        self._kept = b""
        """Bytes of a head that is not complete, or of frames beyond MOST_FRAMES."""
        self.has_more = False
        """Whether `feed` stopped at MOST_FRAMES. Feed nothing to go on."""
        self._left = -1
        """Bytes of the payload that are still to come; -1 between frames."""
        self._in_message = False

    def take_rest(self) -> bytes:
        """Return the bytes that were fed and have not come out."""
        rest, self._kept = self._kept, b""
        return rest

    def feed(self, payload: bytes) -> Iterator[FrameHead | FramePart]:
        """Yield what is found. Raises BadFrames; the bytes from there on are then in `take_rest`."""
        at, size, frames = 0, len(payload), 0
        self.has_more = False
        if self._kept:
            payload, self._kept = self._kept + payload, b""
            size = len(payload)
        while True:
            if self._left < 0:
                if frames == MOST_FRAMES:
                    self._kept = payload[at:]
                    self.has_more = at < size
                    return
                frames += 1
                try:
                    head = self._head(payload, at)
                except BadFrames:
                    self._kept = payload[at:]
                    raise
                if head is None:
                    self._kept = payload[at:]
                    return
                at += len(head.raw)
                self._left = head.length
                yield head
            if at == size and self._left:
                return
            end = min(size, at + self._left)
            part = payload[at:end]
            self._left -= end - at
            at = end
            if not self._left:
                self._left = -1
                yield FramePart(part, True)
            else:
                yield FramePart(part, False)

    def _head(self, payload: bytes, at: int) -> FrameHead | None:
        """Return the head that begins here; None if it is not complete."""
        if len(payload) - at < 2:
            return None
        first, second = payload[at], payload[at + 1]
        opcode, is_final, length = first & 0x0F, bool(first & 0x80), second & 0x7F
        self._check(first, second)
        begin = at + 2
        if length > _MOST_CONTROL:
            wide = 2 if length == 126 else 8
            if len(payload) < begin + wide:
                return None
            length = int.from_bytes(payload[begin : begin + wide], "big")
            begin += wide
            if length >> 63:
                raise BadFrames("a frame whose length has its highest bit set")
            if length <= (_MOST_CONTROL if wide == 2 else 0xFFFF):
                raise BadFrames("a length that is not written in as few bytes as possible")
        end = begin + (4 if second & 0x80 else 0)
        if len(payload) < end:
            return None
        if opcode < CLOSE:
            self._in_message = not is_final
        return FrameHead(opcode, is_final, bool(first & 0x40), payload[begin:end], length, payload[at:end])

    def _check(self, first: int, second: int) -> None:
        """Refuse what RFC 6455 §5.1, §5.2, §5.4 and §5.5 do not allow."""
        opcode, is_final = first & 0x0F, first & 0x80
        if bool(second & 0x80) != self._masked:
            raise BadFrames("frames without a mask" if self._masked else "masked frames")
        if opcode >= CLOSE and not is_final:
            raise BadFrames("a control frame in fragments")
        if opcode >= CLOSE and second & 0x7F > _MOST_CONTROL:
            raise BadFrames("a control frame of more than 125 bytes")
        if opcode == CONTINUATION and not self._in_message:
            raise BadFrames("a continuation of no message")
        if opcode in (TEXT, BINARY) and self._in_message:
            raise BadFrames("a message inside another")
        if not self._strict:
            return
        if opcode not in (CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG):
            raise BadFrames(f"a frame with the unknown opcode {opcode:#x}")
        if first & 0x30 or (first & 0x40 and not (self._allows_rsv1 and opcode in (TEXT, BINARY))):
            raise BadFrames("a reserved bit that no extension uses")
