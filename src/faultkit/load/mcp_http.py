"""MCP calls under load, over streamable HTTP.

Calls are requests like any other, so connections, deadlines and samples are those of `engine`. A session
(legacy era) is the id that the server gave to `initialize`; connections are not bound to one. In the modern
era there is none, and a session stands for a client.

A call is over when its reply has come. If it came as an event, the stream is read on to its end, so that its
connection can be used again, but for no longer than `_DRAIN_S`.

A call whose time is over is cancelled: by `notifications/cancelled` in the legacy era, where the end of a
connection cancels nothing, and by that end in the modern one.

A session that the server no longer knows (404) is opened again, at most `MOST_RESTARTS` times in a row; calls
that come meanwhile wait for it.
"""

from __future__ import annotations

from collections.abc import Callable

from faultkit.load.connection import Connection
from faultkit.load.engine import Engine
from faultkit.load.engine_base import Requester
from faultkit.load.item_figures import FigureRecorder
from faultkit.load.load import McpTarget
from faultkit.load.mcp_exchange import CallSession, McpConnection, McpReader, McpRequests
from faultkit.load.mcp_opening import SessionOpening
from faultkit.load.mcp_target import (
    INITIALIZED,
    MOST_RESTARTS,
    SessionChoice,
    answer_to,
    outcome_of,
    refusal_in,
)
from faultkit.load.response import Failure, ResponseReader
from faultkit.load.route import Route
from faultkit.mcp.wire.message import CANCELLED, Incoming, notification_of
from faultkit.proxy.event_loop import Loop

_DRAIN_S = 1.0
"""Seconds for which a stream is read on after the reply."""
_GOODBYE_S = 1.0
"""Seconds for ending the sessions after a run."""
_MOST_PAGES = 100


class _NoRequester:
    """The requester of what is no call."""

    def over(self, now: float) -> None: ...


_NO_REQUESTER = _NoRequester()


