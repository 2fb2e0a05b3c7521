"""The protocol layer between the two sockets of a link where bytes are not simply passed on: HTTP, TLS or
both.

client ─▶ up.near_chain ─▶ ( TLS ─▶ HTTP ─▶ TLS ) ─▶ up.far_chain ─▶ upstream
client ◀─ down.far_chain ◀─ ( TLS ◀─ HTTP ◀─ TLS ) ◀─ down.near_chain ◀─ upstream

HTTP is `proxy/http`, TLS with the upstream is `proxy/upstream_tls`, and TLS with the client is
`proxy/client_tls`, all without I/O. This module carries out what they ask for, on a link that it knows only
as `LayeredLink`.

A forward proxy that intercepts a CONNECT tunnel is from there on a proxy of that one upstream. Where both
sides speak TLS, the ClientHello of the client comes first, then TLS with the upstream, which is offered the
same protocols (ALPN), then TLS with the client, which gets what the upstream has chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Protocol, assert_never

from faultkit.base.address import Endpoint
from faultkit.faults.events import Data, Event, Reset
from faultkit.faults.fault import FOREVER
from faultkit.faults.http_fault import AnswerFilter, HttpVerdict
from faultkit.plan import Flow
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.client_tls import ClientTls, greet_client
from faultkit.proxy.first_bytes import FirstBytes
from faultkit.proxy.host_gate import GatedLink, HostGate
from faultkit.proxy.http import (
    HTTP_2,
    TLS,
    Answered,
    Dial,
    Hangup,
    HttpExchange,
    Output,
    RequestHead,
    ToClient,
    ToUpstream,
    host_field,
    origin_of,
)
from faultkit.proxy.plane_events import Directed
from faultkit.proxy.postgres_start import PostgresStart
from faultkit.proxy.request_rules import judge_answer, judge_request, paces
from faultkit.proxy.rule_delay import Delays
from faultkit.proxy.upstream_tls import UpstreamTls

if TYPE_CHECKING:
    from faultkit.proxy.http2_session import Http2Session

_MOST_WAITING = 1 << 20
_MOST_PACED = 1 << 16


class LayeredLink(GatedLink, Protocol):
    """What a layer needs of its link."""

    def dial_soon(self, origin: Endpoint, tls: bool) -> None:
        """Dial another upstream, after the events in hand."""

    def hang_up(self) -> None:
        """Close the present upstream, or cancel its dial."""

    def tls_failed(self, why: str) -> None:
        """The TLS handshake with the upstream failed."""

    def close(self) -> None:
        """End both connections by FIN."""

    def reset(self, how: str = "reset") -> None:
        """End both connections by RST."""

    def abort(self) -> None:
        """End both connections after a defect."""


class ProtocolLayer:
    """HTTP, TLS or both, on one link."""

    __slots__ = (
        "_delays",
        "_exchange",
        "_filters",
        "_first_bytes",
        "_forward",
        "_front",
        "_http_2",
        "_intercepted",
        "_leg",
        "_link",
        "_named",
        "_postgres",
        "_tls",
        "gate",
    )

    def __init__(self, link: LayeredLink) -> None:
        spec = link.proxy.spec
        self._link = link
        self._forward = spec.upstream is None
        self._leg = 0
        """Number of the upstream connection: events of an earlier one are dropped."""
        self.gate: HostGate | None = None
        self._delays: list[tuple[float, Delays]] = []
        """For each request that a rule delays: until when, and the part of each rule in it."""
        self._filters: dict[ActiveStreamRule, AnswerFilter] = {}
        """The filters of the answer that came last, by their rules."""
        self._front: ClientTls | None = None
        """TLS with the client."""
        self._intercepted: Endpoint | None = None
        """The host of a CONNECT tunnel that is, or is to be, intercepted."""
        self._tls: UpstreamTls | None = None
        self._postgres: PostgresStart | None = None
        self._exchange: HttpExchange | None = None
        self._first_bytes: FirstBytes | None = None
        """Finds out whether the client speaks HTTP/2, if rules act on that."""
        self._http_2: Http2Session | None = None
        self._named = ""
        """The origin that a forward proxy's client has named last, of those that were emitted."""
        if spec.upstream is None:
            exchange = self._exchange = HttpExchange(self._judge, "forward", judge_answer=self._judge_answer)
            if spec.broken is not None and spec.broken.upstreams and link.proxy.needs_gate():
                self.gate = HostGate(link, spec.broken, lambda: exchange.opaque_reason is not None)
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
            host, own_port = self._upstream_host()
            self._exchange = HttpExchange(self._judge, "reverse", host, own_port, self._judge_answer)
        elif link.proxy.understands_http():
            self._exchange = HttpExchange(self._judge, "inline", judge_answer=self._judge_answer)
        if link.proxy.understands_http() or (spec.rewrite_host and self._front is not None):
            self._first_bytes = FirstBytes()

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
        if self._http_2 is not None and not self._http_2.wants_input(flow):
            return False
        if flow == "to_client":
            if self._front is not None and self._front.waiting_bytes > _MOST_WAITING:
                return False
            # What a fault lets through slowly waits with the upstream, but for a little.
            slow = self._exchange is not None and self._exchange.paces
            return not slow or self._link.down.waiting_bytes < _MOST_PACED
        if self.gate is not None and not self.gate.is_open:
            return False
        if self._tls is not None and self._tls.waiting_bytes > _MOST_WAITING:
            return False
        # Answers of our own that the client does not read must not pile up.
        return self._exchange is None or (
            self._exchange.wants_input and self._link.down.waiting_bytes < _MOST_WAITING
        )

    @property
    def is_needless(self) -> bool:
        """True if bytes pass both ways unchanged (a CONNECT tunnel): the link can do without the layer."""
        return (
            self._tls is None
            and self._front is None
            and self._exchange is not None
            and self._exchange.transparent
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

    def let_go(self) -> None:
        """Drop what refers to the layer: the memory of all is then free at once."""
        self._exchange = self._http_2 = self._tls = self._front = None

    # --- events of the two sides --------------------------------------------------------------

    def from_client(self, events: list[Event]) -> None:
        """Take events that the client's side has released."""
        front = self._front
        if front is None:
            self._from_client(events)
            return
        for event in events:
            if self._link.dead:
                return
            self._from_client(front.receive(event))
            if front.delays is not None:
                self._delays.append(front.delays)
                front.delays = None

    def _from_client(self, events: list[Event]) -> None:
        for event in events:
            if self._link.dead:
                return
            if isinstance(event, Reset) and any(until > event.at for until, _ in self._delays):
                self._link.reset()  # Nothing waits any more for the requests that rules hold back.
                return
            if self._tls is not None and self._tls.opening is not None:
                self._tls.choose_protocol(self._tls.opening, event)
            for plain in (event,) if self._first_bytes is None else self._look(self._first_bytes, event):
                self._read(plain)

    def _look(self, first: FirstBytes, event: Event) -> list[Event]:
        """Return what is to be read, once it is known which version of HTTP the client speaks."""
        events = first.from_client(event)
        if first.are_http_2 is not None:
            self._first_bytes = None
            if first.are_http_2:
                self._begin_http_2()
            self._pass_down(first.held)
        return events

    def _begin_http_2(self) -> None:
        # Imported here, because the `h2` library takes a while.
        from faultkit.proxy.http2_session import Http2Session

        self._exchange = None
        host, own_port = self._upstream_host()
        self._http_2 = Http2Session(self._link, self._carry_out, self._spares_tunnel, host, own_port)

    def _read(self, event: Event) -> None:
        """Take an event of the client, in the protocol that it speaks."""
        exchange = self._exchange
        if self._http_2 is not None:
            self._http_2.from_client(event)
        elif exchange is None:
            if self._postgres is None:
                self._send(event)
            else:
                self._send_postgres(self._postgres, event)
        else:
            known = exchange.opaque_reason or exchange.unreadable
            self._carry_out(exchange.from_client(event))
            if known is None and (exchange.opaque_reason or exchange.unreadable):
                self._report_protocol(exchange)

    def _report_protocol(self, exchange: HttpExchange) -> None:
        """Report once that a client does not speak what this proxy can read."""
        proxy, reason = self._link.proxy, exchange.opaque_reason
        if reason is None:
            if exchange.unreadable == TLS:
                proxy.report_once(
                    "a client that speaks TLS was refused: this port takes clear text (http://)"
                )
            return
        proxy.report_unreadable(reason if reason == HTTP_2 else f"a connection ({reason})")
        if proxy.spec.rewrite_host and reason == HTTP_2:
            proxy.report_once("HTTP/2 passes as bytes: its :authority is not replaced by the upstream's")

    def from_upstream(self, events: list[Event]) -> None:
        """Take events that the upstream's side has released."""
        leg = self._leg
        for event in events:
            for plain in (event,) if self._tls is None else self._tls.receive(event):
                if self._link.dead or self._leg != leg:
                    return
                first = self._first_bytes
                self._pass_down((plain,) if first is None else first.from_upstream(plain))

    def _pass_down(self, events: Iterable[Event]) -> None:
        """Take plain events of the upstream, in the protocol that the client speaks."""
        for event in events:
            if self._http_2 is not None:
                self._http_2.from_upstream(event)
            elif self._exchange is None:
                self._to_client(event)
            else:
                self._carry_out(self._exchange.from_upstream(event))

    def connected(self, at: float) -> None:
        """Begin TLS, or the exchange, now that the upstream's socket is connected."""
        if self._intercepted is not None:
            self._enter_tunnel(at, self._intercepted)
        if self._tls is not None:
            self._tls.connected(at)
        elif self._forward and self._exchange is not None:
            self._carry_out(self._exchange.dialled(at))

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
        exchange = self._exchange
        if not self._forward or exchange is None:
            front, tls = self._front, self._tls
            if front is None or not front.awaits_upstream or tls is None or not tls.started:
                return None
            front.upstream_failed(at, why)
            return 0
        before = exchange.unreached
        self._carry_out(exchange.dial_failed(at, why))
        return exchange.unreached - before

    # --- HTTP ---------------------------------------------------------------------------------

    def _carry_out(self, outputs: list[Output]) -> None:
        for output in outputs:
            match output:
                case ToClient(event):
                    self._to_client(event)
                case ToUpstream(event):
                    self._send(event)
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
                    self._named = str(origin)
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
        front, exchange = self._front, self._exchange
        if front is not None and front.awaits_upstream:
            self._from_client(front.agree(protocol, at))
        elif self._forward and exchange is not None:
            self._carry_out(exchange.dialled(at))

    def _enter_tunnel(self, at: float, origin: Endpoint) -> None:
        """Agree to a tunnel that is intercepted: its upstream is connected. TLS with the upstream begins when
        it is known what the client offers."""
        exchange = self._exchange
        if not self._forward or exchange is None:
            return
        outputs = exchange.dialled(at)
        self._forward = False
        early: list[Event] = []
        for output in outputs:
            if isinstance(output, ToClient):
                self._to_client(output.event)
            elif isinstance(output, ToUpstream):
                early.append(output.event)  # The client has not waited for the answer to CONNECT.
        if self._link.client_exempt and not self._link.exempt:
            self._link.client_exempt = False  # A tunnel has one host: rules that come later may act.
        self._exchange = HttpExchange(self._judge, "inline", judge_answer=self._judge_answer)
        if self._link.proxy.plans_http():
            self._first_bytes = FirstBytes()
        self._front = greet_client(self._link, origin.host, self._ask_upstream)
        self.from_client(early)

    def _judge(self, head: RequestHead) -> HttpVerdict:
        verdict, delays = judge_request(self._link, head, spared=self._spares(head))
        if self._forward and verdict.status is not None and not verdict.call_upstream:
            self._answered_for(str(origin_of(head)))
        if delays:
            now = self._link.proxy.services.loop.clock()
            self._delays = [held for held in self._delays if held[0] > now]
            self._delays.append((now + verdict.delay_s, delays))
        return verdict

    def _judge_answer(self, answered: Answered) -> tuple[list[AnswerFilter], bool]:
        head, status = answered.request, answered.response.status
        if not self._link.proxy.answer_rules or self._spares(head):
            self._filters = {}
        else:
            self._filters = judge_answer(self._link, head, answered.number, status, dropped=answered.dropped)
        return list(self._filters.values()), any(map(paces, self._filters))

    def _spares(self, head: RequestHead) -> bool:
        """Return whether a request goes to an upstream that is not to be broken."""
        broken = self._link.proxy.spec.broken
        if not self._forward or broken is None:
            return self._spares_tunnel()
        origin = origin_of(head)
        return not broken.covers(origin.host, origin.port)

    def _spares_tunnel(self) -> bool:
        """Return whether the host of an intercepted tunnel is not to be broken."""
        return self._intercepted is not None and self._link.exempt

    def _answered_for(self, origin: str) -> None:
        """Emit the origin of a request that a rule answers: it may never be dialled, which emits it too."""
        services = self._link.proxy.services
        if services.observed and origin != self._named:
            self._named = origin
            services.emit(
                Directed(services.loop.clock(), self._link.proxy.name, self._link.ordinal, origin, False)
            )

    def end_delays(self, acting: Collection[ActiveStreamRule], now: float) -> bool:
        """Take off the delays of requests by rules that do not act any more. True if there were any.

        Requests that wait one behind another come forward together, by the longest of these delays. What the
        faults of answers hold back comes at once."""
        if self._http_2 is not None:
            self._http_2.end_rules(acting, now)
            return True
        gone_s = 0.0
        if self._exchange is not None and any(active not in acting for active in self._filters):
            gone = [each for active, each in self._filters.items() if active not in acting]
            gone_s = (
                FOREVER if any(paces(active) for active in self._filters if active not in acting) else 0.0
            )
            self._filters = {active: each for active, each in self._filters.items() if active in acting}
            self._carry_out(self._exchange.let_go(gone, now))
        if self._link.dead or not (self._delays or gone_s):
            return False
        left: list[tuple[float, Delays]] = []
        for until, delays in self._delays:
            if until > now:
                gone_s = max(gone_s, sum(s for active, s in delays.items() if active not in acting))
                left.append((until, {active: s for active, s in delays.items() if active in acting}))
        self._delays = [(max(now, until - gone_s), delays) for until, delays in left if delays]
        if not gone_s:
            return False
        if self._exchange is not None:
            self._exchange.bring_forward(gone_s, now)
        if self._front is not None:
            self._front.bring_forward(gone_s, now)
        if self._tls is not None:
            self._tls.bring_forward(gone_s, now)
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
