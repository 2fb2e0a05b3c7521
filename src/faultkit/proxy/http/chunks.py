"""How far a chunked body goes in a buffer: sizes, extensions and trailers, over any cuts.

It only counts; the bytes stay with the framer. A size line, the CRLF after a chunk and a trailer line
are passed over whole, so that a bad one is refused before any of it has passed.
"""

from __future__ import annotations

import re

MAX_TRAILER_BYTES = 65536
_MAX_SIZE_LINE_BYTES = 4096
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_PARTIAL_SIZE_LINE = re.compile(rb"[0-9A-Fa-f]{1,15}[ \t]*(?:;[^\r\n]*)?\r?")


class Chunks:
    """One chunked body."""

    __slots__ = ("_in_trailers", "_left", "_trailer_bytes", "ended", "problem")

    def __init__(self) -> None:
        self._left = 0
        """What remains of the chunk under way, with the CRLF after it."""
        self._in_trailers = False
        self._trailer_bytes = 0
        self.ended = False
        self.problem: str | None = None

    def walk(self, buffer: bytes, pos: int) -> int:
        """The position up to which `buffer` is this body. Then look at `ended` and `problem`."""
        end = len(buffer)
        while not self._in_trailers:
            if self._left > 2:
                step = min(self._left - 2, end - pos)
                pos += step
                self._left -= step
            if self._left:
                if not self._crlf(buffer, pos):
                    return pos
                pos += 2
                self._left = 0
            line = _SIZE_LINE.match(buffer, pos)
            if line is None:
                partial = pos == end or _PARTIAL_SIZE_LINE.fullmatch(buffer, pos)
                if not partial or end - pos > _MAX_SIZE_LINE_BYTES:
                    self.problem = "bad chunk size"
                return pos
            pos = line.end()
            size = int(line[1], 16)
            self._left = size + 2 if size else 0
            self._in_trailers = size == 0
        return self._walk_trailers(buffer, pos)

    def _crlf(self, buffer: bytes, pos: int) -> bool:
        found = buffer[pos : pos + 2]
        if found not in (b"", b"\r", b"\r\n"):
            self.problem = "a chunk does not end where its size says"
        return found == b"\r\n"

    def _walk_trailers(self, buffer: bytes, pos: int) -> int:
        while not self.ended:
            eol = buffer.find(b"\r\n", pos)
            line = buffer[pos:eol] if eol >= 0 else buffer[pos:]
            if b"\n" in line or b"\r" in (line if eol >= 0 else line[:-1]):
                self.problem = "bare CR or LF in a trailer"
            elif self._trailer_bytes + len(line) > MAX_TRAILER_BYTES:
                self.problem = f"trailer section over {MAX_TRAILER_BYTES} bytes"
            if eol < 0 or self.problem is not None:
                break
            pos = eol + 2
            self._trailer_bytes += len(line) + 2
            self.ended = not line
        return pos
