"""The calls of a run as the wire shows them: what a client called, and what it received.

`WireObserver` observes a gateway in front of one server and the HTTP front before it. Replies and frames are
matched to calls by session and request id; a modern request has no session, so all of them share one.

A call without a reply ends when the client cancels it or disconnects, at the latest when the client starts
another call: the client then waits for the first one no longer. Calls that start within `SAME_TURN_MS` of
each other belong to one turn of an agent and do not end each other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from faultkit.agents.execute.observed_outcome import (
    LOST_IN_MIDDLE,
    changes_nothing,
    duration_ms,
    outcome_of_frame,
    outcome_of_reply,
)
from faultkit.agents.execute.virtual_toolbox import METHOD, effect_of, is_permanent
from faultkit.agents.recovery.planted import PlantedValues, planted_by
from faultkit.agents.recovery.trace import TracedCall
from faultkit.agents.suite.agent_interface import ToolInfo, ToolOutcome, tool_info
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.faults.call_fault import Call, Cut, Frame, Message, Verdict
from faultkit.mcp.gateway.recorder import Side
from faultkit.mcp.wire.era import SESSION_HEADER, era_of
from faultkit.mcp.wire.message import INVALID_PARAMS, Id, Incoming, cancelled_id, read, target_of
from faultkit.plan import Rule

SAME_TURN_MS = 100.0
"""Calls that start within this time of each other are made in parallel by one turn of an agent."""

_MODERN_SESSION = "modern"
"""Session id of all modern requests: that era has no sessions."""

_FRAMES_KEPT = 2

_CallKey: TypeAlias = tuple[str, Id]
"""Session id and request id."""


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """A fault that acts on a call."""

    name: str
    """Name of its rule."""
    permanent: bool
    """A repeated call cannot succeed."""
    needs_reply: bool = False
    """It changes the server's reply and nothing else: without a reply, it was not met."""


@dataclass(frozen=True, slots=True)
class WireFacts:
    """What the wire shows of a call beyond its trace."""

    traced: TracedCall
    session: str
    tool: ToolInfo
    """The tool as its server last listed it."""
    outcome: ToolOutcome
    """What the caller got."""
    was_asked: bool
    """True unless a fault kept the call from the server."""
    has_reply: bool
    """True if the server replied, whatever the caller got."""


@dataclass(slots=True)
class _WireCall:
    """A call as the gateway sees it."""

    call: Call
    session: str
    start_ms: float
    end_ms: float | None = None
    outcome: ToolOutcome | None = None
    fault: InjectedFault | None = None
    verdict: Verdict | None = None
    reply: Message | None = None
    """The server's reply, even if a fault kept it from the caller."""
    frames: list[Frame] = field(default_factory=list)
    """The first frames that the client got in place of the reply: enough to see whether they differ."""


@dataclass(slots=True)
class _RewrittenReply:
    """A reply that a fault may change, to a request that is no call of a tool."""

    fault: str
    """Name of its rule."""
    verdict: Verdict
    reply: Message | None = None
    """The server's reply."""
    frames: list[Frame] = field(default_factory=list)
    """The frames that the client got, until one differs from the reply."""


