"""What is sent on a stream, and since when it may go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from faultkit.proxy.http2.leg import Fields


@dataclass(frozen=True, slots=True)
class Head:
    """A block of header fields: of a request, of an answer, or trailers."""

    at: float
    """When it may be sent; likewise below. What stands behind it waits with it."""
    fields: Fields
    ends: bool


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a body."""

    at: float
    payload: bytes
    credit: int
    """Bytes of its sender's window that it took: padding counts, too."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of a body without trailers."""

    at: float


@dataclass(frozen=True, slots=True)
class Abort:
    """RST_STREAM."""

    at: float
    code: int


@dataclass(frozen=True, slots=True)
class HangUp:
    """GOAWAY, and the end of the connection."""

    at: float


Item: TypeAlias = Head | Chunk | End | Abort | HangUp
