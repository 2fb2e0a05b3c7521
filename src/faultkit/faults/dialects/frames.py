"""How the body of an answer is split into units: server-sent events, lines, elements of an array, a whole.

Every byte that goes in comes out in the `raw` of one frame, in order. A frame is given out as soon as its
last byte has come. What is longer than the limit is passed on in frames without a payload.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from faultkit.base.framing import COMMENT, MOST_MESSAGE_BYTES, SseSplitter, SseTooLong

Framing: TypeAlias = Literal["sse", "lines", "array", "whole"]

_BOM = b"\xef\xbb\xbf"
_FIELD = re.compile(rb"(?:\A|(?<=[\r\n]))(?:\xef\xbb\xbf)?(data|event)(?::[ ]?([^\r\n]*))?(?=[\r\n]|\Z)")
_SIMPLE = re.compile(rb"(?:event: ([^\r\n]*)\n)?data: ([^\r\n]+)\n\n")
"""An event as nearly all are written."""
_INTERESTING = re.compile(rb'["\\{}\[\]]')


@dataclass(frozen=True, slots=True)
class Frame:
    """One unit: its bytes, and which of them are its payload."""

    raw: bytes
    payload: bytes = b""
    start: int = 0
    end: int = 0
    name: str = ""


class FrameReader(Protocol):
    """Splits bytes into frames."""

    @property
    def is_between(self) -> bool:
        """True if nothing is kept, and a frame begins with the next byte."""

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that end in these bytes."""

    def end(self) -> list[Frame]:
        """Return what is left at the end of the body."""


class SseFrames:
    """Frames of a stream of server-sent events; comments are frames without a payload."""

    def __init__(self) -> None:
        self._splitter = SseSplitter()

    @property
    def is_between(self) -> bool:
        """True if no event has begun."""
        return self._splitter.is_empty

    def feed(self, data: bytes) -> list[Frame]:
        """Return the events and comments that end in these bytes."""
        try:
            return [sse_frame(piece) for piece in self._splitter.feed(data)]
        except SseTooLong:
            return [Frame(self._splitter.end())]

    def end(self) -> list[Frame]:
        """Return an event without a blank line behind it, which clients drop (HTML standard 9.2.6)."""
        rest = self._splitter.end()
        return [Frame(rest)] if rest else []


def sse_frame(raw: bytes) -> Frame:
    """Return the frame of one event with its blank line."""
    simple = _SIMPLE.fullmatch(raw)
    if simple is not None:
        start, end = simple.span(2)
        return Frame(raw, simple[2], start, end, (simple[1] or b"").decode("utf-8", "replace"))
    data: list[bytes] = []
    name, start, end = b"", 0, 0
    for field in _FIELD.finditer(raw):
        value = field[2] or b""
        if field[1] == b"event":
            name = value
            continue
        if not data:
            start = field.start(2) if field[2] is not None else field.end()
        end = field.end()
        data.append(value)
    return Frame(raw, b"\n".join(data), start, end, name.decode("utf-8", "replace"))


