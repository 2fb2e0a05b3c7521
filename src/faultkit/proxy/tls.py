"""One end of TLS, here the client's, without sockets: plain bytes on one side, records on the other.

Faults of the server side act on the records, as they would on the wire, the handshake included; faults
of the client side act on what the client sends: plain bytes, or records of its own (`client_tls`).
"""

from __future__ import annotations

import contextlib
import ssl
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache

from faultkit.base.address import Verify
from faultkit.base.certificates import add_certificate, client_context
from faultkit.faults.events import Eof, Event
from faultkit.proxy.direction_source import Irregular
from faultkit.proxy.native import native

_READ = 16384
"""As much as a record can hold (RFC 8446 §5.1): nothing of it is then left behind in the TLS object."""
_ENDS = (ssl.SSLZeroReturnError, ssl.SSLEOFError)
_WANTS = (ssl.SSLWantReadError, ssl.SSLWantWriteError)
_MOST_SESSIONS = 256
_sessions: OrderedDict[tuple[ssl.SSLContext, str], ssl.SSLSession] = OrderedDict()
"""The latest session with each server (RFC 8446 §2.2): resuming one saves most of a handshake. A context and
a name stand for a verified server: a session is used for no other."""


@lru_cache(maxsize=16)
def tls_context(
    verify: Verify, *, protocols: tuple[str, ...] = (), identity: tuple[str, str] | None = None
) -> ssl.SSLContext:
    """Return the context that all connections share, because loading the system's certificates is slow.

    protocols: what the upstream is offered by ALPN (RFC 7301); none: it speaks HTTP/1.1 or what it likes
    identity:  PEM files of a certificate and its key, for upstreams that ask for them (mutual TLS)"""
    context = client_context(verify)
    if identity is not None:
        add_certificate(context, *identity, ("--upstream-cert", "--upstream-key"))
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


