"""HTTP/2 on one link: the exchange of `proxy/http2` at work, with rules, timers and warnings.

It is loaded for the first client whose first bytes are those of HTTP/2. From then on `layers` gives it all
events of both sides. TLS is not its business: it gets and returns plain bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from faultkit.faults.events import Event
from faultkit.faults.fault import FOREVER
from faultkit.plan import Flow
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.http import Output
from faultkit.proxy.http2 import Filtered, Http2Exchange, Judged, RequestFields
from faultkit.proxy.request_rules import ActingEffect, judge_answer, judge_request, paces
from faultkit.proxy.rule_binding import BoundLink

_MOST_WAITING = 1 << 20
_OVER_HTTP_2 = "a request over HTTP/2, where LLM rules are not exercised (let the client use HTTP/1.1)"


class Http2Link(BoundLink, Protocol):
    """What a session needs of its link."""

    def abort(self) -> None:
        """End both connections after a defect."""


class Http2Session:
    """HTTP/2 between the two sockets of a link."""

    __slots__ = ("_carry_out", "_exchange", "_link", "_spares", "_wake_at")

    def __init__(
        self,
        link: Http2Link,
        carry_out: Callable[[list[Output]], None],
        spares: Callable[[], bool],
        host: str | None = None,
        own_port: int | None = None,
    ) -> None:
        """`carry_out` does what the exchange asks for; `spares` returns whether no rule may act now. `host`
        and `own_port` are those of `Http2Exchange`."""
        self._link = link
        self._carry_out = carry_out
        self._spares = spares
        self._exchange = Http2Exchange(self._judge, host, own_port, self._judge_answer)
        self._wake_at = FOREVER

    def start(self) -> None:
        """Send our own preface on both legs."""
        self._do(self._exchange.start(self._link.proxy.services.loop.clock()))

    def from_client(self, event: Event) -> None:
        """Take an event that the client's side has released."""
        self._do(self._exchange.from_client(event))

    def from_upstream(self, event: Event) -> None:
        """Take an event that the upstream's side has released."""
        self._do(self._exchange.from_upstream(event))

    def wants_input(self, flow: Flow) -> bool:
        """Return whether more bytes that flow this way are taken."""
        # Frames of our own that a peer does not read, such as answers to PING, must not pile up.
        answers = self._link.down if flow == "to_upstream" else self._link.up
        return self._exchange.wants_input and answers.waiting_bytes < _MOST_WAITING

    def end_rules(self, acting: Collection[ActiveStreamRule], now: float) -> float:
        """Let go what rules hold back that act no more. Nothing else comes forward for that: 0 seconds."""
        self._do(self._exchange.end_rules(acting, now))
        self._pump()
        return 0.0

    def bring_forward(self, by_s: float, now: float) -> None:
        """Do nothing: each stream has its own times."""

    def let_go(self) -> None:
        """Drop what refers to the session."""
        del self._exchange

    def _do(self, outputs: list[Output]) -> None:
        link, exchange = self._link, self._exchange
        if exchange.trouble is not None:
            link.proxy.report_once(exchange.trouble)  # Before the frames that may end the link.
        self._carry_out(outputs)
        if link.dead:
            return
        loop = link.proxy.services.loop
        if not exchange.wants_input:
            # Not by a timer: those that are due run before any other connection has its turn.
            loop.call_soon(self._read_on, link.abort)
        elif exchange.wake_at < self._wake_at:
            self._wake_at = exchange.wake_at
            loop.call_at(self._wake_at, self._timer_due, link.abort)

    def _timer_due(self, at: float) -> None:
        if at == self._wake_at:
            self._wake_at = FOREVER
            self._read_on()

    def _read_on(self) -> None:
        link = self._link
        if link.dead:
            return
        self._do(self._exchange.wake(link.proxy.services.loop.clock()))
        self._pump()

    def _pump(self) -> None:
        link = self._link
        if not link.dead:
            link.up.pump_again()
            link.down.pump_again()

    def _judge(self, request: RequestFields) -> Judged:
        effects: list[ActingEffect] = []
        spared, proxy = self._spares(), self._link.proxy
        if not spared and request.method == "POST" and (proxy.llm_rules or proxy.recorder is not None):
            proxy.count_untouched(_OVER_HTTP_2)
        verdict, delays = judge_request(self._link, request, spared=spared, effects=effects)
        if not effects:
            return Judged(verdict, delays)
        first = effects[0]
        return Judged(verdict, delays, first.effect, first.rule, first.note)

    def _judge_answer(
        self, request: RequestFields, number: int, status: int, dropped: bool
    ) -> Filtered | None:
        link = self._link
        if not link.proxy.answer_rules or self._spares():
            return None
        filters = judge_answer(link, request, number, status, dropped=dropped)
        return Filtered(filters, frozenset(filter(paces, filters))) if filters else None
