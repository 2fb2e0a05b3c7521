"""Lines of the stdio transport out of a stream of bytes, none longer than a limit. Pure."""

from __future__ import annotations

MOST_BYTES = 64 << 20
"""A longer line is dropped while it comes in: nobody may fill our memory."""


_HEAD_BYTES = 1024


class TooLong:
    """Stands for a line that was dropped because of its length."""

    __slots__ = ("head", "limit", "size", "tail")

    def __init__(self, size: int, limit: int = MOST_BYTES, head: bytes = b"", tail: bytes = b"") -> None:
        self.size = size
        self.limit = limit
        self.head = head
        """How it began: enough to see what it was."""
        self.tail = tail
        """How it ended."""

    def __str__(self) -> str:
        return f"{self.size} bytes, above the limit of {self.limit} bytes"


class LineReader:
    """Feeds on bytes as they come, and gives the lines that end in them, without their ends."""

    __slots__ = ("_dropped", "_head", "_limit", "_parts", "_size", "_tail")

    def __init__(self, limit: int = MOST_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._dropped = 0
        self._head = self._tail = b""

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        if not self._size and not self._dropped and data.find(b"\n") == len(data) - 1 <= self._limit:
            # Of a client that waits for each reply, every read is a line.
            whole = data[:-1].removesuffix(b"\r")
            return [whole] if whole.strip() else []
        pieces = data.split(b"\n")
        lines: list[bytes | TooLong] = []
        for piece in pieces[:-1]:
            self._keep(piece)
            line = self._take()
            if line is not None:
                lines.append(line)
        self._keep(pieces[-1])
        return lines

    def end(self) -> list[bytes | TooLong]:
        """The last line, of a stream that has ended without the end of it."""
        line = self._take()
        return [] if line is None else [line]

    def _keep(self, piece: bytes) -> None:
        if self._dropped:
            self._dropped += len(piece)
            self._tail = (self._tail + piece[-_HEAD_BYTES:])[-_HEAD_BYTES:]
        elif self._size + len(piece) > self._limit:
            self._dropped = self._size + len(piece)
            self._head = _beginning(self._parts, piece)
            self._tail = piece[-_HEAD_BYTES:]
            self._parts.clear()
            self._size = 0
        elif piece:
            self._parts.append(piece)
            self._size += len(piece)

    def _take(self) -> bytes | TooLong | None:
        """The line that ends here; None for an empty one."""
        if self._dropped:
            line: bytes | TooLong = TooLong(self._dropped, self._limit, self._head, self._tail)
            self._dropped, self._head, self._tail = 0, b"", b""
            return line
        whole = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        whole = whole.removesuffix(b"\r")
        return whole if whole.strip() else None


def _beginning(parts: list[bytes], last: bytes) -> bytes:
    head = b""
    for part in (*parts, last):
        head += part[: _HEAD_BYTES - len(head)]
        if len(head) >= _HEAD_BYTES:
            break
    return head
