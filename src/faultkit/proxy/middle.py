"""What stands between the two sockets of a link where bytes are not simply passed on: HTTP, TLS or both.

client ─▶ up.lane ─▶ ( HTTP ─▶ TLS ) ─▶ up.far ─▶ upstream
client ◀─ down.far ◀─ ( HTTP ◀─ TLS ) ◀─ down.lane ◀─ upstream
"""

from __future__ import annotations

import ssl
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from faultkit.base.address import Endpoint
from faultkit.faults.events import Close, Data, Eof, Event, Reset, moved
from faultkit.faults.fault import HttpFault, HttpVerdict
from faultkit.plan import Flow
from faultkit.proxy.eventloop import FAILED
from faultkit.proxy.happenings import Requested
from faultkit.proxy.http import (
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
from faultkit.proxy.tls import TlsLeg, tls_context

if TYPE_CHECKING:
    from faultkit.proxy.link import Link


_MOST_WAITING = 1 << 20


class Middle:
    __slots__ = ("_exchange", "_forward", "_leg", "_link", "_tls", "_wire_at", "shaking_since")

    def __init__(self, link: Link) -> None:
        spec = link.proxy.spec
        self._link = link
        self._forward = spec.upstream is None
        self._wire_at = 0.0
        """No record may overtake another: one that is delayed holds back those after it."""
        self._leg = 0
        """Counts upstream connections: what comes of one that was given up is not to be heard."""
        self.shaking_since: float | None = None
        """When the TLS handshake began, until it is done."""
        self._tls: TlsLeg | None = None
        self._exchange: HttpExchange | None = None
        if spec.upstream is None:
            self._exchange = HttpExchange(self._judge, "forward")
            return
        if spec.tls:
            self._tls = TlsLeg(tls_context(spec.verify), spec.upstream.host)
        if spec.rewrite_host:
            host = host_field(spec.upstream.host, spec.upstream.port, spec.tls)
            self._exchange = HttpExchange(self._judge, "reverse", host)
        elif link.proxy.understands_http():
            self._exchange = HttpExchange(self._judge, "inline")

    def wants_input(self, flow: Flow) -> bool:
        if flow == "to_client":
            return True
        if self._tls is not None and self._tls.waiting_bytes > _MOST_WAITING:
            return False
        # Answers of our own that the client does not read must not pile up.
        return self._exchange is None or (
            self._exchange.wants_input and self._link.down.waiting_bytes < _MOST_WAITING
        )

    @property
    def is_needless(self) -> bool:
        """Bytes pass both ways as they are (a CONNECT tunnel): the two sockets can be joined without it."""
        return self._tls is None and self._exchange is not None and self._exchange.transparent

    # --- what happens on the two sides --------------------------------------------------------

    def from_client(self, events: list[Event]) -> None:
        for event in events:
            if self._link.dead:
                return
            if self._exchange is None:
                self._send(event)
            else:
                self._carry_out(self._exchange.from_client(event))

    def from_upstream(self, events: list[Event]) -> None:
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
        """The upstream's socket is there; TLS begins, where it is wanted."""
        if self._tls is not None:
            self.shaking_since = at
            self._put_records(at, self._tls.start())
        elif self._forward and self._exchange is not None:
            self._carry_out(self._exchange.dialled(at))

    def dial_failed(self, at: float, why: str, injected: bool) -> bool:
        """True if the client is told in its own language; False leaves it to the link."""
        exchange = self._exchange
        if not self._forward or exchange is None:
            return False
        before = exchange.unreached
        self._carry_out(exchange.dial_failed(at, why))
        if not injected:
            self._link.proxy.own_answers += exchange.unreached - before
        self._link.let_go_to_client(at)
        return True

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
                    self._tls = self.shaking_since = None
                    self._link.hang_up()
                case Dial(host, port, tls):
                    self._link.dial_soon(Endpoint(host, port), tls)
                case _:
                    assert_never(output)

    def speak_tls(self, host: str) -> None:
        """To the upstream that is dialled next. Raises ValueError for a name that cannot be one."""
        self._tls = TlsLeg(tls_context(self._link.proxy.spec.verify), host)

    def _judge(self, head: RequestHead) -> HttpVerdict:
        """All acting rules that match: delays add up, the first status counts."""
        link = self._link
        proxy = link.proxy
        ordinal = proxy.plane.worker.number(proxy.requests)
        proxy.requests += 1
        injected: list[str] = []
        verdict = HttpVerdict()
        for state in () if self._is_spared(head) else proxy.rules_of("http"):
            fault = state.rule.fault
            assert isinstance(fault, HttpFault)
            if not state.rule.match.covers_request(head.method, head.target, head.headers):
                continue
            if not state.fires(proxy.name, str(ordinal)):
                continue
            own = fault.judge(state.rng(proxy.name, ordinal, "http"))
            verdict = replace(verdict, delay_s=verdict.delay_s + own.delay_s)
            if own.delay_s:
                link.note(state, None, ordinal, "delay_ms", own.delay_s * 1000)
            if own.status is not None and verdict.status is None:
                verdict = replace(own, delay_s=verdict.delay_s)
                link.note(state, None, ordinal, "status", own.status)
            injected.append(state.rule.name)
        if link.plane.observed:
            at = link.loop.clock()
            link.plane.tell(
                Requested(at, proxy.name, link.ordinal, head.method, head.target, tuple(injected))
            )
        return verdict

    def _is_spared(self, head: RequestHead) -> bool:
        broken = self._link.proxy.spec.broken
        if not self._forward or broken is None:
            return False
        origin = origin_of(head)
        return not broken.covers(origin.host, origin.port)

    # --- TLS ----------------------------------------------------------------------------------

    def _send(self, event: Event) -> None:
        """Towards the upstream, as records if it speaks TLS."""
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
        """Say farewell, but not in the middle of the handshake: what waits for its end goes first."""
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
            if not tls.ready:
                self._cut_in_handshake(event)
                return []
            return [] if isinstance(event, Eof) and tls.ended else [event]
        was_ready, had_ended = tls.ready, tls.ended
        try:
            plain = tls.decrypt(event.payload)
        except ssl.SSLError as error:
            if was_ready:
                return [Reset(event.at)]
            self._link.tls_failed(_why(error))
            return []
        self._put_records(event.at, tls.records())
        if tls.ready and not was_ready:
            self.shaking_since = None
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
            link.close()  # A fault's doing, as only faults close; the next is likewise.
        else:
            link.reset()


def _why(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: the certificate is not trusted: {error.verify_message}"
    return f"TLS: {(error.reason or str(error)).lower().replace('_', ' ')}"
