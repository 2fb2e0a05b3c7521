"""TLS with the upstream of one link: plain bytes on the layer's side, records on the other. The proxy is the
client.

Faults of the server's side act on the records, as on the wire. This module knows the link only as
`UpstreamTlsLink`.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from typing import Protocol

from faultkit.base.certificates import why_handshake_failed
from faultkit.faults.events import Close, Data, Eof, Event, Reset, brought_forward, moved
from faultkit.proxy.event_loop import FAILED
from faultkit.proxy.http import HTTP_2, HTTP_2_PREFACE
from faultkit.proxy.postgres_start import SSL_REQUEST, why_no_tls
from faultkit.proxy.rule_binding import BoundLink
from faultkit.proxy.sockets import NO_SOCKET
from faultkit.proxy.tls import TlsLeg, tls_context

_NO_HTTP_2 = f"TLS: the upstream does not offer {HTTP_2}, which the client speaks"
_H2 = "h2"
_ADVICE = "--upstream-cert and --upstream-key are shown to it"
_ENDED_AT_ONCE = (
    "the upstream ended a connection right after the TLS handshake, without an alert, as some do that want"
    f" a client's certificate; {_ADVICE}"
)
_MOST_LEFT = 4096


class UpstreamTlsLink(BoundLink, Protocol):
    """What TLS with an upstream needs of its link."""

    def tls_failed(self, why: str) -> None:
        """The TLS handshake with the upstream failed."""

    def close(self) -> None:
        """End both connections by FIN."""

    def reset(self, how: str = "reset") -> None:
        """End both connections by RST."""


class UpstreamTls:
    """The client's end of TLS with one upstream."""

    __slots__ = (
        "_asks_postgres",
        "_awaits_offer",
        "_connected",
        "_ends_truncated",
        "_link",
        "_offered",
        "_on_ready",
        "_tls",
        "_wire_at",
        "handshake_since",
        "has_spoken",
        "opening",
    )

    def __init__(
        self,
        link: UpstreamTlsLink,
        host: str,
        on_ready: Callable[[float, str | None], None],
        *,
        awaits_offer: bool = False,
        waits_for_client: bool = False,
        asks_postgres: bool = False,
    ) -> None:
        """Raises ValueError for a name that no server can have.

        on_ready:         called when the handshake is done, with what the upstream chose by ALPN
        awaits_offer:     the handshake waits for the protocols that the client offers (`offer`)
        waits_for_client: the handshake waits for the client's first bytes (`choose_protocol`)
        asks_postgres:    PostgreSQL is asked for TLS first"""
        spec = link.proxy.spec
        self._link = link
        self._on_ready = on_ready
        self._tls = TlsLeg(tls_context(spec.verify, identity=spec.identity), host)
        self._wire_at = 0.0
        """Time of the latest record. None may overtake another: one that is delayed holds back those after
        it."""
        self.handshake_since: float | None = None
        """When the handshake began, until it is done."""
        self.has_spoken = False
        """The upstream has sent records since the handshake was done, so that it has accepted the proxy."""
        self._ends_truncated = False
        """The client has ended its stream without close_notify, and the upstream gets none either."""
        self._connected = False
        self._offered: tuple[str, ...] = ()
        self._awaits_offer = awaits_offer
        self._asks_postgres = asks_postgres
        self.opening: bytes | None = b"" if waits_for_client else None
        """The client's first bytes while they may become the preface of HTTP/2, else None. The handshake
        waits for them, because it must name the protocol."""

    @property
    def waiting_bytes(self) -> int:
        """Number of plain bytes that wait for the end of the handshake."""
        return self._tls.waiting_bytes

    @property
    def started(self) -> bool:
        """Whether the handshake has begun."""
        return self._tls.started

    @property
    def agreed(self) -> TlsLeg | None:
        """The leg, once the handshake is done."""
        return self._tls if self._tls.ready else None

    def connected(self, at: float) -> None:
        """Begin, now that the socket is connected."""
        self._connected = True
        if self._asks_postgres:
            self.handshake_since = at
            self._put(at, SSL_REQUEST)
        else:
            self._start_if_known(at)

    def offer(self, protocols: tuple[str, ...], at: float) -> None:
        """Let the handshake begin with these protocols (ALPN), which the client offers."""
        self._awaits_offer = False
        self._ask_for(protocols)
        self._start_if_known(at)

    def choose_protocol(self, before: bytes, event: Event) -> None:
        """Let the handshake begin once the client's first bytes show whether it speaks HTTP/2."""
        opening = before
        if isinstance(event, Data):
            opening += event.payload
            if len(opening) < len(HTTP_2_PREFACE) and HTTP_2_PREFACE.startswith(opening):
                self.opening = opening
                return
        self.opening = None
        if isinstance(event, (Close, Reset)):
            return
        if opening.startswith(HTTP_2_PREFACE):
            self._ask_for((_H2,))
        self._start_if_known(event.at)

    def _ask_for(self, protocols: tuple[str, ...]) -> None:
        self._offered = protocols
        if protocols:
            spec = self._link.proxy.spec
            self._tls.use(tls_context(spec.verify, protocols=protocols, identity=spec.identity))

    def _start_if_known(self, at: float) -> None:
        """Begin the handshake once the socket is connected and it is known what to ask for."""
        if self._connected and self.opening is None and not self._awaits_offer:
            self._start(at)

    def _start(self, at: float) -> None:
        self.handshake_since = at
        self._put(at, self._tls.start())

    # --- to the upstream ----------------------------------------------------------------------

    def send(self, event: Event) -> None:
        """Send an event of the plain stream to the upstream."""
        tls = self._tls
        if isinstance(event, Data):
            tls.encrypt(event.payload)
            self._put(event.at, tls.records())
        elif isinstance(event, Eof):
            tls.finishing = True
            self._ends_truncated = event.truncated
            self._finish_if_ready(event.at)
        else:
            self._link.up.feed_far(moved(event, max(event.at, self._wire_at)))

    def _finish_if_ready(self, at: float) -> None:
        """Send close_notify and FIN, but not during the handshake: what waits for its end goes first."""
        tls = self._tls
        if tls.finishing and tls.ready:
            tls.finish(truncated=self._ends_truncated)
            self._put(at, tls.records())
            self._link.up.feed_far(Eof(self._wire_at))

    def _put(self, at: float, records: bytes) -> None:
        self._wire_at = max(self._wire_at, at)
        if records:
            self._link.up.feed_far(Data(self._wire_at, records))

    def bring_forward(self, by_s: float, now: float) -> None:
        """Take `by_s` off what is still to come: a rule that delayed it acts no more."""
        self._wire_at = brought_forward(self._wire_at, by_s, now)

    # --- from the upstream --------------------------------------------------------------------

    def receive(self, event: Event) -> list[Event]:
        """Take an event of the upstream's socket, and return what it means for the plain stream."""
        tls = self._tls
        if not isinstance(event, Data):
            if self.handshake_since is not None:
                self._cut_in_handshake(event)
                return []
            if isinstance(event, Eof) or self._link.down.ending & FAILED:
                self._report_end_at_once()
            return [event] if not isinstance(event, Eof) else tls.end_of_stream(event)
        if self._asks_postgres and not tls.started:
            self._agreed_to_tls(event)
            return []
        was_ready, had_ended = tls.ready, tls.ended
        try:
            plain = tls.decrypt(event.payload)
        except ssl.SSLError as error:
            if was_ready:
                self.has_spoken = True
                if not tls.finishing:  # Otherwise the client has ended first, perhaps without close_notify.
                    self._link.proxy.report_once(_why_ended(error))
                return [Reset(event.at)]
            self._failed(error)
            return []
        self.has_spoken = was_ready or bool(plain)
        self._put(event.at, tls.records())
        if tls.ready and not was_ready:
            self.handshake_since = None
            if self._offered == (_H2,) and tls.protocol != _H2:
                self._link.tls_failed(_NO_HTTP_2)
                return []
            self._finish_if_ready(event.at)
            self._link.up.pump_again()
            self._on_ready(event.at, tls.protocol)
        events: list[Event] = [Data(event.at, plain)] if plain else []
        if tls.ended and not had_ended:
            events.append(Eof(event.at))
        return events

    def look_at_end(self) -> None:
        """Report why the upstream has ended a connection that is about to be reset: a write to it may have
        failed before its last record was read."""
        link = self._link
        if self.has_spoken or not self._tls.ready or link.upstream == NO_SOCKET:
            return
        try:
            rest = os.read(link.upstream, _MOST_LEFT)
        except BlockingIOError:
            return  # It has not ended.
        except OSError:
            rest = b""
        if not rest:
            self._report_end_at_once()
            return
        try:
            self._tls.decrypt(rest)
        except ssl.SSLError as error:
            link.proxy.report_once(_why_ended(error))

    def _report_end_at_once(self) -> None:
        """Report an end before any record. In TLS 1.3 the upstream judges the proxy's certificate after the
        proxy's part of the handshake, which is then done here (RFC 8446 §4.4.2.4); not so with a session that
        is resumed. A client that has ended first may be the cause."""
        if not self.has_spoken and self._tls.awaits_judgement and not self._tls.finishing:
            self._link.proxy.report_once(_ENDED_AT_ONCE)

    def _agreed_to_tls(self, event: Data) -> None:
        """Begin TLS if the upstream's answer to SSLRequest allows it."""
        why = why_no_tls(event.payload)
        if why is None:
            self._start(event.at)
        else:
            self._link.tls_failed(why)

    def _failed(self, error: ssl.SSLError) -> None:
        why = why_handshake_failed(error)
        if self._offered and "no application protocol" in why:
            offered = ", ".join(self._offered)
            why = _NO_HTTP_2 if offered == _H2 else f"TLS: the upstream speaks none of {offered} (ALPN)"
        elif self._offered == (_H2,):
            why += f" ({HTTP_2} was asked for, as the client speaks it)"
        self._link.tls_failed(why)

    def _cut_in_handshake(self, event: Event) -> None:
        link = self._link
        if isinstance(event, Eof) or link.down.ending & FAILED:
            link.tls_failed("TLS: the upstream ended the connection during the handshake")
        elif isinstance(event, Close):
            link.close()  # A fault closed the stream. The next case is a fault's reset.
        else:
            link.reset()


def _why_ended(error: ssl.SSLError) -> str:
    """Return why an upstream ended a connection after the handshake. In TLS 1.3 it judges the proxy's
    certificate only then (RFC 8446 §4.4.2.4)."""
    why = why_handshake_failed(error)
    advice = f"; {_ADVICE}" if "certificate" in why else ""
    return f"the upstream ended a connection: {why}{advice}"