class WireObserver:
    """An observer of the calls to one server."""

    def __init__(
        self, server: str, now_ms: Callable[[], float], on_call: Callable[[], None] = lambda: None
    ) -> None:
        """Create an observer. `on_call` is called at the start of each call of a tool."""
        self._server = server
        self._now_ms = now_ms
        self._on_call = on_call
        self._calls: list[_WireCall] = []
        """In the order of their start."""
        self._open: dict[_CallKey, _WireCall] = {}
        self._tools: dict[str, ToolInfo] = {}
        self._has_whole_list = False
        """The last page of a list of tools was seen."""
        self._frozen: dict[str, InjectedFault] = {}
        """Sessions that a fault froze: nothing is answered or passed on any more."""
        self.met_elsewhere: list[str] = []
        """Faults that acted on requests that are no calls of tools."""
        self._rewritten: dict[_CallKey, _RewrittenReply] = {}
        """Requests that are no calls of tools, and whose replies a fault may change."""

    # Reports of the gateway

    def message(self, session: str, side: Side, incoming: Incoming) -> None:
        """Note a message: a call begins, is cancelled, or is answered by the server."""
        if side == "client":
            if incoming.kind == "request" and incoming.method == METHOD and incoming.id is not None:
                self._begin(session, incoming.id, incoming.params)
            elif (cancelled := cancelled_id(incoming)) is not None:
                self.cancelled(session, cancelled)
        elif incoming.kind == "response" and incoming.id is not None:
            self._replied(session, incoming.id, incoming.message)

    def injected(self, session: str, rule: Rule, call: Call, verdict: Verdict) -> None:
        """Note the fault that a call meets."""
        permanent = is_permanent(rule.fault.kind, rule.lasts, verdict)
        fault = InjectedFault(rule.name, permanent, verdict.only_rewrites)
        self.met(session, call.id, call.method, fault, verdict)

    def met(self, session: str, id: Id, method: str, fault: InjectedFault, verdict: Verdict) -> None:
        """Note the fault that a request meets."""
        wire_call = self._open.get((session, id))
        if method == METHOD:
            # A recording may lack the call: nothing is then known of it, nor whether it met the fault.
            if wire_call is not None:
                wire_call.fault, wire_call.verdict = fault, verdict
        elif verdict.only_rewrites and verdict.effect:
            # It is met once the reply is seen to differ.
            self._rewritten[session, id] = _RewrittenReply(fault.name, verdict)
        elif verdict.effect:
            self._note_met_elsewhere(fault.name)
        if verdict.freezes_session:
            self._frozen[session] = fault

    def _note_met_elsewhere(self, name: str) -> None:
        if name not in self.met_elsewhere:
            self.met_elsewhere.append(name)

    def sent(self, session: str, id: Id, frame: Frame) -> None:
        """Note a frame that the client got in place of the server's reply."""
        if (rewritten := self._rewritten.get((session, id))) is not None:
            rewritten.frames.append(frame)
            if not changes_nothing(rewritten.verdict, rewritten.reply, rewritten.frames):
                self._note_met_elsewhere(rewritten.fault)
                del self._rewritten[session, id]
        wire_call = self._open.get((session, id))
        if wire_call is None:
            return
        if len(wire_call.frames) < _FRAMES_KEPT:
            wire_call.frames.append(frame)
        outcome = outcome_of_frame(wire_call.call, frame)
        if isinstance(frame, Cut):
            # Over HTTP the connection closes at the cut, which the caller sees.
            outcome = LOST_IN_MIDDLE
        if outcome is not None:
            self._end(wire_call, outcome, self._now_ms() + duration_ms(frame))

    def closed(self, session: str, id: Id) -> None:
        """End a call whose client waits no longer: in the modern era, closing the response cancels it."""
        if session == _MODERN_SESSION:
            self.cancelled(session, id)
        else:
            self._abandoned(session, id)

    def lost(self, session: str) -> None:
        """End the open calls of a session whose server exited."""
        for (session_of_call, _), wire_call in self._open.items():
            if session_of_call == session:
                self._end(wire_call, ToolOutcome("lost", "the server exited"), self._now_ms())

    # Reports of the HTTP front

    def admit(self, request: HttpRequest, answer: ResponseWriter, serve: Callable[[str], None]) -> None:
        """Admit every request, and note clients that disconnect before the response."""
        incoming = read(request.body) if request.method == "POST" and request.body else None
        if incoming is not None and incoming.kind == "request" and incoming.method == METHOD:
            self._watch(request, incoming, answer)
        serve("")

    def _watch(self, request: HttpRequest, incoming: Incoming, answer: ResponseWriter) -> None:
        """Note when the client of a call disconnects."""
        id = incoming.id
        assert id is not None
        if era_of(incoming, request.headers) == "modern":
            # MCP 2026-07-28, transports: closing the response stream of a request cancels it.
            session = _MODERN_SESSION
            answer.on_disconnect(lambda: self.cancelled(session, id))
        else:
            session = request.headers.get(SESSION_HEADER, "")
            # MCP 2025-06-18, transports: a disconnect is no cancellation. But a client that disconnects
            # before the response no longer waits for it.
            answer.on_disconnect(lambda: None if answer.began else self._abandoned(session, id))

    # Tools

    @property
    def lacks_tools(self) -> bool:
        """True if the server answered a call of a tool that is in no list that the client asked for."""
        answered = (each.call.name for each in self._calls if each.reply is not None)
        return not self._has_whole_list and any(name not in self._tools for name in answered)

    def know(self, tools: Iterable[ToolInfo]) -> None:
        """Take the tools of the server from elsewhere: a client may call tools without listing them. What the
        server itself listed during the run takes precedence."""
        self._tools = {**{info.name: info for info in tools}, **self._tools}

    # The life of a call

    def cancelled(self, session: str, id: Id) -> None:
        """End a call that its caller cancelled."""
        wire_call = self._open.get((session, id))
        now_ms = self._now_ms()
        if wire_call is not None and (wire_call.end_ms is None or now_ms < wire_call.end_ms):
            wire_call.outcome, wire_call.end_ms = ToolOutcome("cancelled", "cancelled by the client"), now_ms

    def _abandoned(self, session: str, id: Id) -> None:
        wire_call = self._open.get((session, id))
        if wire_call is not None:
            self._end(wire_call, ToolOutcome("timeout", "the client hung up"), self._now_ms())

    def traced_calls(self, final_reply_ms: float | None) -> list[TracedCall]:
        """Return the calls in the order of their start.

        A call that is still open at the end of the run was given up at `final_reply_ms`, if not before.
        """
        return [each.traced for each in self.facts(final_reply_ms)]

    def facts(self, final_reply_ms: float | None) -> list[WireFacts]:
        """Return the calls as `traced_calls` does, each with what else the wire shows of it."""
        return [self._facts(wire_call, final_reply_ms) for wire_call in self._calls]

    def _begin(self, session: str, id: Id, params: Mapping[str, Any]) -> None:
        call = Call(METHOD, target_of(METHOD, dict(params)), params, id, self._server)
        wire_call = _WireCall(call, session, self._now_ms(), fault=self._frozen.get(session))
        self._calls.append(wire_call)
        self._open[session, id] = wire_call
        self._on_call()

    def _replied(self, session: str, id: Id, message: Message) -> None:
        if (rewritten := self._rewritten.get((session, id))) is not None:
            rewritten.reply = message
        result = message.get("result")
        if isinstance(result, dict) and isinstance(listed := result.get("tools"), list):
            infos = (tool_info(each, self._server) for each in listed if isinstance(each, dict))
            self._tools.update((info.name, info) for info in infos)
            self._has_whole_list |= not result.get("nextCursor")
        wire_call = self._open.get((session, id))
        if wire_call is not None and wire_call.reply is None:
            wire_call.reply = message
            if wire_call.verdict is None:
                # The session is not frozen, or no longer: its server is asked again.
                wire_call.fault = None
            # A fault that rewrites the reply decides what the caller gets: `sent` reports that.
            if wire_call.verdict is None or wire_call.verdict.frames is None:
                self._end(wire_call, outcome_of_reply(message), self._now_ms())

    def _end(self, wire_call: _WireCall, outcome: ToolOutcome, at_ms: float) -> None:
        if wire_call.outcome is None:
            wire_call.outcome, wire_call.end_ms = outcome, at_ms

    def _facts(self, wire_call: _WireCall, final_reply_ms: float | None) -> WireFacts:
        call = wire_call.call
        info = self._tools.get(call.name, ToolInfo(call.name, self._server))
        outcome, end_ms = wire_call.outcome, wire_call.end_ms
        if outcome is None:
            outcome, end_ms = ToolOutcome("timeout", ""), self._given_up_ms(wire_call, final_reply_ms)
        verdict = wire_call.verdict
        return WireFacts(
            self._traced_call(wire_call, info, outcome, end_ms),
            wire_call.session,
            info,
            outcome,
            was_asked=verdict is None or verdict.ask,
            has_reply=wire_call.reply is not None,
        )

    def _traced_call(
        self, wire_call: _WireCall, info: ToolInfo, outcome: ToolOutcome, end_ms: float | None
    ) -> TracedCall:
        call = wire_call.call
        given = call.params.get("arguments")
        arguments = given if isinstance(given, Mapping) else {}
        fault, verdict = wire_call.fault, wire_call.verdict
        planted = PlantedValues()
        if verdict is not None and outcome.outcome == "ok":
            planted = planted_by(verdict, wire_call.reply, outcome.reply)
        if fault is not None and _had_nothing_to_change(wire_call, has_answer=outcome.reply is not None):
            fault = None
        marker = "" if verdict is None else verdict.marker
        return TracedCall(
            call.name,
            wire_call.start_ms,
            end_ms,
            outcome.outcome,
            arguments,
            server=self._server,
            fault="" if fault is None else fault.name,
            permanent=fault is not None and fault.permanent,
            invalid=outcome.error_code == INVALID_PARAMS
            or bool(self._tools and call.name not in self._tools),
            retry_after_ms=outcome.retry_after_ms,
            effect=effect_of(info, arguments, wire_call.reply),
            is_read=info.read_only,
            canaries=(marker,) if marker else planted.texts,
            misleading=planted.is_misleading,
            is_traceable=planted.is_traceable,
        )

    def _given_up_ms(self, wire_call: _WireCall, final_reply_ms: float | None) -> float | None:
        """Return when the client stopped waiting for a reply: when it made its next call or replied."""
        turn_ends_ms = wire_call.start_ms + SAME_TURN_MS
        # A recording may have very many calls, so they are not searched one by one.
        place = bisect_right(self._calls, turn_ends_ms, key=lambda each: each.start_ms)
        return self._calls[place].start_ms if place < len(self._calls) else final_reply_ms


def _had_nothing_to_change(wire_call: _WireCall, *, has_answer: bool) -> bool:
    """Return whether the fault of a call left it as it was, so that it was not met.

    has_answer: the caller got a reply. A reply that came after a cancellation is not one."""
    verdict, fault = wire_call.verdict, wire_call.fault
    if verdict is None or verdict.frames is None or fault is None:
        return False
    if has_answer:
        return changes_nothing(verdict, wire_call.reply, wire_call.frames)
    # The caller gave up, or the server exited, before there was a reply to change.
    return fault.needs_reply and wire_call.reply is None and not wire_call.frames
