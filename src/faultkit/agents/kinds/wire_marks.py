"""Marks of a run that are taken from the wire: what a client called, and what it came to know of it.

A witness of a gateway in front of one server, and of the HTTP in front of that. A caller whose reply never
came has given the call up when it says so or hangs up, at the latest when it makes another call; calls that
are made in one go are not taken for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from faultkit.agents.execute.seen import answered, lasts_ms, outcome_of
from faultkit.agents.execute.servers import tool_info
from faultkit.agents.execute.virtual import METHOD, PERMANENT_KINDS, effect_of
from faultkit.agents.kinds.agent import ToolInfo, ToolOutcome
from faultkit.agents.recovery.trace import CallMark
from faultkit.base.http.server import Answer, Request
from faultkit.faults.call.call import Call, Cut, Frame, Message, Verdict
from faultkit.mcp.gateway.recording import Side
from faultkit.mcp.wire.era import SESSION_HEADER, era_of
from faultkit.mcp.wire.message import INVALID_PARAMS, Id, Incoming, cancelled_id, read, target_of
from faultkit.plan import Rule

ONE_GO_MS = 100.0
"""Calls that begin within this are of one turn: the later ones do not show that the first was given up."""

_ALL_MODERN = "modern"
"""The one session of an era that has none."""

_Key: TypeAlias = tuple[str, Id]


@dataclass(slots=True)
class _Wired:
    """A call on its way."""

    call: Call
    start_ms: float
    end_ms: float | None = None
    outcome: ToolOutcome | None = None
    rule: Rule | None = None
    verdict: Verdict | None = None
    reply: Message | None = None
    """The server's, whatever the caller got."""


