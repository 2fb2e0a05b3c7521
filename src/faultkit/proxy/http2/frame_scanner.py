"""Where frames begin and end in the bytes of one peer (RFC 9113 §4.1).

The frames are parsed by the `h2` library. This scanner stands before it for three reasons:

- GOAWAY is taken out, because `h2` refuses every frame after it, while RFC 9113 §6.8 lets streams go on;
- frames that cost their sender nothing are counted, and a flood of them is an error before any is parsed;
- bytes come out in slices of a few frames, so that one connection cannot hold up the others for long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

_HEAD = 9
"""Bytes of a frame's header."""
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _GOAWAY, _WINDOW_UPDATE, _CONTINUATION = (
    0x0,
    0x1,
    0x3,
    0x4,
    0x7,
    0x8,
    0x9,
)
_END_STREAM = _ACK = 0x1
_FRAMES = 32
"""Frames of a slice."""
_MOST_BYTES = 16384
"""Bytes of the largest frame: we allow no more than RFC 9113 §4.2 does."""
_MOST_BLOCK = 1 << 17
"""Bytes of one block of header fields, in all its frames. `h2` reads it at its end only."""
_PROTOCOL_ERROR, _FRAME_SIZE_ERROR, _ENHANCE_YOUR_CALM = 0x1, 0x6, 0xB

_BURST = 20_000
_PER_S = 20_000
"""Points that frames without a use may cost: at once, and each second."""
_POINTS = 10
_COSTS = {_WINDOW_UPDATE: 1, _RST_STREAM: 20}
"""A busy receiver sends many WINDOW_UPDATE frames; a reset throws work away."""


class BadFrames(Exception):
    """A peer sends frames that are too large, or a flood of frames without a use."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, slots=True)
class GoawayFrame:
    """A GOAWAY frame that the peer has sent."""

    last_stream_id: int
    code: int
    debug: bytes


Slice: TypeAlias = bytes | GoawayFrame
"""Bytes for `h2`, or the frame that it does not get."""


class FrameScanner:
    """Reads the bytes of one peer."""

    __slots__ = ("_at", "_block", "_first", "_goaway", "_head", "_left", "_points")

    def __init__(self, preface: bool) -> None:
        """`preface`: the peer is a client, whose bytes begin with the preface."""
        self._left = len(PREFACE) if preface else 0
        """Bytes of the current frame (or the preface) that are still to come."""
        self._block = 0
        """Bytes of the last block of header fields, so far."""
        self._first = preface
        """Whether the frame that a client's preface ends with is still to come."""
        self._head = b""
        """The beginning of a frame's header, if it was cut."""
        self._goaway: bytearray | None = None
        """What has come of a GOAWAY frame's payload."""
        self._points = float(_BURST)
        self._at = 0.0

    def feed(self, payload: bytes, at: float) -> list[Slice]:
        """Return the slices of what has arrived. Raises BadFrames."""
        slices: list[Slice] = []
        if self._head:
            payload, self._head = self._head + payload, b""
        begin = place = frames = 0
        size = len(payload)
        self._points = min(_BURST, self._points + (at - self._at) * _PER_S)
        self._at = at
        while place < size:
            if self._left:
                step = min(self._left, size - place)
                if self._goaway is not None:
                    self._goaway += payload[place : place + step]
                    begin = place + step
                place += step
                self._left -= step
                if not self._left and self._goaway is not None:
                    slices.append(_goaway(bytes(self._goaway)))
                    self._goaway = None
                continue
            if size - place < _HEAD:
                self._head = payload[place:]
                break
            kind, length = payload[place + 3], int.from_bytes(payload[place : place + 3], "big")
            if length > _MOST_BYTES:
                raise BadFrames(_FRAME_SIZE_ERROR, _what_is_no_frame(payload[place : place + _HEAD]))
            self._count(kind, length, payload[place + 4])
            if kind == _GOAWAY and length >= 8 and not any(payload[place + 5 : place + _HEAD]):
                if place > begin:
                    slices.append(payload[begin:place])
                self._goaway = bytearray()
                begin = place + _HEAD
            elif frames == _FRAMES:
                slices.append(payload[begin:place])
                begin, frames = place, 0
            frames += 1
            place += _HEAD
            self._left = length
        if place > begin and self._goaway is None:
            slices.append(payload[begin:place])
        return slices

    def _count(self, kind: int, length: int, flags: int) -> None:
        if self._first:
            self._first = False
            if kind != _SETTINGS or flags & _ACK:
                raise BadFrames(_PROTOCOL_ERROR, "no SETTINGS after the preface")  # RFC 9113 §3.4
        if kind in (_HEADERS, _CONTINUATION):
            self._block = length if kind == _HEADERS else self._block + length
            if self._block > _MOST_BLOCK:
                raise BadFrames(_ENHANCE_YOUR_CALM, f"header fields of more than {_MOST_BLOCK} bytes")
            return
        if kind == _DATA and (length or flags & _END_STREAM):
            return
        if kind == _SETTINGS and flags & _ACK and length:
            raise BadFrames(_FRAME_SIZE_ERROR, "SETTINGS with ACK and a payload")  # RFC 9113 §6.5
        self._points -= _COSTS.get(kind, _POINTS)
        if self._points < 0:
            raise BadFrames(_ENHANCE_YOUR_CALM, "too many frames that carry nothing")


def _what_is_no_frame(head: bytes) -> str:
    """Return the beginning if it is a text, such as an answer of a server that speaks HTTP/1.1 only."""
    text = head.decode("latin-1")
    return (
        f'no frames, but text ("{text}…")'
        if text.isascii() and text.isprintable()
        else f"a frame of more than {_MOST_BYTES} bytes"  # Not of how many: it is reported once.
    )


def _goaway(payload: bytes) -> GoawayFrame:
    last = int.from_bytes(payload[:4], "big") & 0x7FFFFFFF
    return GoawayFrame(last, int.from_bytes(payload[4:8], "big"), payload[8:])


def goaway_bytes(last_stream_id: int, code: int, debug: bytes) -> bytes:
    """Return a GOAWAY frame (RFC 9113 §6.8)."""
    payload = last_stream_id.to_bytes(4, "big") + code.to_bytes(4, "big") + debug
    return len(payload).to_bytes(3, "big") + bytes((_GOAWAY, 0)) + bytes(4) + payload