class LineFrames:
    """Frames of JSON lines."""

    def __init__(self) -> None:
        self._rest = b""

    @property
    def is_between(self) -> bool:
        """True if no line has begun."""
        return not self._rest

    def feed(self, data: bytes) -> list[Frame]:
        """Return the lines that end in these bytes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MOST_MESSAGE_BYTES:
            rest, self._rest = self._rest, b""
            return [*(line_frame(line + b"\n") for line in lines), Frame(rest)]
        return [line_frame(line + b"\n") for line in lines]

    def end(self) -> list[Frame]:
        """Return the last line, which may lack its line end."""
        rest, self._rest = self._rest, b""
        return [line_frame(rest)] if rest else []


def line_frame(raw: bytes) -> Frame:
    """Return the frame of one line with its line end."""
    payload = raw.strip()
    start = raw.find(payload)
    return Frame(raw, payload, start, start + len(payload))


class ArrayFrames:
    """Frames of the objects in one JSON array. Brackets and separators belong to the frame behind them."""

    def __init__(self) -> None:
        self._rest = b""
        self._seen = 0
        self._depth = 0
        self._start = 0
        self._is_text = False
        self._has_begun = False
        self._whole: WholeFrames | None = None
        """Set if the body is no array."""

    @property
    def is_between(self) -> bool:
        """Always False: separators belong to the frame behind them."""
        return False

    def feed(self, data: bytes) -> list[Frame]:
        """Return the objects that end in these bytes."""
        if self._whole is not None:
            return self._whole.feed(data)
        self._rest += data
        if not self._has_begun and (begun := self._rest.removeprefix(_BOM).lstrip()):
            self._has_begun = True
            if begun[:1] != b"[":
                self._whole = WholeFrames()
                return self._whole.feed(self._rest)
        frames: list[Frame] = []
        begin, at = 0, self._seen
        while (mark := _INTERESTING.search(self._rest, at)) is not None:
            at = mark.end()
            byte = mark[0]
            if byte == b"\\":
                if at == len(self._rest):
                    at -= 1  # The escaped character has not come yet.
                    break
                at += 1
            elif byte == b'"':
                self._is_text = not self._is_text
            elif self._is_text:
                continue
            elif byte in b"{[":
                self._depth += 1
                if self._depth == 2:
                    self._start = mark.start()
            else:
                self._depth -= 1
                if self._depth == 1:
                    raw = self._rest[begin:at]
                    start = self._start - begin
                    frames.append(Frame(raw, raw[start:], start, len(raw)))
                    begin = at
        else:
            at = len(self._rest)
        if at - begin > MOST_MESSAGE_BYTES:
            frames.append(Frame(self._rest[begin:at]))
            begin = at
        self._rest = self._rest[begin:]
        self._seen = at - begin
        self._start -= begin
        return frames

    def end(self) -> list[Frame]:
        """Return what follows the last object: the closing bracket, or an object that was cut off."""
        if self._whole is not None:
            return self._whole.end()
        rest, self._rest, self._seen = self._rest, b"", 0
        return [Frame(rest)] if rest else []


class ArrayJoiner:
    """Puts separators right where objects of an array were added, dropped or moved."""

    def __init__(self) -> None:
        self._has_bracket = False
        self._has_object = False

    def join(self, raw: bytes, start: int, *, is_object: bool) -> bytes:
        """Return the bytes of the next frame; unchanged if it stands where it stood."""
        if not is_object:
            self._has_bracket |= raw.lstrip().startswith(b"[")
            if not self._has_bracket and raw.strip() == b"]":
                return b"[" + raw
            return raw
        lead, rest = raw[:start], raw[start:]
        has_comma, has_bracket = b"," in lead, b"[" in lead
        if has_comma != self._has_object or has_bracket == self._has_bracket:
            blank = lead.replace(b",", b"").replace(b"[", b"")
            lead = (b"" if self._has_bracket else b"[") + (b"," if self._has_object else b"") + blank
        self._has_bracket = self._has_object = True
        return lead + rest


class WholeFrames:
    """One frame: the whole body, at its end."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def is_between(self) -> bool:
        """Always False: there is one frame."""
        return False

    def feed(self, data: bytes) -> list[Frame]:
        """Keep the bytes; return them as they are if there are too many."""
        if self._size > MOST_MESSAGE_BYTES:
            return [Frame(data)]
        self._parts.append(data)
        self._size += len(data)
        if self._size <= MOST_MESSAGE_BYTES:
            return []
        parts, self._parts = self._parts, []
        return [Frame(b"".join(parts))]

    def end(self) -> list[Frame]:
        """Return the whole body."""
        raw, self._parts = b"".join(self._parts), []
        if not raw:
            return []
        payload = raw.removeprefix(_BOM).strip()
        start = raw.find(payload)
        return [Frame(raw, payload, start, start + len(payload))]


READERS: dict[Framing, type[SseFrames] | type[LineFrames] | type[ArrayFrames] | type[WholeFrames]] = {
    "sse": SseFrames,
    "lines": LineFrames,
    "array": ArrayFrames,
    "whole": WholeFrames,
}

SILENCE: dict[Framing, bytes] = {"sse": COMMENT, "lines": b"\n", "array": b"\n", "whole": b" "}
"""Bytes that keep a connection busy and that readers of the framing skip."""


def framed(framing: Framing, payload: bytes, name: str = "") -> bytes:
    """Return the bytes of one unit. Elements of an array get their separators from `ArrayJoiner`."""
    if framing == "sse":
        head = b"event: " + name.encode() + b"\n" if name else b""
        return head + b"data: " + payload + b"\n\n"
    return payload + b"\n" if framing == "lines" else payload
