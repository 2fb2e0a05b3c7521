"""The fields of a connection of the load engine, and the steps that every request takes.

`PureFields` is the Python version; `_native.c` has the other, with the same fields and steps, which sends a
request and takes an answer that comes in one piece without leaving C (`native` says when).
`ConnectionFields` is the one of the two that is used. All other work is in `connection`.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import nan
from typing import TYPE_CHECKING, Any

from faultkit.load.engine_base import Requester
from faultkit.load.native import native
from faultkit.load.response import ResponseReader
from faultkit.proxy.sockets import NO_SOCKET, Address
from faultkit.proxy.tls import TlsLeg


class PureFields:
    """What a connection knows, in Python."""

    __slots__ = (
        "_addresses",
        "_asked_at",
        "_ending",
        "_granted",
        "_keeps",
        "_owner",
        "_request",
        "_sent",
        "_stage_began",
        "_tls",
        "_unsent",
        "_write_error",
        "answer",
        "connect_s",
        "dns_s",
        "fd",
        "first_byte",
        "idle",
        "intended",
        "kept",
        "received",
        "requester",
        "started",
        "tls_s",
    )

    def __init__(self, owner: Any, requester: Requester, intended: float, started: float) -> None:
        self._owner = owner
        self._request: bytes = owner.route.request
        self._addresses: list[Address] = []
        self._tls: TlsLeg | None = None
        self._stage_began = started
        self._granted = b""
        """The proxy's response to CONNECT so far."""
        self._keeps: bool = owner.route.keep_alive
        """Whether this side lets another request follow."""
        self._ending = False
        """True if the other side has ended: only what is here to be read is left."""
        self._unsent = b""
        self._write_error = 0
        self._sent = 0
        """Bytes sent on this connection."""
        self._asked_at = 0
        """Bytes that were sent before the present request."""
        self.fd = NO_SOCKET
        """The socket's descriptor."""
        self.idle = False
        self.kept = False
        """True if an earlier request used the connection."""
        self.answer: ResponseReader = owner.new_reader()
        self.requester = requester
        self.intended = intended
        self.started = started
        self.first_byte = nan
        self.received = 0
        self.dns_s = self.connect_s = self.tls_s = nan

    def dial(self, addresses: Iterable[Address]) -> None:
        """Try the addresses in turn; the request follows as soon as there is a connection."""
        self._stage_began = self._owner.loop.clock()
        self._dial(addresses)

    def ask(self, requester: Requester, intended: float | None) -> None:
        """Send the next request on this idle connection."""
        self.requester = requester
        self.idle = False
        self.received = 0
        self.started = now = self._owner.loop.clock()
        self.intended = now if intended is None else intended
        self._ask()

    def on_input(self, flags: int) -> None:
        """Handle bytes of an answer without TLS."""
        self._read_on(flags)

    # --- in `Connection` ----------------------------------------------------------------------

    def _dial(self, addresses: Iterable[Address]) -> None:
        raise NotImplementedError

    def _ask(self) -> None:
        raise NotImplementedError

    def _read_on(self, flags: int) -> None:
        raise NotImplementedError


if TYPE_CHECKING or native is None:
    ConnectionFields = PureFields
else:
    ConnectionFields = native.ConnectionFields