class HttpMcpEngine(Engine):
    """Calls a tool in `sessions` sessions."""

    def __init__(
        self, target: McpTarget, route: Route, loop: Loop, sessions: int, *, is_shared: bool
    ) -> None:
        super().__init__(route, loop, loop.clock())
        self.requests = McpRequests(target, keep_alive=route.keep_alive)
        self._figures: FigureRecorder = FigureRecorder("mcp", loop.clock())
        self._sessions = [HttpSession(self) for _ in range(sessions)]
        self._choice: SessionChoice[CallSession] = SessionChoice(self._sessions, is_shared=is_shared)
        self._is_closing = False
        self._cancellations = 0
        """Those that are under way."""
        self._aside: dict[Connection, None] = {}
        """Connections that are needed for no call: of opening and ending sessions, and of streams that are
        read to their end."""
        self.opening = SessionOpening(target, loop, sessions, self._figures)

    def open(self, stopped: Callable[[], bool]) -> bool:
        """Open all sessions; return False if that was stopped. Raises TargetError if one cannot be opened."""
        if stopped():
            return False
        for session in self._sessions:
            session.open()
        return self.opening.wait(self.run, stopped)

    def close(self) -> None:
        """End the sessions, and close every connection."""
        self._is_closing = True
        if self._defect is None and not self.opening.is_under_way:
            for connection in list(self.pending):
                connection.close()
            self.pending.clear()
            if self._cancellations:  # They belong to sessions.
                self._say_goodbye()
            if any([session.end() for session in self._sessions]):
                self._say_goodbye()
        for connection in self._aside:
            connection.close()
        super().close()

    def _say_goodbye(self) -> None:
        """Run until what was sent last is answered, or for some time."""
        is_over = False

        def stop(at: float) -> None:
            if not is_over:
                self.loop.stop()

        self.loop.call_at(self._clock() + _GOODBYE_S, stop, None)
        self.loop.run()
        is_over = True

    def ask(self, requester: Requester, intended: float | None) -> None:
        if self._is_closing:
            return  # The loop runs once more, for the ends of the sessions.
        now = self._clock()
        session = self._choice.take(requester)
        connection = self._connection(requester, now if intended is None else intended, now)
        connection.session = session
        self.pending[connection] = None
        session.take(connection)

    def new_reader(self) -> ResponseReader:
        return McpReader()

    def _connection(self, requester: Requester, intended: float, now: float) -> McpConnection:
        """Return an idle connection, or a new one that is not connected yet."""
        while self._idle:
            idle = self._idle.pop()
            if idle.fd >= 0:
                assert isinstance(idle, McpConnection)
                idle.requester, idle.intended, idle.started = requester, intended, now
                idle.is_asked = False
                return idle
        return McpConnection(self, requester, intended, now)

    def send(self, connection: McpConnection, request: bytes) -> None:
        """Send a request on a connection, which may have to be made first."""
        connection.carry(request)
        if connection.fd >= 0:
            connection.ask_again()
        elif connection.kept:
            self.crossed(connection)  # The server has closed it while the call waited for its session.
        else:
            self._connect(connection)

    def send_aside(
        self, request: bytes, over: Callable[[McpConnection, Failure], None], id: int = -1
    ) -> None:
        """Send a request that is no call. `over` is called with its answer, or with its failure."""
        now = self._clock()
        connection = self._connection(_NO_REQUESTER, now, now)
        connection.over_aside = over
        connection.reader.id = id
        self._aside[connection] = None
        self.loop.call_at(now + self._timeout_s, lambda at: self._time_out_aside(connection, now), None)
        self.send(connection, request)

    def _time_out_aside(self, connection: McpConnection, started: float) -> None:
        if connection in self._aside and connection.started == started and connection.over_aside is not None:
            connection.close()
            self.failed(connection, self._clock(), Failure.TIMEOUT)

    # --- for connections ----------------------------------------------------------------------

    def replied(self, connection: McpConnection, now: float) -> None:
        """Handle a reply whose stream has not ended yet."""
        if connection in self.pending:
            self._record(connection, now, connection.reader.status, self._failure_of(connection))
            del self.pending[connection]
        connection.is_draining = True
        self._aside[connection] = None
        started = connection.started
        self.loop.call_at(now + _DRAIN_S, lambda at: self._end_drain(connection, started), None)
        self._go_on(connection, now)

    def answered(self, connection: Connection, now: float) -> None:
        assert isinstance(connection, McpConnection)
        if connection.is_draining:
            del self._aside[connection]
            connection.is_draining = False
            self._keep(connection)
            return
        if connection in self._aside:
            del self._aside[connection]
            self._keep(connection)
            self._go_on(connection, now)
            return
        reader = connection.reader
        if reader.status >= 500 and reader.trouble is Failure.SHORTAGE:
            connection.close()
            self.starved(connection)
            return
        has_trouble = reader.status >= 500 and bool(reader.trouble)
        self._record(connection, now, 0 if has_trouble else reader.status, self._failure_of(connection))
        del self.pending[connection]
        self._keep(connection)
        self._go_on(connection, now)

    def failed(self, connection: Connection, now: float, failure: Failure) -> None:
        assert isinstance(connection, McpConnection)
        if connection in self._aside:
            del self._aside[connection]
            over, connection.over_aside = connection.over_aside, None
            if over is not None and not connection.is_draining:
                over(connection, failure)
            return
        if failure is Failure.SHORTAGE:
            self.starved(connection)
            return
        self._count(connection, failure)
        session = connection.session
        super().failed(connection, now, failure)
        session.forget(connection)

    def starved(self, connection: Connection) -> None:
        assert isinstance(connection, McpConnection)
        if connection in self._aside:
            self.failed(connection, self._clock(), Failure.UNREACHABLE)
            return
        self._choice.release(connection.session)
        super().starved(connection)

    def crossed(self, connection: Connection) -> None:
        assert isinstance(connection, McpConnection)
        fresh = McpConnection(self, connection.requester, connection.intended, connection.started)
        fresh.over_aside = connection.over_aside
        fresh.reader.id = connection.reader.id
        fresh.carry(connection.request)
        if connection in self._aside:
            del self._aside[connection]
            self._aside[fresh] = None
            self.loop.call_at(
                fresh.started + self._timeout_s, lambda at: self._time_out_aside(fresh, fresh.started), None
            )
        else:
            fresh.session = connection.session
            del self.pending[connection]
            self.pending[fresh] = None
            self.loop.call_at(fresh.started + self._timeout_s, lambda at: self._expire_one(fresh), None)
        self._connect(fresh)

    def _time_out(self, connection: Connection) -> None:
        assert isinstance(connection, McpConnection)
        session = connection.session
        super()._time_out(connection)
        session.cancel(connection)

    def _is_wanted(self, connection: Connection) -> bool:
        return connection in self.pending or connection in self._aside

    def _keep(self, connection: McpConnection) -> None:
        if connection.idle:
            connection.kept = True
            self._idle.append(connection)

    def _go_on(self, connection: McpConnection, now: float) -> None:
        """Call what waits for the answer that has come."""
        over, connection.over_aside = connection.over_aside, None
        if over is not None:
            over(connection, Failure.NONE)
            return
        connection.requester.over(now)
        if self._finishing:
            self._stop_if_done()

    def _end_drain(self, connection: McpConnection, started: float) -> None:
        if connection.is_draining and connection.started == started:
            connection.is_draining = False
            self._aside.pop(connection, None)
            connection.close()

    # --- outcomes -----------------------------------------------------------------------------

    def _failure_of(self, connection: McpConnection) -> Failure:
        reader = connection.reader
        if reader.status >= 500:
            return reader.trouble or Failure.STATUS
        if reader.reply is not None:
            return outcome_of(reader.reply)
        if reader.status >= 400:
            return Failure.CLIENT_STATUS
        return Failure.EARLY_END if reader.is_stream else Failure.INVALID_REPLY

    def _record(self, connection: McpConnection, now: float, status: int, failure: Failure) -> None:
        self._count(connection, failure)
        if failure is Failure.NONE and connection.kept:
            self._add_kept(connection, now, status)
        else:
            self.errors += failure is not Failure.NONE
            self._recorder.add(connection, now, status, failure)
        connection.session.note(connection.reader.status)

    def _count(self, connection: McpConnection, failure: Failure) -> None:
        self._choice.release(connection.session)
        self._figures.slot_at(connection.intended).failures[failure] += 1

    # --- for sessions -------------------------------------------------------------------------

    def cancel(self, request: bytes) -> None:
        """Send a cancellation, which is no call."""
        self._cancellations += 1
        self.send_aside(request, self._take_cancellation)

    def _take_cancellation(self, connection: McpConnection, failure: Failure) -> None:
        self._cancellations -= 1
        self.stop_if_all_ended()

    def stop_if_all_ended(self) -> None:
        """Stop the loop at the end of a run when nothing has to be answered any more."""
        is_ending = self._cancellations or any(session.is_ending for session in self._sessions)
        if self._is_closing and not is_ending:
            self.loop.stop()


