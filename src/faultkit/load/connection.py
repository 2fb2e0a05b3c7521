"""One connection of the load engine, and the request that is under way on it.

    connect → tunnel (CONNECT) → TLS → ask → answer → idle → ask …

Each stage is a handler of the loop, and records its instants. The engine is called once for every request:
`answered`, `failed`, `crossed` or `starved`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Iterable
from typing import Protocol

from faultkit.base.descriptors import SHORTAGES
from faultkit.load.connection_fields import ConnectionFields
from faultkit.load.native import Exchange
from faultkit.load.response import (
    NOT_HTTP,
    Failure,
    ResponseReader,
    failure_of,
    proxy_trouble,
)
from faultkit.load.route import Route
from faultkit.proxy.event_loop import ENDED, READABLE, WRITABLE, Loop
from faultkit.proxy.http.framing import MAX_HEAD_BYTES
from faultkit.proxy.http.heads import read_response_head
from faultkit.proxy.sockets import (
    NO_SOCKET,
    Address,
    close_socket,
    connector_to,
    has_acknowledged,
    is_connected,
    socket_error,
)
from faultkit.proxy.tls import TlsLeg, tls_context

_READ_BYTES = 65536


class ConnectionOwner(Protocol):
    """What a connection needs of its engine."""

    loop: Loop
    route: Route
    exchange: Exchange | None
    """What its connections share in C; None where every step is Python."""

    def new_reader(self) -> ResponseReader:
        """Return what reads the answers of a connection."""

    def answered(self, connection: Connection, now: float) -> None:
        """Record a response."""

    def failed(self, connection: Connection, now: float, failure: Failure) -> None:
        """Record a failure."""

    def crossed(self, connection: Connection) -> None:
        """Handle a request that never arrived: the server closed the idle connection at the same moment."""

    def starved(self, connection: Connection) -> None:
        """Handle a request that cannot be sent: this machine has no descriptor or port left."""

    def arrived_at(self, address: Address) -> None:
        """Remember the address of the name that accepted the connection."""


class Connection(ConnectionFields):
    """One socket, and the request that is under way on it."""

    __slots__ = ()
    _owner: ConnectionOwner

    # --- getting there ------------------------------------------------------------------------

    def _dial(self, addresses: Iterable[Address]) -> None:
        self._addresses = list(addresses)
        self._try_next(errno.EHOSTUNREACH)

    def _dial_failed(self, addresses: Iterable[Address], code: int) -> None:
        """Go on after the first address has failed."""
        self._addresses = list(addresses)
        if self._may_try_next(code):
            self._try_next(code)

    def _try_next(self, code: int) -> None:
        while self._addresses:
            try:
                fd = connector_to(self._addresses[0])()
            except OSError as error:
                code = error.errno or code
                if not self._may_try_next(code):
                    return
                continue
            self.fd = fd
            self._await_connect(not is_connected(fd))  # On loopback it mostly is.
            return
        self._owner.failed(self, self._owner.loop.clock(), failure_of(code))

    def _may_try_next(self, code: int) -> bool:
        """Leave out the first address, which has failed by this error; return False if no other can help."""
        # Without a free port the code is EADDRNOTAVAIL; with IPv6 that can also mean no IPv6 at all.
        no_port = code == errno.EADDRNOTAVAIL and self._addresses[0][0] == socket.AF_INET
        if code in SHORTAGES or no_port:
            self._owner.starved(self)
            return False
        del self._addresses[0]
        return True

    def _await_connect(self, pending: bool) -> None:
        loop = self._owner.loop
        loop.handlers[self.fd] = self._on_connect
        loop.poller.add(self.fd, output=pending)
        if not pending:
            self._connected()

    def _on_connect(self, flags: int) -> None:
        code = socket_error(self.fd)
        if code:
            self.close()
            del self._addresses[0]
            self._try_next(code)
            return
        if not is_connected(self.fd):
            return  # The event was for another connection, which had this descriptor a moment ago.
        self._connected()
        self._pass_on(flags)

    def _pass_on(self, flags: int) -> None:
        """Give this edge to the next stage too: bytes may have come with it."""
        if flags != WRITABLE and self.fd >= 0:
            self._owner.loop.handlers[self.fd](flags)

    def _connected(self) -> None:
        owner = self._owner
        owner.arrived_at(self._addresses[0])
        if owner.route.tunnel:
            owner.loop.handlers[self.fd] = self._on_tunnel
            self._write(owner.route.tunnel)
        else:
            self._through(self._owner.loop.clock())

    def _on_tunnel(self, flags: int) -> None:
        """Read the proxy's response to CONNECT (RFC 9110 §9.3.6)."""
        try:
            data = os.read(self.fd, _READ_BYTES)
        except BlockingIOError:
            self._wait()
            return
        except OSError as error:
            self._lost(error.errno or 0)
            return
        if not data:
            self._lost(0)
            return
        self._granted += data
        end = self._granted.find(b"\r\n\r\n") + 4
        if end < 4 and len(self._granted) <= MAX_HEAD_BYTES:
            self._wait()
            return
        now = self._owner.loop.clock()
        try:
            granted = end == len(self._granted) and 200 <= read_response_head(self._granted).status < 300
        except ValueError:
            granted = False
        if granted:
            self._through(now)
            self._wait()
        else:
            self._fail(now, proxy_trouble(self._granted) or Failure.PROTOCOL)

    def _through(self, now: float) -> None:
        """Begin TLS or send the request: bytes reach the origin from here on."""
        self.connect_s = now - self._stage_began
        host = self._owner.route.tls_host
        if host is None:
            self._owner.loop.handlers[self.fd] = self.on_input
            self._ask()
            return
        self._stage_began = now
        self._tls = TlsLeg(tls_context(self._owner.route.verify), host)
        self._owner.loop.handlers[self.fd] = self.on_records
        self._write(self._tls.start())

    # --- asking -------------------------------------------------------------------------------

    def _ask(self) -> None:
        self._asked_at = self._sent
        if self._tls is None:
            self._write(self._request)
        else:
            self._tls.encrypt(self._request)
            self._write(self._tls.records())

    def _write(self, data: bytes) -> None:
        try:
            count = os.write(self.fd, data)
        except BlockingIOError:
            count = 0
        except OSError as error:
            self._write_failed(error.errno or errno.EPIPE)
            return
        self._sent += count
        if count < len(data):
            self._keep_unsent(data[count:])

    def _keep_unsent(self, rest: bytes) -> None:
        """Send the rest once the socket takes bytes again."""
        self._unsent = rest
        self._owner.loop.poller.await_output(self.fd)

    def _write_failed(self, code: int) -> None:
        if self.kept and self._sent == self._asked_at:
            self._cross()
            return
        # An answer may have come before the other side hung up: reading finds it, or the end. Not at once:
        # the caller may still be handling bytes that came before.
        self._unsent = b""
        self._write_error = code
        self._keeps = False
        self._owner.loop.call_soon(self._read_the_rest, None)

    def _read_the_rest(self) -> None:
        if self.fd >= 0:
            self._owner.loop.handlers[self.fd](ENDED)

    # --- answers ------------------------------------------------------------------------------

    def _read_on(self, flags: int) -> None:
        if flags != READABLE:
            self._on_edge(flags)
        while self.fd >= 0:
            try:
                data = os.read(self.fd, _READ_BYTES)
            except BlockingIOError:
                break
            except OSError as error:
                self._lost(error.errno or 0)
                return
            if not self._take(data, self._owner.loop.clock()):
                return
            # A short read has emptied the socket; only the end may be left in it.
            if len(data) < _READ_BYTES and not self._ending:
                break
        self._wait()

    def _on_edge(self, flags: int) -> None:
        """Handle flags other than READABLE."""
        if flags & ENDED:
            self._keeps = False
            self._ending = True
        if self._unsent and flags & WRITABLE:
            unsent, self._unsent = self._unsent, b""
            self._write(unsent)

    def on_records(self, flags: int) -> None:
        """Handle bytes of a handshake or of an answer, in TLS."""
        if flags != READABLE:
            self._on_edge(flags)
        while self.fd >= 0:
            try:
                records = os.read(self.fd, _READ_BYTES)
            except BlockingIOError:
                break
            except OSError as error:
                self._lost(error.errno or 0)
                return
            if not self._take_records(records, self._owner.loop.clock()):
                return
            if len(records) < _READ_BYTES and not self._ending:
                break
        self._wait()

    def _take_records(self, records: bytes, now: float) -> bool:
        """Take TLS records; return whether more must follow."""
        tls = self._tls
        assert tls is not None
        if not records:
            self._lost(self._write_error)  # Cut without close_notify (RFC 8446 §6.1).
            return False
        shaking = not tls.ready
        try:
            data = tls.decrypt(records)
        except OSError:  # Every error of TLS is one.
            with contextlib.suppress(OSError):
                os.write(self.fd, tls.records())  # The alert, which has the reason.
            self._fail(now, Failure.TLS)
            return False
        if shaking and tls.ready:
            self.tls_s = now - self._stage_began
            self._ask()  # The last record of our handshake goes with it.
        elif shaking and (reply := tls.records()):
            self._write(reply)
        if tls.ended:
            self._keeps = False
        if data and not self._take(data, now):
            return False
        return self._take(b"", now) if tls.ended else self.fd >= 0

    def _take(self, data: bytes, now: float) -> bool:
        """Take bytes of an answer; return whether more must follow. No data: the stream has ended."""
        if self.idle:
            self.close()  # Bytes without a request.
            return False
        if not data:
            if self.received and self.answer.end():
                self.close()
                self._owner.answered(self, now)
            else:
                self._lost(self._write_error)
            return False
        if not self.received:
            self.first_byte = now
        self.received += len(data)
        try:
            if not self.answer.feed(data):
                return self._take_part(now)
        except NOT_HTTP:
            self._fail(now, Failure.PROTOCOL)
            return False
        if self.answer.keep_alive and self._keeps and not self._unsent:
            self.idle = True
            self._wait()
        else:
            self.close()
        self._owner.answered(self, now)
        return False

    def _take_part(self, now: float) -> bool:
        """Handle a part of an answer; return whether more must follow."""
        return True

    def _wait(self) -> None:
        """Ask the poller for more input."""
        await_input = self._owner.loop.poller.await_input
        if await_input is not None and self.fd >= 0:
            await_input(self.fd)

    # --- ends ---------------------------------------------------------------------------------

    def _lost(self, code: int) -> None:
        """Handle the end of the connection: by this error, or by FIN (0)."""
        if not self.idle and self._has_crossed(code):
            self._cross()
        else:
            self._fail(self._owner.loop.clock(), failure_of(code) if code else Failure.CLOSED)

    def _has_crossed(self, code: int) -> bool:
        if not self.kept or self.received or code not in (0, errno.EPIPE):
            return False
        return not has_acknowledged(self.fd, self._asked_at + 1)

    def _cross(self) -> None:
        self.close()
        self._owner.crossed(self)

    def _fail(self, now: float, failure: Failure) -> None:
        was_idle = self.idle
        self.close()
        if not was_idle:
            self._owner.failed(self, now, failure)

    def close(self) -> None:
        """Close the socket; the engine is not called."""
        if self.fd < 0:
            return
        loop = self._owner.loop
        del loop.handlers[self.fd]
        if loop.poller.await_input is not None:
            loop.poller.remove(self.fd)  # epoll forgets a closed descriptor by itself.
        close_socket(self.fd, "none")
        self.answer.drop_parser()
        self.fd = NO_SOCKET
        self.idle = False
