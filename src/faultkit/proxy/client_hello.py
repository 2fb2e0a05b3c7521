"""The first message of a TLS client, the ClientHello: which server it names and which protocols it offers.

It is read before the handshake begins, because the answer depends on it: the certificate, and what is offered
to the upstream. Nothing else of TLS is read here (RFC 8446 §4.1.2, §5.1; RFC 6066 §3; RFC 7301 §3.1). Pure.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

MOST_BYTES = 65536
"""Size of a ClientHello beyond which it is refused; real ones have 200 to 4,000 bytes."""

_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _ALPN = 0, 16
_RECORD_HEADER = 5
_EXTENSION = struct.Struct(">HH")
"""Kind and size."""


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
    except (IndexError, UnicodeDecodeError, struct.error):
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


def _read(body: bytes) -> ClientHello:
    place = 2 + 32  # Behind the version and the random bytes.
    for size_bytes in (1, 2, 1):  # Session, cipher suites, compression methods.
        place = _end_of_vector(body, place, size_bytes)
    if place == len(body):
        return ClientHello()
    extensions = body[place + 2 : _end_of_vector(body, place, 2)]
    server_name: str | None = None
    protocols: tuple[str, ...] = ()
    place, end = 0, len(extensions)
    while place < end:
        kind, size = _EXTENSION.unpack_from(extensions, place)
        begin, place = place + 4, place + 4 + size
        if place > end:
            raise IndexError
        if kind == _SERVER_NAME:
            server_name = _server_name(_only_vector(extensions[begin:place]))
        elif kind == _ALPN:
            protocols = _protocols(_only_vector(extensions[begin:place]))
    return ClientHello(server_name, protocols)


def _only_vector(data: bytes) -> bytes:
    return data[2 : _end_of_vector(data, 0, 2)]


def _end_of_vector(data: bytes, place: int, size_bytes: int) -> int:
    """Return the end of bytes that their length precedes. Raises IndexError."""
    begin = place + size_bytes
    end = begin + int.from_bytes(data[place:begin], "big")
    if end > len(data):
        raise IndexError
    return end


def _server_name(names: bytes) -> str | None:
    place = 0
    while place < len(names):
        begin, end = place + 3, _end_of_vector(names, place + 1, 2)
        if names[place] == 0:  # The kind: the name of a host.
            return names[begin:end].decode("ascii").lower().removesuffix(".")
        place = end
    return None


def _protocols(names: bytes) -> tuple[str, ...]:
    found, place = [], 0
    while place < len(names):
        begin, place = place + 1, _end_of_vector(names, place, 1)
        found.append(names[begin:place].decode("latin-1"))
    return tuple(found)
