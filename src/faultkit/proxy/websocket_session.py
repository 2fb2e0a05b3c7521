"""WebSocket on one link: the exchange of `proxy/websocket` at work, with rules, timers and warnings.

It is loaded for the first connection that is upgraded while the plan has a rule for it. It stands behind the
HTTP/1.1 of the connection: `take` gets what that passes on, which from the answer 101 on are the bytes and
ends of the two peers. TLS is not its business.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from faultkit.faults.fault import FOREVER
from faultkit.faults.websocket_fault import ControlKind, DelayMessage, WebSocketFault
from faultkit.plan import Flow
from faultkit.plan.match import MessageKind
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.http import Output, RequestHead, ResponseHead, ToClient, ToUpstream
from faultkit.proxy.rule_binding import BoundLink
from faultkit.proxy.websocket import Acting, Judged, WebSocketExchange
from faultkit.proxy.websocket.compression import read_extensions

_MOST_WAITING = 1 << 20
_PASSES = Judged()


class WebSocketLink(BoundLink, Protocol):
    """What a session needs of its link."""

    def abort(self) -> None:
        """End both connections after a defect."""

    def release_to_client(self, now: float) -> None:
        """Send what the session has just written to the client."""


class WebSocketSession:
    """WebSocket between the two sockets of a link. It is the `MessageRules` of its exchange."""

    __slots__ = (
        "_carry_out",
        "_covers",
        "_exchange",
        "_head",
        "_link",
        "_noted",
        "_seen",
        "_units",
        "_wake_at",
    )

    def __init__(
        self,
        link: WebSocketLink,
        carry_out: Callable[[list[Output]], None],
        request: RequestHead,
        response: ResponseHead,
    ) -> None:
        """`carry_out` does what the exchange asks for; `request` and `response` have opened it."""
        self._link = link
        self._carry_out = carry_out
        self._head = request
        self._covers: dict[ActiveStreamRule, bool] = {}
        """Whether each rule covers the request."""
        self._seen: dict[ActiveStreamRule, int] = {}
        """Messages of this connection that each rule has covered."""
        self._units: dict[str, int] = {}
        """Messages, and pings and pongs, that have come each way."""
        self._noted: dict[tuple[ActiveStreamRule, Flow], int] = {}
        agreed = read_extensions(response.header("sec-websocket-extensions"))
        self._exchange = WebSocketExchange(self, agreed)
        self._wake_at = FOREVER

    def take(self, outputs: list[Output]) -> None:
        """Take what HTTP/1.1 passes on: bytes and ends of a peer, or something else, which is done."""
        for output in outputs:
            if self._link.dead:
                return
            if isinstance(output, ToClient):
                self._do(self._exchange.from_upstream(output.event))
            elif isinstance(output, ToUpstream):
                self._do(self._exchange.from_client(output.event))
            else:
                self._carry_out([output])

    def wants_input(self, flow: Flow) -> bool:
        """Return whether more bytes that flow this way are taken."""
        # Copies that a peer does not read must not pile up.
        way = self._link.up if flow == "to_upstream" else self._link.down
        return self._exchange.wants_input(flow) and way.waiting_bytes < _MOST_WAITING

    def end_rules(self, acting: Collection[ActiveStreamRule], now: float) -> None:
        """Let go what rules hold back that act no more, and forget those that are gone."""
        known = self._link.proxy.services.active.rules
        self._covers = {active: covers for active, covers in self._covers.items() if active in known}
        self._seen = {active: seen for active, seen in self._seen.items() if active in known}
        self._noted = {key: count for key, count in self._noted.items() if key[0] in known}
        self._do(self._exchange.end_rules(acting, now))
        self._pump()

    def _do(self, outputs: list[Output]) -> None:
        link, exchange = self._link, self._exchange
        self._carry_out(outputs)
        if link.dead:
            return
        for trouble in exchange.troubles:
            link.proxy.report_once(trouble)
        exchange.troubles.clear()
        if exchange.wake_at < self._wake_at:
            self._wake_at = exchange.wake_at
            link.proxy.services.loop.call_at(self._wake_at, self._timer_due, link.abort)

    def _timer_due(self, at: float) -> None:
        if at != self._wake_at:
            return
        self._wake_at = FOREVER
        if not self._link.dead:
            self._do(self._exchange.wake(self._link.proxy.services.loop.clock()))
            self._pump()

    def _pump(self) -> None:
        if not self._link.dead:
            self._link.up.pump_again()
            self._link.down.pump_again()

    # --- rules --------------------------------------------------------------------------------

    def judge(self, flow: Flow, kind: MessageKind) -> Judged:
        """Return what rules do to the next message of a way."""
        unit = self._next_unit(flow)
        delays: dict[ActiveStreamRule, float] = {}
        effects: list[Acting] = []
        for active, fault in self._rules(flow, kind):
            if fault.control_frames:
                continue
            seen = self._seen.get(active, 0)
            self._seen[active] = seen + 1
            if seen < fault.spared_messages or not active.fires(self._link.proxy.name, unit):
                continue
            effect = fault.effect(active.unit_rng(self._link.proxy.name, unit, "message"))
            if not isinstance(effect, DelayMessage):
                effects.append(Acting(active, effect, self._recorder(active, flow)))
            elif effect.delay_s:
                delays[active] = effect.delay_s
                self._record(active, flow, "delay_ms", effect.delay_s * 1000)
        return Judged(delays, tuple(effects)) if delays or effects else _PASSES

    def swallows(self, flow: Flow, kind: ControlKind) -> bool:
        """Return whether a rule keeps the next ping or pong of a way from its receiver."""
        unit = self._next_unit(f"{flow}.control")
        for active, fault in self._rules(flow, None):
            if fault.swallows(kind) and active.fires(self._link.proxy.name, unit):
                self._record(active, flow, f"{kind}_dropped", 1.0)
                return True
        return False

    def _rules(self, flow: Flow, kind: MessageKind | None) -> list[tuple[ActiveStreamRule, WebSocketFault]]:
        """Return the rules that cover this connection and such messages."""
        found = []
        head = self._head
        for active in self._link.proxy.message_rules:
            match, fault = active.rule.match, active.rule.fault
            assert isinstance(fault, WebSocketFault)
            if active not in self._covers:
                self._covers[active] = match.covers_request(head.method, head.target, head.headers)
            if self._covers[active] and match.covers_message(flow, kind):
                found.append((active, fault))
        return found

    def _next_unit(self, what: str) -> str:
        number = self._units.get(what, 0)
        self._units[what] = number + 1
        return f"{self._link.ordinal}.{what}.{number}"

    def _recorder(self, active: ActiveStreamRule, flow: Flow) -> Callable[[str, float], None]:
        return lambda effect, value: self._record(active, flow, effect, value)

    def _record(self, active: ActiveStreamRule, flow: Flow, effect: str, value: float) -> None:
        count = self._noted.get((active, flow), 0)
        self._noted[active, flow] = count + 1
        self._link.proxy.record_injection(active, self._link.ordinal, flow, count, effect, value)
