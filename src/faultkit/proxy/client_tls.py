"""TLS with the client of one link: records on its side, plain bytes on the other. The proxy is the server.

Faults of the client's side act on the records, as on the wire. TLS faults act here: on the handshake, which
begins when the ClientHello is whole, and on its end. Where the upstream speaks TLS, too, it is asked first
for the protocol (ALPN), and the client gets what it has chosen. This module knows the link only as
`ClientTlsLink`.
"""

from __future__ import annotations

import math
import ssl
from collections.abc import Callable
from typing import Protocol, TypeAlias

from faultkit.base.certificates import why_handshake_failed
from faultkit.faults.events import Close, Data, Eof, Event, Reset, brought_forward, moved
from faultkit.faults.fault import HandshakeVerdict
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.client_hello import ClientHello, NotTls, read_client_hello
from faultkit.proxy.data_plane import HTTP_1
from faultkit.proxy.rule_binding import BoundLink, judge_handshake
from faultkit.proxy.rule_delay import Delays
from faultkit.proxy.server_tls import Protocols, ServerContexts, ServerLeg, Variation, server_contexts
from faultkit.proxy.tls import TlsLeg

_UNRECOGNIZED_NAME, _DECODE_ERROR, _INTERNAL_ERROR, _NO_APPLICATION_PROTOCOL = 112, 50, 80, 120
_REFUSALS = ("unknown ca", "certificate unknown", "bad certificate", "certificate expired", "access denied")
"""Alerts by which clients refuse a certificate, as OpenSSL names them."""
_PLAIN_HTTP = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 43\r\n"
    b"Connection: close\r\n\r\nthis port takes TLS: ask it by https://...\n"
)
_HANDSHAKE = b"\x16"
"""The first byte of TLS (RFC 8446 §5.1)."""
_METHODS = (b"GET ", b"POST ", b"PUT ", b"HEAD ", b"DELETE ", b"OPTIONS ", b"PATCH ", b"CONNECT ")


class ClientTlsLink(BoundLink, Protocol):
    """What TLS with a client needs of its link."""

    def close(self) -> None:
        """End both connections by FIN."""

    def reset(self, how: str = "reset") -> None:
        """End both connections by RST."""


Ask: TypeAlias = Callable[[Protocols, float], None]
"""Asks the upstream for one of the protocols that a client offers."""


def greet_client(link: ClientTlsLink, name: str, ask: Ask | None) -> ClientTls:
    """Return TLS with a client, as the server `name` unless it names another.

    `ask` is None where the upstream speaks no TLS: it cannot be asked. It then gets HTTP/1.1, or HTTP/2 by
    prior knowledge from clients that offer nothing else, as those of gRPC do."""
    proxy = link.proxy
    settings = proxy.spec.client_tls
    assert settings is not None
    protocols = settings.protocols
    if proxy.plans_llm():  # LLM faults act on HTTP/1.1, which every client speaks, too.
        protocols = tuple(each for each in protocols if each in HTTP_1)
    elif ask is None:
        protocols = protocols[::-1]  # What comes first is preferred.
    contexts, now = server_contexts(settings), proxy.services.loop.clock()
    return ClientTls(link, contexts, name, protocols, now, ask if protocols else None)


