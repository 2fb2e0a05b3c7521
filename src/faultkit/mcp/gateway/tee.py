"""A second look at an answer while it passes: its messages, for recordings. It never stands in the way."""

from __future__ import annotations

from collections.abc import Callable

from faultkit.mcp.wire.message import Incoming, read
from faultkit.mcp.wire.sse import MOST_BYTES, SseReader, SseTooLong


class Tee:
    def __init__(self, is_stream: bool, heard: Callable[[Incoming], None]) -> None:
        self._heard = heard
        self._reader: SseReader | None = SseReader() if is_stream else None
        self._parts: list[bytes] | None = None if is_stream else []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        if self._reader is not None:
            try:
                events = self._reader.feed(chunk)
            except SseTooLong:
                # Too long for us is not too long for the client.
                self._reader = None
                return
            for event in events:
                if event.data:
                    self._heard(read(event.data))
        elif self._parts is not None:
            self._size += len(chunk)
            if self._size > MOST_BYTES:
                self._parts = None
            else:
                self._parts.append(chunk)

    def end(self) -> None:
        if self._parts:
            self._heard(read(b"".join(self._parts)))
