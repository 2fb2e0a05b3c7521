"""HTTP/1.1 on one link: the exchange of `proxy/http` at work, with rules and warnings.

It gets the plain events of both sides from `layers`, which carries out what the exchange asks for. From the
answer that opens a WebSocket connection on, a `WebSocketSession` stands behind the exchange, if a rule needs
it. TLS, sockets and the frames of HTTP/2 are not its business.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from faultkit.faults.events import Event
from faultkit.faults.fault import FOREVER
from faultkit.faults.http_fault import AnswerFilter, HttpVerdict
from faultkit.plan import Flow
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.http import (
    HTTP_2,
    TLS,
    Answered,
    Mode,
    Output,
    RequestHead,
    ResponseHead,
    WholeMessages,
    origin_of,
)
from faultkit.proxy.http.answer_rewrite import TextsOfChunks, texts_of_chunks
from faultkit.proxy.llm_bodies import LlmBodies
from faultkit.proxy.native import native
from faultkit.proxy.plane_events import Directed
from faultkit.proxy.request_rules import judge_answer, judge_request, paces, plans_messages
from faultkit.proxy.rule_delay import RequestDelays

if TYPE_CHECKING:
    from faultkit.proxy.websocket_session import WebSocketLink, WebSocketSession

_MOST_WAITING = 1 << 20
_MOST_PACED = 1 << 16


_texts_of_chunks: TextsOfChunks = texts_of_chunks if native is None else native.texts_of_chunks


class Http1Session:
    """HTTP/1.1 between the two sockets of a link."""

    __slots__ = (
        "_bodies",
        "_carry_out",
        "_delays",
        "_exchange",
        "_filters",
        "_forward",
        "_link",
        "_spares",
        "_wake_at",
        "_websocket",
        "named",
    )

    def __init__(
        self,
        link: WebSocketLink,
        carry_out: Callable[[list[Output]], None],
        spares: Callable[[], bool],
        delays: RequestDelays,
        mode: Mode = "inline",
        host: str | None = None,
        own_port: int | None = None,
    ) -> None:
        """`carry_out` does what the exchange asks for; `spares` returns whether no rule may act now; `delays`
        gets those of requests. `mode`, `host` and `own_port` are those of `HttpExchange`."""
        self._link = link
        self._carry_out = carry_out
        self._spares = spares
        self._delays = delays
        self._forward = mode == "forward"
        self._filters: dict[ActiveStreamRule, AnswerFilter] = {}
        """The filters of the answer that came last, by their rules."""
        self.named = ""
        """The origin that a forward proxy's client has named last, of those that were emitted."""
        self._websocket: WebSocketSession | None = None
        """What the exchange passes on goes through it, from the answer 101 on."""
        self._bodies = LlmBodies(link, self._spares_request)
        self._exchange = WholeMessages(
            self._judge, mode, host, own_port, self._judge_answer, self._judge_upgrade, self._bodies
        )
        self._wake_at = FOREVER
        self._exchange.judges_answers = link.proxy.judges_answers()

    @property
    def transparent(self) -> bool:
        """Whether bytes pass both ways unchanged from now on."""
        return self._exchange.transparent and self._websocket is None

    @property
    def opaque(self) -> bool:
        """Whether the peers speak something else than HTTP, now or since they agreed to."""
        return self._exchange.opaque_reason is not None

    def wants_input(self, flow: Flow) -> bool:
        """Return whether more bytes that flow this way are taken."""
        if self._websocket is not None:
            return self._websocket.wants_input(flow)
        if flow == "to_client":
            # What a fault lets through slowly waits with the upstream, but for a little.
            return not self._exchange.paces or self._link.down.waiting_bytes < _MOST_PACED
        # Answers of our own that the client does not read must not pile up.
        return self._exchange.wants_input and self._link.down.waiting_bytes < _MOST_WAITING

    def from_client(self, event: Event) -> None:
        """Take an event that the client's side has released."""
        exchange = self._exchange
        known = exchange.opaque_reason or exchange.unreadable
        outputs = exchange.from_client(event)
        if self._websocket is None:
            self._carry_out(outputs)
        else:
            self._do(outputs)
        if known is None and (exchange.opaque_reason or exchange.unreadable):
            self._report_protocol(exchange)

    def from_upstream(self, event: Event) -> None:
        """Take an event that the upstream's side has released."""
        self._do(self._exchange.from_upstream(event))
        if self._filters:
            self._set_timer()

    def whole_request(self, payload: bytes, at: float) -> float | None:
        """Take bytes of the client if they are one request; see `WholeMessages.whole_request`."""
        due_at = self._exchange.whole_request(payload, at)
        if due_at == FOREVER:
            self._carry_out(self._exchange.take_outputs())
        return due_at

    @property
    def whole_response(self) -> Callable[[bytes, float], float | None]:
        """What takes bytes of the upstream if they are one response; see `WholeMessages.whole_response`."""
        return self._exchange.whole_response

    def _pass_stream(self, payload: bytes, at: float) -> float | None:
        """Take bytes of the upstream if they are whole chunks of a model's answer: `Direction.whole`, until
        the answer ends. Return when they go to the client as they are; FOREVER: something else was done."""
        exchange = self._exchange
        taken = exchange.take_chunks(payload, at, _texts_of_chunks)
        if isinstance(taken, bytes):
            return at
        if taken is not None:
            self._do(taken)
            self._set_timer()
            return FOREVER
        if exchange.rewrites:
            return None
        self._link.down.whole = exchange.whole_response
        return exchange.whole_response(payload, at)

    def _do(self, outputs: list[Output]) -> None:
        websocket = self._websocket
        if websocket is None:
            self._carry_out(outputs)
            return
        begin, self._exchange.upgraded_at = self._exchange.upgraded_at, None
        if begin is not None:
            self._carry_out(outputs[:begin])
        websocket.take(outputs[begin:])

    def _set_timer(self) -> None:
        """Come back when a fault has more to send by itself."""
        link = self._link
        if not link.dead and self._exchange.wake_at < self._wake_at:
            self._wake_at = self._exchange.wake_at
            link.proxy.services.loop.call_at(self._wake_at, self._timer_due, link.abort)

    def _timer_due(self, at: float) -> None:
        if at == self._wake_at and not self._link.dead:
            self._wake_at = FOREVER
            now = self._link.proxy.services.loop.clock()
            self._do(self._exchange.wake(now))
            if not self._link.dead:
                # No timer of the direction need be left: what waited before may all have been sent by now.
                self._link.release_to_client(now)
            self._set_timer()

    def dialled(self, at: float) -> list[Output]:
        """Continue: the upstream that was asked for by `Dial` is connected."""
        return self._exchange.dialled(at)

    def dial_failed(self, at: float, why: str) -> int:
        """Answer the requests that wait for the upstream, and return how many."""
        exchange = self._exchange
        before = exchange.unreached
        self._carry_out(exchange.dial_failed(at, why))
        return exchange.unreached - before

    def end_rules(self, acting: Collection[ActiveStreamRule], now: float) -> float:
        """Let go what rules of answers hold back that act no more. Return by how many seconds everything that
        waits comes forward for that."""
        if self._link.proxy.judges_answers():
            self._exchange.judges_answers = True  # For good: a request may have been judged for its answer.
        if self._websocket is not None:
            self._websocket.end_rules(acting, now)
        gone = {active: each for active, each in self._filters.items() if active not in acting}
        if not gone:
            return 0.0
        self._filters = {active: each for active, each in self._filters.items() if active in acting}
        self._do(self._exchange.let_go(list(gone.values()), now))
        return FOREVER if any(map(paces, gone)) else 0.0

    def bring_forward(self, by_s: float, now: float) -> None:
        """Take `by_s` off what is still to come: a rule that delayed it acts no more."""
        self._exchange.bring_forward(by_s, now)

    def let_go(self) -> None:
        """Drop what refers to the session."""
        del self._exchange
        self._websocket = None

    def _report_protocol(self, exchange: WholeMessages) -> None:
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

    # --- rules --------------------------------------------------------------------------------

    def _judge(self, head: RequestHead) -> HttpVerdict:
        verdict, delays = judge_request(self._link, head, spared=self._spares_request(head))
        if self._forward and verdict.status is not None and not verdict.call_upstream:
            self._answered_for(str(origin_of(head)))
        if delays:
            now = self._link.proxy.services.loop.clock()
            self._delays.add(now, now + verdict.delay_s, delays)
        return verdict

    def _judge_answer(self, answered: Answered) -> tuple[list[AnswerFilter], bool]:
        head, status = answered.request, answered.response.status
        if self._spares_request(head):
            self._filters = {}
        else:
            self._filters = judge_answer(self._link, head, answered.number, status, dropped=answered.dropped)
        filters = list(self._filters.values())
        of_models = self._bodies.take_filter(answered.number)
        if of_models is not None:
            filter, rules = of_models
            filters.insert(0, filter)
            self._filters |= dict.fromkeys(rules, filter)
            if self._link.down.whole is not None:
                self._link.down.whole = self._pass_stream
        recording = self._bodies.take_recording(answered.number)
        if recording is not None:
            filters.insert(0, recording)
        return filters, any(map(paces, self._filters))

    def _judge_upgrade(self, request: RequestHead, response: ResponseHead) -> bool:
        """Return whether a rule may act on the messages of a connection that is a WebSocket from now on."""
        if (response.header("upgrade") or "").lower() != "websocket" or self._spares_request(request):
            return False
        if not plans_messages(self._link, request):
            return False
        # Imported here, because few connections need it.
        from faultkit.proxy.websocket_session import WebSocketSession

        self._websocket = WebSocketSession(self._link, self._carry_out, request, response)
        return True

    def _spares_request(self, head: RequestHead) -> bool:
        """Return whether a request goes to an upstream that is not to be broken."""
        broken = self._link.proxy.spec.broken
        if not self._forward or broken is None:
            return self._spares()
        origin = origin_of(head)
        return not broken.covers(origin.host, origin.port)

    def _answered_for(self, origin: str) -> None:
        """Emit the origin of a request that a rule answers: it may never be dialled, which emits it too."""
        link = self._link
        services = link.proxy.services
        if services.observed and origin != self.named:
            self.named = origin
            services.emit(Directed(services.loop.clock(), link.proxy.name, link.ordinal, origin, False))
