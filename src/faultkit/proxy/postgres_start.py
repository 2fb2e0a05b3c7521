"""How a PostgreSQL connection becomes TLS, without I/O (PostgreSQL, "SSL Session Encryption").

A server speaks TLS only after it was asked (SSLRequest) and has agreed by one byte. The client's side of a
map is in the clear: a client that asks for encryption is told `N`, and goes on without unless it insists.
"""

from __future__ import annotations

SSL_REQUEST = bytes.fromhex("0000000804d2162f")
_GSS_REQUEST = bytes.fromhex("0000000804d21630")
_REQUESTS = (SSL_REQUEST, _GSS_REQUEST)
_NO = b"N"


class PostgresStart:
    """The first bytes of both sides, before TLS."""

    __slots__ = ("_first", "_is_settled")

    def __init__(self) -> None:
        self._first = b""
        """The client's bytes while they may still become a request for encryption."""
        self._is_settled = False

    def from_client(self, data: bytes, at_end: bool = False) -> tuple[bytes, bytes]:
        """Return what the client is answered, and the bytes that go on to the server.

        at_end: nothing will follow, so that nothing is kept back"""
        if self._is_settled:
            return b"", data
        first, answer = self._first + data, b""
        while first.startswith(_REQUESTS):
            first, answer = first[len(SSL_REQUEST) :], answer + _NO
        if not at_end and any(request.startswith(first) for request in _REQUESTS):
            self._first = first
            return answer, b""
        self._first, self._is_settled = b"", True
        return answer, first


def why_no_tls(answer: bytes) -> str | None:
    """Return why the server's answer to SSLRequest is no agreement to TLS; None if it is."""
    if answer == b"S":
        return None
    if answer == _NO:
        return "TLS: the server does not offer it (its answer to SSLRequest is N)"
    # Bytes behind the S were not protected, and could come from an attacker (CVE-2021-23222).
    return f"TLS: expected S or N as the answer to SSLRequest, got {answer[:40]!r}"
