"""The protocol layer between the two sockets of a link where bytes are not simply passed on: HTTP, TLS or
both.

client ─▶ up.near_chain ─▶ ( HTTP ─▶ TLS ) ─▶ up.far_chain ─▶ upstream
client ◀─ down.far_chain ◀─ ( HTTP ◀─ TLS ) ◀─ down.near_chain ◀─ upstream

HTTP is `proxy/http` and TLS is `proxy/tls`, both without I/O. This module carries out what they ask for, on a
link that it knows only as `LayeredLink`.
"""

from __future__ import annotations

import ssl
from collections.abc import Collection
from typing import Protocol, assert_never

from faultkit.base.address import Endpoint
from faultkit.base.certificates import why_handshake_failed
from faultkit.faults.events import Close, Data, Eof, Event, Reset, brought_forward, moved
from faultkit.faults.fault import FOREVER
from faultkit.faults.http_fault import AnswerFault, AnswerFilter, HttpVerdict
from faultkit.plan import Flow
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.event_loop import FAILED
from faultkit.proxy.host_gate import GatedLink, HostGate
from faultkit.proxy.http import (
    HTTP_2,
    HTTP_2_PREFACE,
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
from faultkit.proxy.postgres_start import SSL_REQUEST, PostgresStart, why_no_tls
from faultkit.proxy.request_rules import judge_answer, judge_request
from faultkit.proxy.rule_delay import Delays
from faultkit.proxy.tls import TlsLeg, tls_context

_MOST_WAITING = 1 << 20
_MOST_PACED = 1 << 16
_NO_HTTP_2 = f"TLS: the upstream does not offer {HTTP_2}, which the client speaks"


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


class ProtocolLayer:
    """HTTP, TLS or both, on one link."""

    __slots__ = (
        "_asks_http_2",
        "_connected",
        "_delays",
        "_exchange",
        "_filters",
        "_forward",
        "_leg",
        "_link",
        "_named",
        "_opening",
        "_postgres",
        "_tls",
        "_wire_at",
        "gate",
        "handshake_since",
    )

    def __init__(self, link: LayeredLink) -> None:
        spec = link.proxy.spec
        self._link = link
        self._forward = spec.upstream is None
        self._wire_at = 0.0
        """Time of the latest TLS record to the upstream. No record may overtake another: one that is delayed
        holds back those after it."""
        self._leg = 0
        """Number of the upstream connection: events of an earlier one are dropped."""
        self.handshake_since: float | None = None
        """When the TLS handshake began, until it is done."""
        self.gate: HostGate | None = None
        self._delays: list[tuple[float, Delays]] = []
        """For each request that a rule delays: until when, and the part of each rule in it."""
        self._filters: dict[ActiveStreamRule, AnswerFilter] = {}
        """The filters of the answer that came last, by their rules."""
        self._tls: TlsLeg | None = None
        self._connected = False
        self._asks_http_2 = False
        self._opening: bytes | None = None
        """The client's first bytes while they may become the preface of HTTP/2, else None. The handshake
        waits for them, because it must name the protocol."""
        self._postgres: PostgresStart | None = None
        self._exchange: HttpExchange | None = None
        self._named = ""
        """The origin that a forward proxy's client has named last, of those that were emitted."""
        if spec.upstream is None:
            exchange = self._exchange = HttpExchange(self._judge, "forward", judge_answer=self._judge_answer)
            if spec.broken is not None and spec.broken.upstreams and link.proxy.needs_gate():
                self.gate = HostGate(link, spec.broken, lambda: exchange.opaque_reason is not None)
            return
        if spec.tls:
            self._tls = TlsLeg(tls_context(spec.verify), spec.upstream.host)
            if spec.speaks == "http":
                self._opening = b""
            elif spec.speaks == "psql":
                self._postgres = PostgresStart()
        if spec.rewrite_host:
            host = host_field(spec.upstream.host, spec.upstream.port, spec.tls)
            own_port = link.proxy.bound.port if spec.tls else None
            self._exchange = HttpExchange(self._judge, "reverse", host, own_port, self._judge_answer)
        elif link.proxy.understands_http():
            self._exchange = HttpExchange(self._judge, "inline", judge_answer=self._judge_answer)

    def wants_input(self, flow: Flow) -> bool:
        """Return whether the layer takes more bytes that flow this way."""
        if flow == "to_client":
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
        return self._tls is None and self._exchange is not None and self._exchange.transparent

    def let_go(self) -> None:
        """Drop the exchange, which refers to the layer: the memory of both is then free at once."""
        self._exchange = None

    # --- events of the two sides --------------------------------------------------------------

    def from_client(self, events: list[Event]) -> None:
        """Take events that the client's side has released."""
        for event in events:
            if self._link.dead:
                return
            if isinstance(event, Reset) and any(until > event.at for until, _ in self._delays):
                self._link.reset()  # Nothing waits any more for the requests that rules hold back.
                return
            if self._opening is not None:
                self._open(self._opening, event)
            exchange = self._exchange
            if exchange is None:
                if self._postgres is None:
                    self._send(event)
                else:
                    self._send_postgres(self._postgres, event)
                continue
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
            for plain in (event,) if self._tls is None else self._decrypt(self._tls, event):
                if self._link.dead or self._leg != leg:
                    return
                if self._exchange is None:
                    self._link.down.feed_far(plain)
                else:
                    self._carry_out(self._exchange.from_upstream(plain))

    def connected(self, at: float) -> None:
        """Begin TLS, or the exchange, now that the upstream's socket is connected."""
        self._connected = True
        if self._tls is not None:
            if self._postgres is not None:
                self.handshake_since = at
                self._put_records(at, SSL_REQUEST)
            elif self._opening is None:
                self._start_handshake(self._tls, at)
        elif self._forward and self._exchange is not None:
            self._carry_out(self._exchange.dialled(at))

    def dial_failed(self, at: float, why: str) -> int | None:
        """Answer the requests that wait for the upstream, and return how many; None without HTTP."""
        exchange = self._exchange
        if not self._forward or exchange is None:
            return None
        before = exchange.unreached
        self._carry_out(exchange.dial_failed(at, why))
        return exchange.unreached - before

    # --- HTTP ---------------------------------------------------------------------------------

    def _carry_out(self, outputs: list[Output]) -> None:
        for output in outputs:
            match output:
                case ToClient(event):
                    self._link.down.feed_far(event)
                case ToUpstream(event):
                    self._send(event)
                case Hangup():
                    self._leg += 1
                    self._tls = self.handshake_since = None
                    self._link.hang_up()
                case Dial(host, port, tls, tunnel):
                    broken = self._link.proxy.spec.broken
                    if tunnel and (broken is None or broken.covers(host, port)):
                        self._link.proxy.report_unreadable(f"what is inside CONNECT {Endpoint(host, port)}")
                    self._named = str(Endpoint(host, port))
                    self._link.dial_soon(Endpoint(host, port), tls)
                case _:
                    assert_never(output)

    def speak_tls(self, host: str) -> None:
        """Use TLS with the upstream that is dialled next. Raises ValueError for a name that no server can
        have."""
        self._tls = TlsLeg(tls_context(self._link.proxy.spec.verify), host)

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
        return list(self._filters.values()), any(map(_paces, self._filters))

    def _spares(self, head: RequestHead) -> bool:
        """Return whether a request goes to an upstream that is not to be broken."""
        broken = self._link.proxy.spec.broken
        if not self._forward or broken is None:
            return False
        origin = origin_of(head)
        return not broken.covers(origin.host, origin.port)

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
        gone_s = 0.0
        if self._exchange is not None and any(active not in acting for active in self._filters):
            gone = [each for active, each in self._filters.items() if active not in acting]
            gone_s = (
                FOREVER if any(_paces(active) for active in self._filters if active not in acting) else 0.0
            )
            self._filters = {active: each for active, each in self._filters.items() if active in acting}
            self._carry_out(self._exchange.let_go(gone, now))
        if self._link.dead or self._exchange is None or not (self._delays or gone_s):
            return False
        left: list[tuple[float, Delays]] = []
        for until, delays in self._delays:
            if until > now:
                gone_s = max(gone_s, sum(s for active, s in delays.items() if active not in acting))
                left.append((until, {active: s for active, s in delays.items() if active in acting}))
        self._delays = [(max(now, until - gone_s), delays) for until, delays in left if delays]
        if not gone_s:
            return False
        self._exchange.bring_forward(gone_s, now)
        self._wire_at = brought_forward(self._wire_at, gone_s, now)
        for direction in (self._link.up, self._link.down):
            if direction.far_chain is not None:
                direction.far_chain.bring_forward(gone_s, now)
        return True

    # --- TLS ----------------------------------------------------------------------------------

    def _open(self, before: bytes, event: Event) -> None:
        """Let the handshake begin once the client's first bytes show whether it speaks HTTP/2."""
        tls = self._tls
        opening = before
        if isinstance(event, Data):
            opening += event.payload
            if len(opening) < len(HTTP_2_PREFACE) and HTTP_2_PREFACE.startswith(opening):
                self._opening = opening
                return
        self._opening = None
        if tls is None or isinstance(event, (Close, Reset)):
            return
        if opening.startswith(HTTP_2_PREFACE):
            self._asks_http_2 = True
            tls.use(tls_context(self._link.proxy.spec.verify, http_2=True))
        if self._connected:
            self._start_handshake(tls, event.at)

    def _send_postgres(self, start: PostgresStart, event: Event) -> None:
        """Answer the client's own requests for encryption, and send the rest to the upstream."""
        if isinstance(event, Data):
            answer, rest = start.from_client(event.payload)
        else:
            answer, rest = start.from_client(b"", at_end=True)
        if answer:
            self._link.down.feed_far(Data(event.at, answer))
        if rest:
            self._send(Data(event.at, rest))
        if not isinstance(event, Data):
            self._send(event)

    def _agreed_to_tls(self, tls: TlsLeg, event: Data) -> None:
        """Begin TLS if the upstream's answer to SSLRequest allows it."""
        why = why_no_tls(event.payload)
        if why is None:
            self._start_handshake(tls, event.at)
        else:
            self._link.tls_failed(why)

    def _start_handshake(self, tls: TlsLeg, at: float) -> None:
        self.handshake_since = at
        self._put_records(at, tls.start())

    def _send(self, event: Event) -> None:
        """Send an event to the upstream, as records if TLS is used."""
        tls = self._tls
        if tls is None:
            self._link.up.feed_far(event)
        elif isinstance(event, Data):
            tls.encrypt(event.payload)
            self._put_records(event.at, tls.records())
        elif isinstance(event, Eof):
            tls.finishing = True
            self._finish_if_ready(tls, event.at)
        else:
            self._link.up.feed_far(moved(event, max(event.at, self._wire_at)))

    def _finish_if_ready(self, tls: TlsLeg, at: float) -> None:
        """Send close_notify, but not during the handshake: what waits for its end goes first."""
        if tls.finishing and tls.ready:
            tls.finish()
            self._put_records(at, tls.records())
            self._link.up.feed_far(Eof(self._wire_at))

    def _put_records(self, at: float, records: bytes) -> None:
        self._wire_at = max(self._wire_at, at)
        if records:
            self._link.up.feed_far(Data(self._wire_at, records))

    def _decrypt(self, tls: TlsLeg, event: Event) -> list[Event]:
        if not isinstance(event, Data):
            if self.handshake_since is not None:
                self._cut_in_handshake(event)
                return []
            return [] if isinstance(event, Eof) and tls.ended else [event]
        if self._postgres is not None and not tls.started:
            self._agreed_to_tls(tls, event)
            return []
        was_ready, had_ended = tls.ready, tls.ended
        try:
            plain = tls.decrypt(event.payload)
        except ssl.SSLError as error:
            if was_ready:
                return [Reset(event.at)]
            why = why_handshake_failed(error)
            if self._asks_http_2 and "no application protocol" in why:
                why = _NO_HTTP_2
            elif self._asks_http_2:
                why += f" ({HTTP_2} was asked for, as the client speaks it)"
            self._link.tls_failed(why)
            return []
        self._put_records(event.at, tls.records())
        if tls.ready and not was_ready:
            self.handshake_since = None
            if self._asks_http_2 and tls.protocol != "h2":
                self._link.tls_failed(_NO_HTTP_2)
                return []
            self._finish_if_ready(tls, event.at)
            self._link.up.pump_again()
            if self._forward and self._exchange is not None:
                self._carry_out(self._exchange.dialled(event.at))
        events: list[Event] = [Data(event.at, plain)] if plain else []
        if tls.ended and not had_ended:
            events.append(Eof(event.at))
        return events

    def _cut_in_handshake(self, event: Event) -> None:
        link = self._link
        if isinstance(event, Eof) or link.down.ending & FAILED:
            link.tls_failed("TLS: the upstream ended the connection during the handshake")
        elif isinstance(event, Close):
            link.close()  # A fault closed the stream. The next case is a fault's reset.
        else:
            link.reset()


def _paces(active: ActiveStreamRule) -> bool:
    fault = active.rule.fault
    return isinstance(fault, AnswerFault) and fault.paces
