"""The protocol layer between the two sockets of a link where bytes are not simply passed on: HTTP, TLS or
both.

client ─▶ up.near_chain ─▶ ( TLS ─▶ HTTP ─▶ TLS ) ─▶ up.far_chain ─▶ upstream
client ◀─ down.far_chain ◀─ ( TLS ◀─ HTTP ◀─ TLS ) ◀─ down.near_chain ◀─ upstream

Between the two sides stands the session of the protocol that the peers speak (`PlainSession`): HTTP/1.1 in
`proxy/http1_session`, HTTP/2 in `proxy/http2_session`. TLS with the upstream is `proxy/upstream_tls`, TLS
with the client is `proxy/client_tls`. This module carries out what they ask for, on a link that it knows only
as `LayeredLink`.

A forward proxy that intercepts a CONNECT tunnel is from there on a proxy of that one upstream. Where both
sides speak TLS, the ClientHello of the client comes first, then TLS with the upstream, which is offered the
same protocols (ALPN), then TLS with the client, which gets what the upstream has chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol, assert_never

from faultkit.base.address import Endpoint
from faultkit.faults.events import Data, Event, Reset
from faultkit.plan import Flow
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.client_tls import ClientTls, greet_client
from faultkit.proxy.first_bytes import FirstBytes
from faultkit.proxy.host_gate import GatedLink, HostGate
from faultkit.proxy.http import Dial, Hangup, Mode, Output, ToClient, ToUpstream, host_field
from faultkit.proxy.http1_session import Http1Session
from faultkit.proxy.postgres_start import PostgresStart
from faultkit.proxy.rule_delay import RequestDelays
from faultkit.proxy.tls import TlsLeg, straight
from faultkit.proxy.upstream_tls import UpstreamTls

_MOST_WAITING = 1 << 20


class LayeredLink(GatedLink, Protocol):
    """What a layer needs of its link."""

    def dial_soon(self, origin: Endpoint, tls: bool) -> None:
        """Dial another upstream, after the events in hand."""

    def hang_up(self) -> None:
        """Close the present upstream, or cancel its dial."""

    def tls_failed(self, why: str) -> None:
        """The TLS handshake with the upstream failed."""

    def release_to_client(self, now: float) -> None:
        """Send what a session has just written to the client."""

    def close(self) -> None:
        """End both connections by FIN."""

    def reset(self, how: str = "reset") -> None:
        """End both connections by RST."""

    def abort(self) -> None:
        """End both connections after a defect."""


class PlainSession(Protocol):
    """A protocol between the two sides of a link, in plain bytes. It sends by the layer's `carry_out`."""

    def from_client(self, event: Event) -> None:
        """Take an event that the client's side has released."""

    def from_upstream(self, event: Event) -> None:
        """Take an event that the upstream's side has released."""

    def wants_input(self, flow: Flow) -> bool:
        """Return whether more bytes that flow this way are taken."""

    def end_rules(self, acting: Collection[ActiveStreamRule], now: float) -> float:
        """Let go what rules hold back that act no more. Return by how many seconds everything that waits
        comes forward for that."""

    def bring_forward(self, by_s: float, now: float) -> None:
        """Take `by_s` off what is still to come: a rule that delayed it acts no more."""

    def let_go(self) -> None:
        """Drop what refers to the session."""


