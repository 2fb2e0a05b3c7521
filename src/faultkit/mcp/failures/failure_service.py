"""The failure tools as a service. Each finished call is passed to a log as a `FinishedCall`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from faultkit import __version__
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.base.tasks import TaskSet
from faultkit.faults.call_fault import Era, Transport
from faultkit.mcp.failures.failure_tool import (
    GROUPS,
    Caller,
    FailureTool,
    Group,
    ProtocolError,
    ToolError,
    ToolOutcome,
)
from faultkit.mcp.failures.go_dialect import argument_problem, reply_of, tail_of, with_defaults
from faultkit.mcp.failures.tool_catalogue import tools_of
from faultkit.mcp.wire.era import complete_result, meta_of, opening_of, refusal_of
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.http_front import Continuation
from faultkit.mcp.wire.message import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Incoming,
    error_of,
    notification_of,
    result_of,
)

_INSTRUCTIONS = (
    "Tools with foretold answers and failures, to test gateways, clients and agents against: error, slow and "
    "flaky fail as they are told, the others answer in ways that can be checked."
)
_OPENING: dict[Era, str] = {"legacy": "initialize", "modern": "server/discover"}
_CAPABILITIES = {"tools": {"listChanged": False}}
MOST_NOTES = 100
"""Notifications kept per call for the audit log."""
_CANCELLED = ToolError("context canceled", category="cancelled")
_STOPPED = ProtocolError(INTERNAL_ERROR, "the server is stopping", category="cancelled")


@dataclass(frozen=True, slots=True)
class SentNotification:
    """A notification that was sent before the reply."""

    at_s: float
    """Time on the event loop's clock."""
    method: str
    params: dict[str, Any]


@dataclass(slots=True)
class FinishedCall:
    """A finished call of a tool, for a log. It references no connection, so it may be kept."""

    request: Incoming
    session_id: str
    transport: Transport
    era: Era
    caller: Caller
    tool: FailureTool | None
    """The tool; None if there is none of this name."""
    name: str
    outcome: ToolOutcome
    texts: tuple[str, ...]
    """Text blocks of the result; empty if the reply is an error, or if there was none."""
    reply: bytes
    """Bytes of the reply; empty if none was sent, because the call was cancelled."""
    notes: tuple[SentNotification, ...]
    """The first notifications, at most MOST_NOTES."""
    notes_left_out: int
    began_s: float
    """Time on the event loop's clock."""
    seconds: float
    cancelled: bool


