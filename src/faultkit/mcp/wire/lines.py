"""Lines of the stdio transport out of a stream of bytes, none longer than a limit. Pure."""

from __future__ import annotations

MOST_BYTES = 64 << 20
"""A longer line is dropped while it comes in: nobody may fill our memory."""


class TooLong:
    """Stands for a line that was dropped because of its length."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size


class LineReader:
    """Feeds on bytes as they come, and gives the lines that end in them, without their ends."""

    __slots__ = ("_dropped", "_limit", "_parts", "_size")

    def __init__(self, limit: int = MOST_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._dropped = 0

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        # Most reads hold whole lines, so that the common way is a single split.
        pieces = data.split(b"\n")
        lines: list[bytes | TooLong] = []
        for piece in pieces[:-1]:
            self._keep(piece)
            line = self._take()
            if line is not None:
                lines.append(line)
        self._keep(pieces[-1])
        return lines

    def _keep(self, piece: bytes) -> None:
        if self._dropped:
            self._dropped += len(piece)
        elif self._size + len(piece) > self._limit:
            self._dropped = self._size + len(piece)
            self._parts.clear()
            self._size = 0
        elif piece:
            self._parts.append(piece)
            self._size += len(piece)

    def _take(self) -> bytes | TooLong | None:
        """The line that ends here; None for an empty one."""
        if self._dropped:
            line: bytes | TooLong = TooLong(self._dropped)
            self._dropped = 0
            return line
        whole = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        whole = whole.removesuffix(b"\r")
        return whole if whole.strip() else None
