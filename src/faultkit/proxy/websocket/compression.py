"""What the peers have agreed on (Sec-WebSocket-Extensions), and compressed messages made readable.

With context takeover a message is compressed with the help of those before it (RFC 7692 §7.1.1), so a
connection is read from its first message on or not at all. A message becomes at most a thousand times as
long, so output is limited.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

_TAIL = b"\x00\x00\xff\xff"
"""What a sender leaves out at the end of a message (RFC 7692 §7.2.1)."""
_BLOCK = 1 << 16
MOST_INFLATED = 64 << 20
"""Bytes that one compressed message may have when it is read."""


class CannotInflate(Exception):
    """A compressed message that cannot be read, with the close code that says so."""

    def __init__(self, why: str, code: int) -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, slots=True)
class Deflate:
    """The agreed permessage-deflate, as far as the messages of one way are concerned."""

    takeover: bool = True
    """Whether a message may refer to those before it."""
    window_bits: int = 15


@dataclass(frozen=True, slots=True)
class Extensions:
    """What the peers have agreed on."""

    to_client: Deflate | None = None
    to_upstream: Deflate | None = None
    unknown: str = ""
    """Names of extensions that are not understood here: messages may mean anything."""


def read_extensions(accepted: str | None) -> Extensions:
    """Return what the field of an answer means."""
    found = Extensions()
    for text in (accepted or "").split(","):
        name, *parameters = (part.strip() for part in text.split(";"))
        if name == "permessage-deflate" and found == Extensions():
            found = _deflate(dict(_parameter(each) for each in parameters)) or Extensions(unknown=name)
        elif name:
            found = Extensions(unknown=name)
            break
    return found


def _parameter(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip().strip('"')


def _deflate(parameters: dict[str, str]) -> Extensions | None:
    ways: list[Deflate] = []
    for side in ("server", "client"):
        bits = parameters.get(f"{side}_max_window_bits", "15")
        if bits not in map(str, range(8, 16)):
            return None
        ways.append(Deflate(f"{side}_no_context_takeover" not in parameters, int(bits)))
    return Extensions(ways[0], ways[1])


class Inflater:
    """Reads the compressed messages of one way."""

    __slots__ = ("_inflated", "_takeover", "_zlib")

    def __init__(self, agreed: Deflate) -> None:
        self._takeover = agreed.takeover
        # A larger window than the sender's reads everything that the sender's reads.
        self._zlib = zlib.decompressobj(-15)
        self._inflated = 0

    def feed(self, payload: bytes, *, ends: bool) -> Iterator[bytes]:
        """Yield the content of a part of a message, in blocks. Raises CannotInflate."""
        waiting = payload + _TAIL if ends else payload
        while waiting:
            try:
                block = self._zlib.decompress(waiting, _BLOCK)
            except zlib.error:
                raise CannotInflate("a compressed message that is damaged", 1007) from None
            waiting = self._zlib.unconsumed_tail
            self._inflated += len(block)
            if self._inflated > MOST_INFLATED:
                raise CannotInflate(f"a compressed message of more than {MOST_INFLATED >> 20} MiB", 1009)
            if block:
                yield block
            if self._zlib.eof:
                # Allowed by RFC 7692 §7.2.3.4, and hardly ever used: what follows needs the old window.
                raise CannotInflate("a compressed message with a final block", 1011)
        if ends:
            self._inflated = 0
            if not self._takeover:
                self._zlib = zlib.decompressobj(-15)