class ClientTls:
    """The server's end of one client's TLS connection."""

    __slots__ = (
        "_ask",
        "_contexts",
        "_early",
        "_ended",
        "_held_at",
        "_leg",
        "_link",
        "_name",
        "_opening",
        "_plain_at",
        "_protocols",
        "_truncating",
        "_verdict",
        "_wire_at",
        "delays",
        "handshake_since",
        "waiting_bytes",
    )

    def __init__(
        self,
        link: ClientTlsLink,
        contexts: ServerContexts,
        name: str,
        protocols: Protocols,
        at: float,
        ask: Ask | None = None,
    ) -> None:
        """name:      the server's, for clients that name none
        protocols: what may be agreed on by ALPN
        ask:       called with those of them that the client offers; the handshake then waits for `agree`"""
        self._link = link
        self._contexts = contexts
        self._name = name
        self._protocols = protocols
        self._ask = ask
        self._held_at: float | None = None
        """When the handshake may begin, while it waits for the upstream's choice."""
        self._opening = b""
        """The client's bytes, until its ClientHello is whole."""
        self._leg: ServerLeg | None = None
        self._verdict = HandshakeVerdict()
        self._truncating: ActiveStreamRule | None = None
        self._early: list[bytes] = []
        """Plain bytes for the client that wait for the end of the handshake."""
        self.waiting_bytes = 0
        self._plain_at = 0.0
        """Time of the latest of them."""
        self._ended: Eof | None = None
        """The end of the stream to the client, if it came before the end of the handshake."""
        self._wire_at = 0.0
        """Time of the latest record: none may overtake another."""
        self.handshake_since: float | None = at
        """Since when the client has had time for its part of the handshake; None: it is done."""
        self.delays: tuple[float, Delays] | None = None
        """Until when rules delay the handshake, and the part of each in it; taken by the layer."""

    @property
    def negotiates(self) -> bool:
        """Whether the handshake depends on what the upstream chooses."""
        return self._ask is not None

    @property
    def protocol(self) -> str | None:
        """What was agreed on by ALPN, once the handshake is done."""
        return None if self._leg is None else self._leg.protocol

    @property
    def agreed(self) -> TlsLeg | None:
        """The leg, once the handshake is done."""
        return self._leg if self.handshake_since is None else None

    # --- from the client ----------------------------------------------------------------------

    @property
    def is_untouched(self) -> bool:
        """Whether the client has sent nothing."""
        return not self._opening and self._leg is None

    def finds_clear_text(self, events: list[Event]) -> bool:
        """Return whether these are the first bytes of a client, and no TLS."""
        if not self.is_untouched:
            return False
        return bool(events) and isinstance(events[0], Data) and events[0].payload[:1] != _HANDSHAKE

    def receive(self, event: Event) -> list[Event]:
        """Take an event of the client's socket, and return what it means for the plain stream."""
        if isinstance(event, Data):
            if self._leg is None:
                return self._read_hello(event)
            return self._decrypt(self._leg, event.at, event.payload)
        if self.handshake_since is not None:
            self._cut_in_handshake(event)
            return []
        if isinstance(event, Eof) and self._leg is not None:
            return self._leg.end_of_stream(event)
        return [event]

    def _read_hello(self, event: Data) -> list[Event]:
        if self._verdict.end is not None:
            return []  # The handshake has failed, on purpose: what the client still sends is dropped.
        self._opening += event.payload
        if self._held_at is not None:
            return []
        try:
            hello = read_client_hello(self._opening)
        except NotTls as error:
            self._refuse_opening(event.at, str(error))
            return []
        if hello is None:
            return []
        name = hello.server_name or self._name
        self._verdict, delays, self._truncating = judge_handshake(self._link)
        at = event.at + self._verdict.delay_s
        if delays:
            self.delays = (at, delays)
        self.handshake_since = at
        if self._verdict.end is not None:
            self._fail(at, self._verdict)
            return []
        self._report_doubts(name, hello)
        self._name = name
        if self._ask is None:
            return self._begin(event.at, at, self._protocols)
        self._held_at = at
        self.handshake_since = math.inf  # The time of the upstream is not the client's.
        self._ask(tuple(name for name in self._protocols if name in hello.protocols), event.at)
        return []

    @property
    def awaits_upstream(self) -> bool:
        """Whether the handshake waits for what the upstream chooses."""
        return self._held_at is not None

    def agree(self, protocol: str | None, now: float) -> list[Event]:
        """Go on with the handshake: the upstream has chosen, or has no choice (ALPN), and speaks HTTP/1.1."""
        at, self._held_at = max(now, self._held_at or now), None
        self.handshake_since = at
        return self._begin(now, at, HTTP_1 if protocol is None else (protocol,))

    def upstream_failed(self, at: float, why: str) -> None:
        """Refuse a client that waits, because no TLS can be spoken with the upstream."""
        self._held_at = None
        alert = _NO_APPLICATION_PROTOCOL if "offer" in why or "ALPN" in why else _INTERNAL_ERROR
        self._fail(at, HandshakeVerdict(end="alert", alert=alert))

    def _begin(self, now: float, at: float, protocols: Protocols) -> list[Event]:
        """Begin the handshake; its records leave at `at`."""
        try:
            variation = Variation(self._verdict.flaw, self._verdict.version)
            context = self._contexts.context_for(self._name, now, variation, protocols)
        except ValueError as error:
            self._link.proxy.report_once(f"a client was refused: {error}")
            self._fail(at, HandshakeVerdict(end="alert", alert=_UNRECOGNIZED_NAME))
            return []
        leg = self._leg = ServerLeg(context)
        opening, self._opening = self._opening, b""
        return self._decrypt(leg, at, opening)

    def _report_doubts(self, name: str, hello: ClientHello) -> None:
        proxy = self._link.proxy
        if not self._contexts.may_sign(name):
            proxy.report_once(f"the authority may not sign for {name}: clients will refuse its certificate")
        if self._protocols and hello.protocols and not set(hello.protocols) & set(self._protocols):
            offered, own = ", ".join(hello.protocols)[:80], ", ".join(self._protocols)
            proxy.report_once(f"a client speaks only {offered} (ALPN), where {own} is offered")

    def _decrypt(self, leg: ServerLeg, at: float, records: bytes) -> list[Event]:
        was_ready, had_ended = leg.ready, leg.ended
        try:
            plain = leg.decrypt(records)
        except ssl.SSLError as error:
            self._put(at, leg.records())  # An alert says why.
            if was_ready:
                return [Reset(at)]
            self._handshake_failed(at, error)
            return []
        self._put(at, leg.records())
        if leg.ready and not was_ready:
            self._handshake_done(leg, at)
        events: list[Event] = [Data(at, plain)] if plain else []
        if leg.ended and not had_ended:
            events.append(Eof(at))
        return events

    def _handshake_done(self, leg: ServerLeg, at: float) -> None:
        self.handshake_since = None
        early, self._early = self._early, []
        for plain in early:
            leg.encrypt(plain)
        self._put(max(at, self._plain_at), leg.records())
        if self.waiting_bytes:
            self.waiting_bytes = 0
            self._link.down.pump_again()
        if self._ended is not None:
            self.send(moved(self._ended, max(at, self._ended.at)))

    # --- to the client ------------------------------------------------------------------------

    def send(self, event: Event) -> None:
        """Send an event of the plain stream to the client."""
        leg = self._leg
        if leg is None or not leg.ready:
            self._keep(event)
            return
        if isinstance(event, Data):
            leg.encrypt(event.payload)
            self._put(event.at, leg.records())
            return
        if isinstance(event, (Eof, Close)):
            if self._truncating is not None:
                link = self._link
                link.proxy.record_injection(self._truncating, link.ordinal, "to_client", 0, "truncated", 1.0)
                self._truncating = None
            elif not self._verdict.truncates:
                leg.finish(truncated=isinstance(event, Eof) and event.truncated)
                self._put(event.at, leg.records())
        self._link.down.feed_far(moved(event, max(event.at, self._wire_at)))

    def _keep(self, event: Event) -> None:
        if isinstance(event, Data):
            self._early.append(event.payload)
            self.waiting_bytes += len(event.payload)
            self._plain_at = max(self._plain_at, event.at)
        elif isinstance(event, Eof):
            self._ended = event
        else:
            self._link.down.feed_far(moved(event, max(event.at, self._wire_at)))

    def _put(self, at: float, records: bytes) -> None:
        self._wire_at = max(self._wire_at, at)
        if records:
            self._link.down.feed_far(Data(self._wire_at, records))

    def bring_forward(self, by_s: float, now: float) -> None:
        """Take `by_s` off what is still to come: a rule that delayed it acts no more."""
        self._wire_at = brought_forward(self._wire_at, by_s, now)
        self._plain_at = brought_forward(self._plain_at, by_s, now)

    # --- handshakes that fail -----------------------------------------------------------------

    def is_late(self, now: float, limit_s: float) -> bool:
        """Return whether the client has taken longer than this for the handshake."""
        return self.handshake_since is not None and now - self.handshake_since > limit_s

    def give_up(self) -> None:
        """End a connection whose client takes too long for the handshake."""
        self._link.proxy.report_once("a client did not finish the TLS handshake in time (--connect-timeout)")
        self._link.reset("refused")

    def _fail(self, at: float, verdict: HandshakeVerdict) -> None:
        self._verdict = verdict
        self._wire_at = max(self._wire_at, at)
        down = self._link.down
        if verdict.end == "reset":
            down.feed_far(Reset(self._wire_at))
            return
        if verdict.end == "alert":
            down.feed_far(Data(self._wire_at, bytes((21, 3, 3, 0, 2, 2, verdict.alert))))
        down.feed_far(Close(self._wire_at))

    def _refuse_opening(self, at: float, why: str) -> None:
        proxy = self._link.proxy
        if self._opening.startswith(_METHODS):
            proxy.report_once("a client that speaks clear text was refused: this port takes TLS (https://)")
            self._link.down.feed_far(Data(at, _PLAIN_HTTP))
            self._fail(at, HandshakeVerdict(end="close"))
            return
        proxy.report_once(f"a client was refused: {why}, and this port takes TLS")
        self._fail(at, HandshakeVerdict(end="alert", alert=_DECODE_ERROR))

    def _handshake_failed(self, at: float, error: ssl.SSLError) -> None:
        why = why_handshake_failed(error)
        proxy, verdict = self._link.proxy, self._verdict
        if verdict.flaw is None and verdict.version is None:
            if any(refusal in why for refusal in _REFUSALS):
                proxy.report_once(self._refused(why.removeprefix("TLS: ")))
            else:
                proxy.report_once(f"the handshake with a client for {self._name} failed: {why}")
        self._fail(at, HandshakeVerdict(end="close"))

    def _cut_in_handshake(self, event: Event) -> None:
        verdict = self._verdict
        if self._leg is not None and verdict.flaw is None and verdict.version is None:
            self._link.proxy.report_once(self._refused("it ended the connection during the handshake"))
        if isinstance(event, Reset):
            self._link.reset()
        else:
            self._link.close()

    def _refused(self, why: str) -> str:
        if not self._contexts.may_sign(self._name):
            return f"a client refused the certificate for {self._name} ({why})"  # The cause is reported.
        pins = "one that pins certificates cannot be intercepted"
        advice = f"`fault ca env` shows how to trust the authority; {pins}"
        return f"a client refused the certificate for {self._name} ({why}): {advice}"