class ProtocolLayer:
    """HTTP, TLS or both, on one link."""

    __slots__ = (
        "_delays",
        "_first_bytes",
        "_forward",
        "_front",
        "_intercepted",
        "_leg",
        "_link",
        "_passes_down",
        "_passes_up",
        "_plain",
        "_postgres",
        "_tls",
        "gate",
    )

    def __init__(self, link: LayeredLink) -> None:
        spec = link.proxy.spec
        self._link = link
        self._leg = 0
        """Number of the upstream connection: events of an earlier one are dropped."""
        self.gate: HostGate | None = None
        self._delays = RequestDelays()
        self._front: ClientTls | None = None
        """TLS with the client."""
        self._intercepted: Endpoint | None = None
        """The host of a CONNECT tunnel that is, or is to be, intercepted."""
        self._tls: UpstreamTls | None = None
        self._postgres: PostgresStart | None = None
        self._plain: PlainSession | None = None
        """The protocol that the peers speak, if this proxy must understand it."""
        self._forward: Http1Session | None = None
        """The same, of a forward proxy, until a tunnel of it is intercepted."""
        self._first_bytes: FirstBytes | None = None
        """Finds out whether the client speaks HTTP/2, if rules act on that."""
        self._passes_up = self._passes_down = False
        """Whether nothing looks at the plain bytes that flow this way, so that they are to go straight once
        all agree to TLS."""
        if spec.upstream is None:
            self._plain = self._forward = self._http_1("forward")
            if spec.broken is not None and spec.broken.upstreams and link.proxy.needs_gate():
                self.gate = HostGate(link, spec.broken, self._has_switched)
            return
        if spec.client_tls is not None:
            name = (*spec.client_tls.names, spec.upstream.host)[0]
            self._front = greet_client(link, name, self._ask_upstream if spec.tls else None)
        if spec.tls:
            self._tls = UpstreamTls(
                link,
                spec.upstream.host,
                self._upstream_ready,
                awaits_offer=self._front is not None and self._front.negotiates,
                waits_for_client=spec.speaks == "http" and self._front is None,
                asks_postgres=spec.speaks == "psql",
            )
            if spec.speaks == "psql":
                self._postgres = PostgresStart()
        if spec.rewrite_host:
            self._plain = self._http_1("reverse", *self._upstream_host())
        elif link.proxy.understands_http():
            self._plain = self._http_1()
        if link.proxy.understands_http() or (spec.rewrite_host and self._front is not None):
            self._first_bytes = FirstBytes()
        self._passes_up = self._passes_down = self._plain is None and self._postgres is None

    def _has_switched(self) -> bool:
        """Return whether a forward proxy's client speaks something else than HTTP from now on."""
        return self._forward is None or self._forward.opaque

    def _http_1(
        self, mode: Mode = "inline", host: str | None = None, own_port: int | None = None
    ) -> Http1Session:
        return Http1Session(
            self._link, self._carry_out, self._spares_tunnel, self._delays, mode, host, own_port
        )

    def _upstream_host(self) -> tuple[str | None, int | None]:
        """Return what replaces the Host of requests, if anything, and the port that it must have for that."""
        proxy = self._link.proxy
        spec = proxy.spec
        if not spec.rewrite_host or spec.upstream is None:
            return None, None
        own_port = proxy.bound.port if spec.tls else None
        if self._front is not None and own_port == 443:
            own_port = None  # A Host without a port means this port.
        return host_field(spec.upstream.host, spec.upstream.port, spec.tls), own_port

    def wants_input(self, flow: Flow) -> bool:
        """Return whether the layer takes more bytes that flow this way."""
        if self._plain is not None and not self._plain.wants_input(flow):
            return False
        if flow == "to_client":
            return self._front is None or self._front.waiting_bytes <= _MOST_WAITING
        if self.gate is not None and not self.gate.is_open:
            return False
        return self._tls is None or self._tls.waiting_bytes <= _MOST_WAITING

    @property
    def is_needless(self) -> bool:
        """True if bytes pass both ways unchanged (a CONNECT tunnel): the link can do without the layer."""
        return (
            self._tls is None
            and self._front is None
            and isinstance(self._plain, Http1Session)
            and self._plain.transparent
        )

    @property
    def is_in_handshake(self) -> bool:
        """Whether TLS with either side is not agreed on yet."""
        return any(tls is not None and tls.handshake_since is not None for tls in (self._tls, self._front))

    def check_handshakes(self, now: float, limit_s: float) -> None:
        """Give up a TLS handshake that has taken longer than this."""
        tls, front = self._tls, self._front
        if tls is not None and tls.handshake_since is not None and now - tls.handshake_since > limit_s:
            self._link.tls_failed("TLS: the handshake timed out")
        elif front is not None and front.is_late(now, limit_s):
            front.give_up()

    def look_at_end(self) -> None:
        """Report what is unread and says why the upstream has ended the connection, which is to be reset."""
        if self._tls is not None:
            self._tls.look_at_end()

    def let_go(self) -> None:
        """Drop what refers to the layer: the memory of all is then free at once."""
        self._drop_session()
        self._forward = self._tls = self._front = self.gate = None

    def _drop_session(self) -> None:
        """Let go of the session, once: what follows may fail, and the whole layer is let go then."""
        session, self._plain = self._plain, None
        if session is not None:
            session.let_go()

    # --- events of the two sides --------------------------------------------------------------

    def from_client(self, events: list[Event]) -> None:
        """Take events that the client's side has released."""
        front = self._front
        if front is not None and self._intercepted is not None and front.finds_clear_text(events):
            # Some clients open tunnels for http://, too: neither side speaks TLS then.
            self._front = self._tls = front = None
        if front is None:
            self._from_client(events)
        else:
            for event in events:
                if self._link.dead:
                    return
                self._from_client(front.receive(event))
                if front.delays is not None:
                    self._delays.add(event.at, *front.delays)
                    front.delays = None
        if self._passes_down and not self._link.dead:
            self._go_straight()

    def _from_client(self, events: list[Event]) -> None:
        for event in events:
            if self._link.dead:
                return
            if isinstance(event, Reset) and self._delays.any_after(event.at):
                self._link.reset()  # Nothing waits any more for the requests that rules hold back.
                return
            if self._tls is not None and self._tls.opening is not None:
                self._tls.choose_protocol(self._tls.opening, event)
            if self._first_bytes is not None:
                for plain in self._look(self._first_bytes, event):
                    if self._link.dead:
                        return
                    self._read(plain)
            elif self._plain is not None:
                self._plain.from_client(event)
            else:
                self._read(event)

    def _look(self, first: FirstBytes, event: Event) -> list[Event]:
        """Return what is to be read, once it is known which version of HTTP the client speaks."""
        events = first.from_client(event)
        if first.are_http_2 is not None:
            self._first_bytes = None
            if first.are_http_2:
                self._begin_http_2()
            elif self._tls is None and self._front is None and isinstance(self._plain, Http1Session):
                # The session decides for each message: with TLS, that is done on plain bytes only.
                self._link.up.whole = self._plain.whole_request
                self._link.down.whole = self._plain.whole_response
            self._pass_down(first.held)
        return events

    def _begin_http_2(self) -> None:
        # Imported here, because the `h2` library takes a while.
        proxy, (host, own_port) = self._link.proxy, self._upstream_host()
        self._drop_session()
        if host is not None and not proxy.understands_http() and not proxy.services.observed:
            from faultkit.proxy.http2_passage import Http2Passage

            self._plain = Http2Passage(proxy, self._carry_out, host, own_port)
            self._passes_down = True
            return
        from faultkit.proxy.http2_session import Http2Session

        self._plain = session = Http2Session(self._link, self._carry_out, self._spares_tunnel, host, own_port)
        session.start()

    def _read(self, event: Event) -> None:
        """Take an event of the client, in the protocol that it speaks."""
        if self._plain is not None:
            self._plain.from_client(event)
        elif self._postgres is None:
            self._send(event)
        else:
            self._send_postgres(self._postgres, event)

    def from_upstream(self, events: list[Event]) -> None:
        """Take events that the upstream's side has released."""
        leg, front = self._leg, self._front
        if self._intercepted is not None and front is not None and front.is_untouched:
            self._upstream_first(events, self._intercepted)
        for event in events:
            for plain in (event,) if self._tls is None else self._tls.receive(event):
                if self._link.dead or self._leg != leg:
                    return
                if self._first_bytes is not None:
                    self._pass_down(self._first_bytes.from_upstream(plain))
                elif self._plain is not None:
                    self._plain.from_upstream(plain)
                else:
                    self._to_client(plain)
        if self._passes_down and not self._link.dead:
            self._go_straight()

    def _pass_down(self, events: Iterable[Event]) -> None:
        """Take plain events of the upstream, in the protocol that the client speaks."""
        for event in events:
            if self._link.dead:
                return
            if self._plain is None:
                self._to_client(event)
            else:
                self._plain.from_upstream(event)

    def _go_straight(self) -> None:
        """Let bytes pass between the two sides without a look at them, once all have agreed to TLS."""
        if (legs := self._agreed_legs()) is None:
            return
        if self._passes_up:
            self._passes_up = False
            self._link.up.straight = straight(*legs)
        if self._tls is None or self._tls.has_spoken:  # Its first record may be an alert.
            self._passes_down = False
            self._link.down.straight = straight(*reversed(legs))

    def _agreed_legs(self) -> tuple[TlsLeg | None, TlsLeg | None] | None:
        """Return TLS with the client and with the upstream, where it is spoken, once all have agreed."""
        front, tls = self._front, self._tls
        near, far = None if front is None else front.agreed, None if tls is None else tls.agreed
        if (front is not None and near is None) or (tls is not None and far is None):
            return None
        return near, far

    def connected(self, at: float) -> None:
        """Begin TLS, or the exchange, now that the upstream's socket is connected."""
        if self._intercepted is not None and self._forward is not None:
            self._enter_tunnel(at, self._intercepted, self._forward)
        if self._tls is not None:
            self._tls.connected(at)
        elif self._forward is not None:
            self._carry_out(self._forward.dialled(at))

    def _send(self, event: Event) -> None:
        """Send an event to the upstream, as records if TLS is used."""
        if self._tls is None:
            self._link.up.feed_far(event)
        else:
            self._tls.send(event)

    def _to_client(self, event: Event) -> None:
        """Send an event to the client, as records if TLS is used."""
        if self._front is None:
            self._link.down.feed_far(event)
        else:
            self._front.send(event)

    def dial_failed(self, at: float, why: str) -> int | None:
        """Answer the requests that wait for the upstream, and return how many; None without HTTP."""
        if self._forward is not None:
            return self._forward.dial_failed(at, why)
        front, tls = self._front, self._tls
        if front is None or not front.awaits_upstream or tls is None or not tls.started:
            return None
        front.upstream_failed(at, why)
        return 0

    # --- what a session asks for --------------------------------------------------------------

    def _carry_out(self, outputs: list[Output]) -> None:
        for output in outputs:
            # By far the most outputs are one of these two: a pattern that looks into them costs more.
            if isinstance(output, ToUpstream):
                self._send(output.event)
                continue
            if isinstance(output, ToClient):
                self._to_client(output.event)
                continue
            match output:
                case Hangup():
                    self._leg += 1
                    self._tls = None
                    self._link.hang_up()
                case Dial(host, port, tls, tunnel):
                    origin = Endpoint(host, port)
                    self._intercepted = origin if tunnel and self._intercepts(origin) else None
                    broken = self._link.proxy.spec.broken
                    if tunnel and self._intercepted is None and (broken is None or broken.covers(host, port)):
                        self._link.proxy.report_unreadable(f"what is inside CONNECT {origin}")
                    if self._forward is not None:
                        self._forward.named = str(origin)
                    self._link.dial_soon(origin, tls or self._intercepted is not None)
                case _:
                    assert_never(output)

    def speak_tls(self, host: str) -> None:
        """Use TLS with the upstream that is dialled next. Raises ValueError for a name that no server can
        have."""
        intercepts = self._intercepted is not None
        self._tls = UpstreamTls(self._link, host, self._upstream_ready, awaits_offer=intercepts)

    # --- interception of a CONNECT tunnel -----------------------------------------------------

    def _intercepts(self, origin: Endpoint) -> bool:
        spec = self._link.proxy.spec
        return spec.intercept is not None and spec.intercept.covers(origin.host, origin.port)

    def _ask_upstream(self, protocols: tuple[str, ...], at: float) -> None:
        """Ask the upstream which of the protocols that the client offers it speaks."""
        if self._tls is not None:
            self._tls.offer(protocols, at)

    def _upstream_ready(self, at: float, protocol: str | None) -> None:
        """Go on, now that the upstream has agreed to TLS, and to a protocol if it was asked (ALPN)."""
        front = self._front
        if front is not None and front.awaits_upstream:
            self._from_client(front.agree(protocol, at))
        elif self._forward is not None:
            self._carry_out(self._forward.dialled(at))

    def _enter_tunnel(self, at: float, origin: Endpoint, forward: Http1Session) -> None:
        """Agree to a tunnel that is intercepted: its upstream is connected. TLS with the upstream begins when
        it is known what the client offers."""
        outputs = forward.dialled(at)
        self._forward = None
        early: list[Event] = []
        for output in outputs:
            if isinstance(output, ToClient):
                self._to_client(output.event)
            elif isinstance(output, ToUpstream):
                early.append(output.event)  # The client has not waited for the answer to CONNECT.
        if self._link.client_exempt and not self._link.exempt:
            self._link.client_exempt = False  # A tunnel has one host: rules that come later may act.
        self._drop_session()
        self._plain = self._http_1()
        if self._link.proxy.plans_http():
            self._first_bytes = FirstBytes()
        self._front = greet_client(self._link, origin.host, self._ask_upstream)
        self.from_client(early)

    def _upstream_first(self, events: list[Event], origin: Endpoint) -> None:
        """Pass a tunnel on as it is if its upstream speaks first, as no server of TLS or HTTP does."""
        if not events or not isinstance(events[0], Data):
            return
        self._link.proxy.report_unreadable(f"what is inside CONNECT {origin}")
        self._drop_session()
        self._front = self._tls = self._first_bytes = None

    def _spares_tunnel(self) -> bool:
        """Return whether the host of an intercepted tunnel is not to be broken."""
        return self._intercepted is not None and self._link.exempt

    # --- rules that end -----------------------------------------------------------------------

    def end_delays(self, acting: Collection[ActiveStreamRule], now: float) -> bool:
        """Take off the delays of requests by rules that do not act any more. True if there were any.

        What the faults of answers hold back comes at once."""
        gone_s = 0.0 if self._plain is None else self._plain.end_rules(acting, now)
        if self._link.dead:
            return False
        gone_s = self._delays.take_off(acting, now, gone_s)
        if not gone_s:
            return False
        for part in (self._plain, self._front, self._tls):
            if part is not None:
                part.bring_forward(gone_s, now)
        for direction in (self._link.up, self._link.down):
            if direction.far_chain is not None:
                direction.far_chain.bring_forward(gone_s, now)
        return True

    # --- PostgreSQL ---------------------------------------------------------------------------

    def _send_postgres(self, start: PostgresStart, event: Event) -> None:
        """Answer the client's own requests for encryption, and send the rest to the upstream."""
        payload = event.payload if isinstance(event, Data) else None
        answer, rest = start.from_client(payload or b"", at_end=payload is None)
        if answer:
            self._to_client(Data(event.at, answer))
        if rest:
            self._send(Data(event.at, rest))
        if payload is None:
            self._send(event)