class TlsLeg:
    """One end of a TLS connection, here the client's. Raises ssl.SSLError if the handshake fails."""

    __slots__ = (
        "_error",
        "_finished",
        "_host",
        "_incoming",
        "_knows_session",
        "_outgoing",
        "_tls",
        "_waiting",
        "ended",
        "finishing",
        "ready",
        "started",
        "waiting_bytes",
    )

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._host = host
        self._knows_session = not host
        """The session of this connection has been kept, or is not to be."""
        self._error: ssl.SSLError | None = None
        """Why `decrypt_now` has failed: OpenSSL says it once."""
        self._finished = False
        """Nothing can be sent any more: close_notify or an alert has ended this side."""
        self.use(context)
        self._waiting: list[bytes] = []
        self.waiting_bytes = 0
        """Plain bytes that wait for the end of the handshake."""
        self.finishing = False
        """True if close_notify follows once those have been sent."""
        self.started = False
        """The handshake has begun."""
        self.ready = False
        """The handshake is done."""
        self.ended = False
        """The upstream has sent close_notify."""

    def use(self, context: ssl.SSLContext) -> None:
        """Use another context, before the handshake has begun."""
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=self._host)

    @property
    def protocol(self) -> str | None:
        """What the upstream has agreed to speak (ALPN), once the handshake is done."""
        return self._tls.selected_alpn_protocol()

    @property
    def awaits_judgement(self) -> bool:
        """Whether the server may still refuse this client's certificate, or that there is none, by what it
        sends next (TLS 1.3)."""
        return self.ready and self._tls.version() == "TLSv1.3" and not self._tls.session_reused

    @property
    def ends(self) -> tuple[ssl.MemoryBIO, ssl.MemoryBIO, object]:
        """Where records come in and go out, and what has `read` and `write` for the bytes between."""
        # The object that SSLObject stands before does the same without a call of Python.
        return self._incoming, self._outgoing, getattr(self._tls, "_sslobj", self._tls)

    def start(self) -> bytes:
        """Start the handshake, and return its first records."""
        known = _sessions.get((self._tls.context, self._host))
        if known is not None:
            self._tls.session = known
        self._shake()
        return self.records()

    def encrypt(self, plain: bytes) -> None:
        """Encrypt bytes; `records` returns the result once the handshake is done. What comes after the end of
        this side is dropped."""
        if self.ready:
            self._write(plain)
        else:
            self._waiting.append(plain)
            self.waiting_bytes += len(plain)

    def decrypt(self, records: bytes) -> bytes:
        """Return the plain bytes of records; there may be records to send afterwards."""
        if self._error is not None:
            raise self._error
        self._incoming.write(records)
        if not self.ready:
            self._shake()
        pieces: list[bytes] = []
        while self.ready and not self.ended:
            try:
                piece = self._tls.read(_READ)
            except ssl.SSLWantReadError:
                break
            except _ENDS:
                piece = b""
            if not piece:
                self.ended = True
                break
            pieces.append(piece)
            # Finding this out by an exception would cost more than the decryption.
            if not self._incoming.pending:
                break
        if not self._knows_session and (pieces or self.ended):
            self._keep_session()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def decrypt_now(self, records: bytes) -> bytes:
        """Return the plain bytes of records, if they are data and nothing else. Raises Irregular."""
        incoming, read = self._incoming, self._tls.read
        incoming.write(records)
        pieces: list[bytes] = []
        is_regular = True
        try:
            while piece := read(_READ):
                pieces.append(piece)
                if not incoming.pending:
                    break
            else:
                is_regular = False  # The end of the stream.
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            self.note_failure(error)
            is_regular = False
        plain = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if not is_regular or self._outgoing.pending:
            raise Irregular(plain)
        return plain

    def note_failure(self, error: Exception) -> None:
        """Keep why `decrypt_now` has failed, until `decrypt` is called. The end of the stream comes again."""
        if not isinstance(error, ssl.SSLError):
            raise error
        if not isinstance(error, _ENDS):
            self._error = error

    def encrypt_now(self, plain: bytes) -> bytes:
        """Return the records of plain bytes; the handshake is done."""
        self._write(plain)
        return self._outgoing.read()

    def records(self) -> bytes:
        """Return the records to send to the upstream."""
        return self._outgoing.read()

    def finish(self, *, truncated: bool = False) -> None:
        """Send close_notify (RFC 8446 §6.1), but not after bytes that are cut off."""
        if not self._knows_session and self.ready:
            self._keep_session()
        self._finished = True
        if truncated:
            return
        # `unwrap` also waits for the peer's close_notify, which may come later or never.
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()

    def _write(self, plain: bytes) -> None:
        if self._finished:
            return
        try:
            self._tls.write(plain)
        except _WANTS:
            raise
        except ssl.SSLError:
            self._finished = True  # An alert was sent or received: reading has reported it, or will.

    def end_of_stream(self, event: Eof) -> list[Event]:
        """Return what the peer's FIN means for the plain stream: nothing after its close_notify."""
        return [] if self.ended else [Eof(event.at, truncated=self.ready)]

    def _keep_session(self) -> None:
        """Keep the session for the next connection, if the server has sent a ticket for it."""
        if self._tls.session_reused:
            self._knows_session = True  # It may serve again; a copy costs as much as it saves.
            return
        session = self._tls.session
        if session is not None and session.has_ticket:
            self._knows_session = True
            key = (self._tls.context, self._host)
            _sessions[key] = session
            _sessions.move_to_end(key)
            while len(_sessions) > _MOST_SESSIONS:
                _sessions.popitem(last=False)

    def _shake(self) -> None:
        self.started = True
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return
        self.ready = True
        for plain in self._waiting:
            self._write(plain)
        self._waiting.clear()
        self.waiting_bytes = 0


def straight(reading: TlsLeg | None, writing: TlsLeg | None) -> Callable[[bytes], bytes]:
    """Return a function from what comes from one socket to what goes to the other, where nothing looks at
    the plain bytes between two legs whose handshakes are done. None: that side speaks no TLS.

    The function raises Irregular. Compiled code does not call it, but does the same with the sockets."""
    convert = _conversion(reading, writing)
    if native is None:
        return convert
    from_source = None if reading is None else (*reading.ends, reading.note_failure)
    to_target = None if writing is None else writing.ends[1:]
    passing: Callable[[bytes], bytes] = native.Straight(convert, ssl.SSLWantReadError, from_source, to_target)
    return passing


def _conversion(reading: TlsLeg | None, writing: TlsLeg | None) -> Callable[[bytes], bytes]:
    if reading is None:
        assert writing is not None
        return writing.encrypt_now
    if writing is None:
        return reading.decrypt_now
    decrypt, encrypt = reading.decrypt_now, writing.encrypt_now

    def convert(records: bytes) -> bytes:
        try:
            plain = decrypt(records)
        except Irregular as found:
            raise Irregular(encrypt(found.payload) if found.payload else b"") from None
        return encrypt(plain) if plain else b""

    return convert
