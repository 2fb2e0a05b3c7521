"""The first message of a TLS client, the ClientHello: which server it names and which protocols it offers.

It is read before the handshake begins, because the answer depends on it: the certificate, and what is offered
to the upstream. Nothing else of TLS is read here (RFC 8446 §4.1.2, §5.1; RFC 6066 §3; RFC 7301 §3.1). Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_BYTES = 65536
"""Size of a ClientHello beyond which it is refused; real ones have 200 to 4,000 bytes."""

_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _ALPN = 0, 16
_RECORD_HEADER = 5


@dataclass(frozen=True, slots=True)
class ClientHello:
    """What a client has said."""

    server_name: str | None = None
    """In lower case. None: it names none, as with an IP address."""
    protocols: tuple[str, ...] = ()
    """Those of ALPN, the preferred one first."""


class NotTls(ValueError):
    """The bytes are no ClientHello."""


def read_client_hello(data: bytes) -> ClientHello | None:
    """Return the ClientHello at the beginning of a stream; None if more bytes are needed. Raises NotTls."""
    message = _first_message(data)
    if message is None:
        if len(data) > MOST_BYTES:
            raise NotTls("its ClientHello is too long")
        return None
    try:
        return _read(message)
    except (IndexError, UnicodeDecodeError):
        raise NotTls("its ClientHello is malformed") from None


def _first_message(data: bytes) -> bytes | None:
    """Return the body of the first handshake message, which may span several records."""
    body = bytearray()
    place = 0
    while True:
        header = data[place : place + _RECORD_HEADER]
        if header and header[0] != _HANDSHAKE:
            raise NotTls("it speaks no TLS")
        if len(header) >= 2 and header[1] != 3:
            raise NotTls("it speaks no TLS")
        if len(header) < _RECORD_HEADER:
            return None
        size = int.from_bytes(header[3:5], "big")
        place += _RECORD_HEADER
        body += data[place : place + size]
        if body and body[0] != _CLIENT_HELLO:
            raise NotTls("it does not begin with a ClientHello")
        if len(body) >= 4:
            wanted = 4 + int.from_bytes(body[1:4], "big")
            if wanted > MOST_BYTES:
                raise NotTls("its ClientHello is too long")
            if len(body) >= wanted:
                return bytes(body[4:wanted])
        if len(data) < place + size:
            return None
        place += size


class _Reader:
    """A cursor. Raises IndexError where bytes are missing."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def take(self, size: int) -> bytes:
        if self.left < size:
            raise IndexError
        self._at += size
        return self._data[self._at - size : self._at]

    def vector(self, size_bytes: int) -> _Reader:
        """Return a reader of bytes that their length precedes."""
        return _Reader(self.take(self.number(size_bytes)))

    def rest(self) -> bytes:
        return self.take(self.left)


def _read(body: bytes) -> ClientHello:
    reader = _Reader(body)
    reader.take(2 + 32)  # Version and random.
    for size_bytes in (1, 2, 1):  # Session, cipher suites, compression methods.
        reader.vector(size_bytes)
    if not reader.left:
        return ClientHello()
    extensions = reader.vector(2)
    server_name: str | None = None
    protocols: tuple[str, ...] = ()
    while extensions.left:
        kind = extensions.number(2)
        content = extensions.vector(2)
        if kind == _SERVER_NAME:
            server_name = _server_name(content.vector(2))
        elif kind == _ALPN:
            names = content.vector(2)
            found = []
            while names.left:
                found.append(names.vector(1).rest().decode("latin-1"))
            protocols = tuple(found)
    return ClientHello(server_name, protocols)


def _server_name(names: _Reader) -> str | None:
    while names.left:
        kind, name = names.number(1), names.vector(2).rest()
        if kind == 0:
            return name.decode("ascii").lower().removesuffix(".")
    return None