class WireMarks:
    def __init__(
        self, server: str, now_ms: Callable[[], float], called: Callable[[], None] = lambda: None
    ) -> None:
        """`called` is told of each call of a tool."""
        self._server = server
        self._now_ms = now_ms
        self._called = called
        self._calls: list[_Wired] = []
        self._open: dict[_Key, _Wired] = {}
        self._tools: dict[str, ToolInfo] = {}
        self._frozen: dict[str, Rule] = {}
        """Sessions of which nothing is answered any more, nor passed on."""

    # Of Witness.

    def message(self, session: str, side: Side, incoming: Incoming) -> None:
        if side == "client":
            if incoming.kind == "request" and incoming.method == METHOD and incoming.id is not None:
                self._begin(session, incoming.id, incoming.params)
            elif (called_off := cancelled_id(incoming)) is not None:
                self.cancelled(session, called_off)
        elif incoming.kind == "response" and incoming.id is not None:
            self._replied(session, incoming.id, incoming.message)

    def injected(self, session: str, rule: Rule, call: Call, verdict: Verdict) -> None:
        wired = self._open.get((session, call.id))
        if wired is not None and call.method == METHOD:
            wired.rule, wired.verdict = rule, verdict
        if verdict.freeze:
            self._frozen[session] = rule

    def sent(self, session: str, id: Id, frame: Frame) -> None:
        wired = self._open.get((session, id))
        if wired is None:
            return
        outcome = outcome_of(wired.call, frame)
        if isinstance(frame, Cut):
            # Over HTTP the connection ends there, and the caller sees that.
            outcome = ToolOutcome("lost", "the answer ended in its middle")
        if outcome is not None:
            self._end(wired, outcome, self._now_ms() + lasts_ms(frame))

    def lost(self, session: str) -> None:
        """Its server has left, and no call of it will be answered."""
        for (own, _), wired in self._open.items():
            if own == session:
                self._end(wired, ToolOutcome("lost", "the server left"), self._now_ms())

    # Of HttpFront.

    def admit(self, request: Request, answer: Answer, serve: Callable[[str], None]) -> None:
        """Lets everybody in, and sees who leaves before the answer."""
        incoming = read(request.body) if request.method == "POST" and request.body else None
        if incoming is not None and incoming.kind == "request" and incoming.method == METHOD:
            self._arrived(request, incoming, answer)
        serve("")

    def _arrived(self, request: Request, incoming: Incoming, answer: Answer) -> None:
        id = incoming.id
        assert id is not None
        if era_of(incoming, request.headers) == "modern":
            # In this era, to hang up is to call it off.
            session = _ALL_MODERN
            answer.on_gone(lambda: self.cancelled(session, id))
        else:
            session = request.headers.get(SESSION_HEADER, "")
            answer.on_gone(lambda: None if answer.began else self._left(session, id))
        rule = self._frozen.get(session)
        if rule is not None:
            self._begin(session, id, incoming.params)
            self._open[session, id].rule = rule

    # --- the life of a call -------------------------------------------------------------------

    def cancelled(self, session: str, id: Id) -> None:
        """Its caller has called it off."""
        wired = self._open.get((session, id))
        now_ms = self._now_ms()
        if wired is not None and (wired.end_ms is None or now_ms < wired.end_ms):
            wired.outcome, wired.end_ms = ToolOutcome("cancelled", "cancelled by the client"), now_ms

    def _left(self, session: str, id: Id) -> None:
        wired = self._open.get((session, id))
        if wired is not None:
            self._end(wired, ToolOutcome("timeout", "the client hung up"), self._now_ms())

    def marks(self, last_word_ms: float | None) -> list[CallMark]:
        """In the order in which they began. `last_word_ms`: None if the client never had one."""
        return [self._mark(wired, last_word_ms) for wired in self._calls]

    def _begin(self, session: str, id: Id, params: Mapping[str, Any]) -> None:
        call = Call(METHOD, target_of(METHOD, dict(params)), params, id, self._server)
        wired = _Wired(call, self._now_ms())
        self._calls.append(wired)
        self._open[session, id] = wired
        self._called()

    def _replied(self, session: str, id: Id, message: Message) -> None:
        result = message.get("result")
        if isinstance(result, dict) and isinstance(listed := result.get("tools"), list):
            infos = (tool_info(each, self._server) for each in listed if isinstance(each, dict))
            self._tools.update((info.name, info) for info in infos)
        wired = self._open.get((session, id))
        if wired is not None and wired.reply is None:
            wired.reply = message
            if wired.verdict is None or wired.verdict.frames is None:
                self._end(wired, answered(message), self._now_ms())

    def _end(self, wired: _Wired, outcome: ToolOutcome, at_ms: float) -> None:
        if wired.outcome is None:
            wired.outcome, wired.end_ms = outcome, at_ms

    def _mark(self, wired: _Wired, last_word_ms: float | None) -> CallMark:
        call = wired.call
        given = call.params.get("arguments")
        arguments = given if isinstance(given, Mapping) else {}
        info = self._tools.get(call.name, ToolInfo(call.name, self._server))
        outcome, end_ms = wired.outcome, wired.end_ms
        if outcome is None:
            outcome, end_ms = ToolOutcome("timeout", ""), self._given_up_ms(wired, last_word_ms)
        rule, verdict = wired.rule, wired.verdict
        return CallMark(
            call.name,
            wired.start_ms,
            end_ms,
            outcome.outcome,
            arguments,
            server=self._server,
            fault="" if rule is None else rule.name,
            permanent=rule is not None and rule.fault.kind in PERMANENT_KINDS,
            invalid=outcome.error_code == INVALID_PARAMS
            or bool(self._tools and call.name not in self._tools),
            retry_after_ms=outcome.retry_after_ms,
            effect=effect_of(info, arguments, wired.reply),
            is_read=info.read_only,
            canaries=(verdict.marker,) if verdict is not None and verdict.marker else (),
        )

    def _given_up_ms(self, wired: _Wired, last_word_ms: float | None) -> float | None:
        later = (each.start_ms for each in self._calls if each.start_ms - wired.start_ms > ONE_GO_MS)
        return min(later, default=last_word_ms)
