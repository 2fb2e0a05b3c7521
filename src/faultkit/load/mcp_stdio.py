"""MCP calls under load, over stdio: one server process for each session.

A server that dies fails its calls (`exited`, level transport) and is started again, at most `MOST_RESTARTS`
times in a row. Calls that come meanwhile wait for the new session, and the wait is part of their time. A
session that was given up fails its calls at once.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan

from faultkit.base.errors import TargetError
from faultkit.load.engine_base import LoadEngine, Requester
from faultkit.load.item_figures import FigureRecorder
from faultkit.load.load import McpTarget
from faultkit.load.mcp_opening import SessionOpening
from faultkit.load.mcp_process import McpProcess, end_all
from faultkit.load.mcp_target import (
    INITIALIZED,
    MOST_RESTARTS,
    CallWriter,
    SessionChoice,
    answer_to,
    outcome_of,
    refusal_in,
)
from faultkit.load.response import Failure
from faultkit.mcp.wire.message import CANCELLED, Incoming, notification_of, read
from faultkit.proxy.event_loop import Loop

_PAUSE_S = 0.01
"""Pause of a load model after a call that could not be made."""
_RESTART_S = 0.05
"""Pause before a server is started again; it doubles with each further start."""
_MOST_PAUSE_S = 1.0


class StdioCall:
    """A call that is under way."""

    __slots__ = (
        "connect_s",
        "dns_s",
        "first_byte",
        "id",
        "intended",
        "kept",
        "received",
        "requester",
        "session",
        "started",
        "tls_s",
    )

    def __init__(self, requester: Requester, session: StdioSession, intended: float, started: float) -> None:
        self.requester = requester
        self.session = session
        self.intended = intended
        self.started = started
        self.id = 0
        self.first_byte = nan
        self.received = 0
        self.kept = True
        self.dns_s = self.connect_s = self.tls_s = nan


class StdioMcpEngine(LoadEngine[StdioCall]):
    """Calls a tool over `sessions` server processes."""

    def __init__(self, target: McpTarget, loop: Loop, sessions: int, *, is_shared: bool) -> None:
        super().__init__(loop, loop.clock(), target.timeout_s)
        self.target = target
        self.writer = CallWriter(target)
        self._figures: FigureRecorder = FigureRecorder("mcp", loop.clock())
        self._sessions = [StdioSession(self) for _ in range(sessions)]
        self._choice = SessionChoice(self._sessions, is_shared=is_shared)
        self.opening = SessionOpening(target, loop, sessions, self._figures)

    def open(self, stopped: Callable[[], bool]) -> bool:
        """Open all sessions; return False if that was stopped. Raises TargetError if one cannot be opened."""
        for session in self._sessions:
            session.start()
        self.loop.call_at(self._clock() + self._timeout_s, self._opening_timed_out, None)
        if stopped():
            return False
        return self.opening.wait(self.run, stopped)

    def close(self) -> None:
        """End the servers."""
        for session in self._sessions:
            session.is_closing = True
        end_all(session.process for session in self._sessions if session.process is not None)

    def ask(self, requester: Requester, intended: float | None) -> None:
        now = self._clock()
        session = self._choice.take(requester)
        call = StdioCall(requester, session, now if intended is None else intended, now)
        self.pending[call] = None
        session.take(call)

    def _time_out(self, call: StdioCall) -> None:
        call.session.forget(call)
        self.over(call, self._clock(), Failure.TIMEOUT)

    def _opening_timed_out(self, at: float) -> None:
        if self.opening.is_under_way:
            self.opening.refuse(f"no session within {self._timeout_s:g} s")

    # --- for sessions -------------------------------------------------------------------------

    def over(self, call: StdioCall, now: float, failure: Failure) -> None:
        """Record a call, and let its load model go on."""
        self._figures.slot_at(call.intended).failures[failure] += 1
        del self.pending[call]
        self._choice.release(call.session)
        if failure is Failure.NONE:
            self._add_kept(call, now, 0)
            call.requester.over(now)
        else:
            self.errors += 1
            self._recorder.add(call, now, 0, failure)
            # Calls that fail at once must not keep the loop from its other work.
            due = now + (_PAUSE_S if call.session.is_gone else 0)
            self.loop.call_at(due, lambda at: call.requester.over(self._clock()), None)
        if self._finishing:
            self._stop_if_done()


class StdioSession:
    """One server process at a time, and the calls that wait for its replies."""

    def __init__(self, engine: StdioMcpEngine) -> None:
        self._engine = engine
        self.process: McpProcess | None = None
        self.calls: dict[int, StdioCall] = {}
        """Calls that were sent, by their ids."""
        self._waiting: list[StdioCall] = []
        """Calls that come while there is no session."""
        self._id = 0
        self._is_open = False
        self.is_gone = False
        """True once the server is not started again."""
        self.is_closing = False
        self._starts = 0
        """Starts since a call was answered."""
        self._was_open = False

    def start(self) -> None:
        """Start a server, and open a session with it if its era has any."""
        self._starts += 1
        try:
            self.process = McpProcess(self._engine.target, self._engine.loop, self._on_line, self._on_end)
        except TargetError as error:
            self._lost(str(error))
            return
        self.process.send(self._engine.writer.opening(0))

    def take(self, call: StdioCall) -> None:
        """Send a call, or keep it until there is a session."""
        if self.is_gone:
            self._engine.over(call, self._engine.loop.clock(), Failure.EXITED)
        elif self._is_open:
            self._send(call)
        else:
            self._waiting.append(call)

    def forget(self, call: StdioCall) -> None:
        """Give up a call, and send its cancellation if it was sent."""
        if call in self._waiting:
            self._waiting.remove(call)
        elif self.calls.pop(call.id, None) is not None and self.process is not None:
            self.process.send(notification_of(CANCELLED, {"requestId": call.id}))

    def _send(self, call: StdioCall) -> None:
        assert self.process is not None
        self._id += 1
        call.id = self._id
        self.calls[call.id] = call
        self.process.send(self._engine.writer.call(call.id))

    def _on_line(self, line: bytes) -> None:
        incoming = read(line)
        if incoming.kind == "request" and self.process is not None:
            self.process.send(answer_to(incoming))
        elif incoming.kind == "response" and not self._is_open:
            self._take_opening(incoming)
        elif incoming.kind == "response" and type(incoming.id) is int:
            call = self.calls.pop(incoming.id, None)
            if call is not None:
                self._starts = 0
                now = self._engine.loop.clock()
                call.first_byte, call.received = now, len(line) + 1
                self._engine.over(call, now, outcome_of(incoming))

    def _take_opening(self, reply: Incoming) -> None:
        assert self.process is not None
        if "result" in reply.message:
            if self._engine.target.era == "legacy":
                self.process.send(INITIALIZED)
            self._open()
        elif self._engine.opening.is_under_way:
            self._engine.opening.refuse(f"the server refuses to open a session: {refusal_in(reply)}")
        else:
            self.process.close_input()

    def _open(self) -> None:
        self._is_open = True
        self._engine.opening.opened(again=self._was_open)
        self._was_open = True
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            self._send(call)

    def _on_end(self) -> None:
        if self.process is None or self.is_closing:
            return
        why = self.process.why_ended() if self._engine.opening.is_under_way else ""
        self.process.discard()
        self.process = None
        self._lost(why)

    def _lost(self, why: str) -> None:
        engine = self._engine
        self._is_open = False
        if engine.opening.is_under_way:
            engine.opening.refuse(why)
            return
        self.is_gone = self._starts > MOST_RESTARTS
        now = engine.loop.clock()
        lost, self.calls = list(self.calls.values()), {}
        if self.is_gone:
            lost += self._waiting
            self._waiting = []
        else:
            pause_s = min(_RESTART_S * 2**self._starts, _MOST_PAUSE_S)
            engine.loop.call_at(now + pause_s, lambda at: self._start_again(), None)
        for call in lost:
            engine.over(call, now, Failure.EXITED)

    def _start_again(self) -> None:
        if not self.is_closing:
            self.start()
