"""gRPC on top of HTTP/2: where messages end, how a status is written, and when a deadline is over.

A body of gRPC is a row of messages, each behind five bytes: a flag and the length.
"""

from __future__ import annotations

import math
import re

_PREFIX = 5
_TIMEOUT = re.compile(rb"([0-9]{1,8})([HMSmun])")
_UNITS_S = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}

Field = tuple[bytes, bytes]


class MessageCounter:
    """Counts the messages of one body, however its bytes are cut."""

    __slots__ = ("_left", "_prefix", "complete")

    def __init__(self) -> None:
        self.complete = 0
        """Messages that have come whole."""
        self._prefix = b""
        self._left = 0
        """Bytes of the current message that are still to come."""

    def end_of(self, count: int, payload: bytes) -> int | None:
        """Read on, and return how much of `payload` belongs to the first `count` messages of the body.

        None: all of it does, and the last of them is not complete yet."""
        place, size = 0, len(payload)
        while self.complete < count and place < size:
            if not self._left:
                step = min(_PREFIX - len(self._prefix), size - place)
                self._prefix += payload[place : place + step]
                place += step
                if len(self._prefix) < _PREFIX:
                    break
                self._left, self._prefix = int.from_bytes(self._prefix[1:], "big"), b""
            else:
                step = min(self._left, size - place)
                place += step
                self._left -= step
            self.complete += not self._left
        return place if self.complete >= count else None


def is_grpc(content_type: bytes) -> bool:
    """Return whether a request with this content-type is a gRPC call. gRPC-Web is not: it has no trailers."""
    return re.match(rb"application/grpc($|[+;\s])", content_type) is not None


def timeout_s(value: bytes) -> float:
    """Return the seconds of a `grpc-timeout` field; infinity if it cannot be read."""
    found = _TIMEOUT.fullmatch(value)
    return math.inf if found is None else int(found[1]) * _UNITS_S[found[2]]


def status_fields(status: int, message: str) -> list[Field]:
    """Return the fields of a status. Its message is percent-encoded."""
    fields = [(b"grpc-status", str(status).encode())]
    if message:
        text = "".join(
            chr(byte) if 0x20 <= byte <= 0x7E and byte != 0x25 else f"%{byte:02X}"
            for byte in message.encode()
        )
        fields.append((b"grpc-message", text.encode()))
    return fields


STATUS_FIELDS = frozenset((b"grpc-status", b"grpc-message", b"grpc-status-details-bin"))
"""The fields that tell how a call has ended."""