@dataclass(slots=True)
class _StartedCall:
    """A call that has not ended, with the notifications sent for it."""

    exchange: Exchange
    caller: Caller
    tool: FailureTool | None
    name: str
    at_s: float
    notes: tuple[SentNotification, ...] = ()
    notes_left_out: int = 0

    def note(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification to the client, and keep it for the log."""
        self.exchange.note(notification_of(method, params))
        if len(self.notes) < MOST_NOTES:
            self.notes += (SentNotification(asyncio.get_running_loop().time(), method, params),)
        else:
            self.notes_left_out += 1


CallLog: TypeAlias = Callable[[FinishedCall], None]
Identify: TypeAlias = Callable[[Exchange], Caller]


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Settings of the failure tools."""

    name: str = "faultkit-serve"
    groups: tuple[Group, ...] = GROUPS
    like_go: bool = False
    """True to send the shapes that the original Go server really sends, where its documents promise
    others."""


class FailureService:
    """A `Service` that answers calls of failure tools."""

    def __init__(
        self,
        settings: ServeSettings,
        log: CallLog = lambda ended: None,
        identify: Identify = lambda exchange: Caller(headers=tuple(exchange.headers.items())),
    ) -> None:
        self._settings = settings
        self._log = log
        self._identify = identify
        tools = tools_of(settings.groups)
        self._tools = {name: tool.like_go() for name, tool in tools.items()} if settings.like_go else tools
        self._info = {"name": settings.name, "version": __version__}
        self._tails = {era: tail_of(complete_result({}, "tools/call", era, self._info)) for era in _OPENING}
        self._tasks: TaskSet[ToolOutcome] = TaskSet()

    async def stop(self) -> None:
        """Cancel running calls; each is answered with an error."""
        await self._tasks.cancel()

    # --- Service ------------------------------------------------------------------------------

    def opened(self, session: Session) -> None:
        pass

    def closed(self, session: Session) -> None:
        for exchange in tuple(session.exchanges.values()):
            exchange.cancel()

    def notification(self, session: Session, incoming: Incoming) -> None:
        pass

    def response(self, session: Session, incoming: Incoming) -> None:
        pass

    def request(self, exchange: Exchange) -> None:
        request, session = exchange.request, exchange.session
        if session.era == "modern" and session.transport == "stdio":
            refusal = refusal_of(request)
            if refusal is not None:
                exchange.reply(error_of(request.id, refusal.code, refusal.message, refusal.data))
                return
        if request.method == "tools/call":
            self._call(exchange)
        else:
            exchange.reply(self._answer(request, session.era))

    def _answer(self, request: Incoming, era: Era) -> bytes:
        if request.method == _OPENING[era]:
            version = request.params.get("protocolVersion")
            result = opening_of(era, version, _CAPABILITIES, self._info, _INSTRUCTIONS)
        elif request.method == "ping" and era == "legacy":
            result = {}
        elif request.method == "tools/list":
            listed = [tool.listed() for tool in self._tools.values()]
            result = {"tools": listed} | ({} if era == "legacy" else {"cacheScope": "public"})
        else:
            return error_of(request.id, METHOD_NOT_FOUND, f'method "{request.method}" is not served')
        return result_of(request.id, complete_result(result, request.method, era, self._info))

    def _call(self, exchange: Exchange) -> None:
        params = exchange.request.params
        name, arguments = params.get("name"), params.get("arguments")
        shown = name if isinstance(name, str) else ""
        tool = self._tools.get(shown)
        started = _StartedCall(
            exchange, self._identify(exchange), tool, shown, asyncio.get_running_loop().time()
        )
        if tool is None:
            failure = ProtocolError(INVALID_PARAMS, f'unknown tool "{shown}"', category="handler")
            self._end(started, failure)
            return
        problem = argument_problem(tool, arguments)
        if problem is not None:
            self._end(started, ToolError(problem))
            return
        outcome = tool.run(
            with_defaults(tool, arguments if isinstance(arguments, dict) else None),
            _caller_with_progress(started),
        )
        if isinstance(outcome, ToolOutcome):
            self._end(started, outcome)
            return
        task = self._tasks.start(outcome)
        exchange.on_cancel(task.cancel)

        def end(task: asyncio.Future[ToolOutcome]) -> None:
            if task.cancelled():
                self._end(started, _CANCELLED if exchange.cancelled else _STOPPED)
            else:
                self._end(started, task.result())

        task.add_done_callback(end)

    def _end(self, started: _StartedCall, outcome: ToolOutcome) -> None:
        """Reply with the outcome, and pass the finished call to the log."""
        exchange = started.exchange
        cancelled = exchange.cancelled
        if self._settings.like_go and isinstance(outcome, ProtocolError) and started.tool is not None:
            # The Go SDK turns every error of a tool into a result with isError.
            outcome = ToolError(outcome.message, category=outcome.category)
        try:
            reply, texts = reply_of(exchange.request.id, outcome, self._tails[exchange.session.era])
        except (ValueError, RecursionError) as error:
            # Some arguments can be parsed but not encoded: 1e999, or nesting that the result makes deeper.
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            outcome = ToolError(f"the answer cannot be written as JSON: {why}")
            reply, texts = reply_of(exchange.request.id, outcome, self._tails[exchange.session.era])
        if self._settings.like_go:
            # The original answers cancelled calls too.
            exchange.cancelled = False
        exchange.reply(reply)
        if exchange.cancelled:
            reply, texts = b"", ()
        session = exchange.session
        finished = FinishedCall(
            exchange.request,
            session.id,
            session.transport,
            session.era,
            started.caller,
            started.tool,
            started.name,
            outcome,
            texts,
            reply,
            started.notes,
            started.notes_left_out,
            started.at_s,
            asyncio.get_running_loop().time() - started.at_s,
            cancelled,
        )
        self._log(finished)


def _caller_with_progress(started: _StartedCall) -> Caller:
    """Return the caller with a way to send notifications, if the call has a progress token."""
    token = meta_of(started.exchange.request.params).get("progressToken")
    if not isinstance(token, str | int) or isinstance(token, bool):
        return started.caller
    return replace(started.caller, progress_token=token, note=started.note)


class CallerGate(Protocol):
    """Decides which requests are served, before they are parsed as calls, and identifies their callers."""

    def admit(self, request: HttpRequest, answer: ResponseWriter, go_on: Continuation) -> None:
        """Answer a request that is refused; otherwise call `go_on` with the caller's name, now or later."""

    def foreign(self, request: HttpRequest) -> None:
        """Handle a request that was refused because of its Host or Origin."""

    def identify(self, exchange: Exchange) -> Caller:
        """Return the caller of an exchange, from the `sender` that was given to `go_on`."""


class OpenGate:
    """Admits every request as an anonymous caller."""

    def admit(self, request: HttpRequest, answer: ResponseWriter, go_on: Continuation) -> None:
        go_on("", request.peer)

    def foreign(self, request: HttpRequest) -> None:
        pass

    def identify(self, exchange: Exchange) -> Caller:
        # Over stdio there is no peer.
        peer = exchange.sender if isinstance(exchange.sender, str) else ""
        return Caller(headers=tuple(exchange.headers.items()), peer=peer)