class HttpSession:
    """One session, and the calls that wait for it."""

    def __init__(self, engine: HttpMcpEngine) -> None:
        self._engine = engine
        self._heads = engine.requests.heads(())
        self._id: str | None = None
        """The id that the server gave."""
        self._is_open = False
        self._was_open = False
        self._calls = 0
        self._opens = 0
        """How often it was opened since a call was answered."""
        self._waiting: list[McpConnection] = []
        self._pages = 0
        self.is_ending = False

    def open(self) -> None:
        """Begin the session."""
        self._opens += 1
        self._is_open = False
        self._id = None
        self._heads = self._engine.requests.heads(())
        self._send_aside(self._engine.requests.writer.opening(0), self._take_opening, 0)

    def take(self, connection: McpConnection) -> None:
        """Send a call, or keep it until the session is open."""
        if self._is_open:
            self._send(connection)
        else:
            self._waiting.append(connection)

    def forget(self, connection: McpConnection) -> None:
        """Give up a call that waits for the session."""
        if connection in self._waiting:
            self._waiting.remove(connection)

    def cancel(self, connection: McpConnection) -> None:
        """Cancel a call that was sent. In the modern era, the end of its connection has done so (MCP
        2026-07-28, Streamable HTTP, Cancellation)."""
        if connection.is_asked and self._is_open and not self._engine.requests.is_modern:
            body = notification_of(CANCELLED, {"requestId": connection.reader.id})
            self._engine.cancel(self._heads.post(body))

    def note(self, status: int) -> None:
        """Note the status of a call; open the session again if the server does not know it any more."""
        if 200 <= status < 300:
            self._opens = 0
        elif status == 404 and self._id is not None and self._is_open and self._opens <= MOST_RESTARTS:
            self.open()

    def answer(self, request: Incoming) -> None:
        """Answer a request that the server sent within the stream of a call."""
        self._send_aside(answer_to(request), lambda connection, failure: None)

    def end(self) -> bool:
        """Ask the server to end the session; return False if there is none to end."""
        self.is_ending = self._is_open and self._id is not None
        if self.is_ending:
            self._engine.send_aside(self._heads.delete(), self._take_end)
        return self.is_ending

    def _send(self, connection: McpConnection) -> None:
        self._calls += 1
        connection.reader.id = self._calls
        self._engine.send(connection, self._heads.post(self._engine.requests.writer.call(self._calls)))

    def _send_aside(self, body: bytes, over: Callable[[McpConnection, Failure], None], id: int = -1) -> None:
        self._engine.send_aside(self._heads.post(body), over, id)

    def _take_opening(self, connection: McpConnection, failure: Failure) -> None:
        reader = connection.reader
        if failure or reader.reply is None or not 200 <= reader.status < 300:
            why = failure.label if failure else f"status {reader.status}"
            if reader.reply is not None and "error" in reader.reply.message:
                why = refusal_in(reader.reply)
            self._not_opened(f"the server opens no session: {why}")
        elif "error" in reader.reply.message:
            self._not_opened(f"the server refuses to open a session: {refusal_in(reader.reply)}")
        elif self._engine.requests.is_modern:
            self._take_tools(reader.reply)
        else:
            result = reader.reply.message.get("result")
            version = result.get("protocolVersion") if isinstance(result, dict) else None
            self._id = reader.session
            given: list[tuple[str, object]] = [
                ("Mcp-Session-Id", self._id),
                ("Mcp-Protocol-Version", version),
            ]
            headers = [(name, value) for name, value in given if isinstance(value, str)]
            self._heads = self._engine.requests.heads(headers)
            self._send_aside(INITIALIZED, self._take_initialized)

    def _take_initialized(self, connection: McpConnection, failure: Failure) -> None:
        status = connection.reader.status
        if failure or not 200 <= status < 300:
            why = failure.label if failure else f"status {status}"
            self._not_opened(f"the server does not take notifications/initialized: {why}")
        else:
            self._opened()

    def _take_tools(self, reply: Incoming) -> None:
        """Learn which arguments the tool wants repeated in headers, from all pages of the list."""
        self._engine.requests.parameters.learn(reply)
        result = reply.message.get("result")
        cursor = result.get("nextCursor") if isinstance(result, dict) else None
        self._pages += 1
        if cursor is not None and self._pages < _MOST_PAGES:
            body = self._engine.requests.writer.list_tools(self._pages, cursor)
            self._send_aside(body, self._take_opening, self._pages)
        else:
            self._opened()

    def _opened(self) -> None:
        self._heads = self._heads.for_calls()
        self._is_open = True
        self._engine.opening.opened(again=self._was_open)
        self._was_open = True
        waiting, self._waiting = self._waiting, []
        for connection in waiting:
            self._send(connection)

    def _not_opened(self, why: str) -> None:
        if self._engine.opening.is_under_way:
            self._engine.opening.refuse(why)
            return
        # The calls go out without a session, so that their outcomes show what the server says to that.
        self._is_open = True
        self._id = None
        waiting, self._waiting = self._waiting, []
        for connection in waiting:
            self._send(connection)

    def _take_end(self, connection: McpConnection, failure: Failure) -> None:
        self.is_ending = False
        self._engine.stop_if_all_ended()
