"""The failure tools as a service. It answers, and tells whoever keeps the log what became of each call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from faultkit import __version__
from faultkit.faults.call.call import Era, Transport
from faultkit.mcp.failures.arguments import filled, problem_of
from faultkit.mcp.failures.outcome import Outcome, ProtocolError, ToolError
from faultkit.mcp.failures.reply import reply_of, tail_of
from faultkit.mcp.failures.table import tools_of
from faultkit.mcp.failures.tool import GROUPS, Caller, FailureTool, Group
from faultkit.mcp.wire.era import finished, meta_of, opening_of, refusal_of
from faultkit.mcp.wire.exchange import Exchange, Session
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
"""That a log is told of."""
_CANCELLED = ToolError("context canceled", category="cancelled")
_STOPPED = ProtocolError(INTERNAL_ERROR, "the server is stopping", category="cancelled")


@dataclass(frozen=True, slots=True)
class Note:
    """A notification that was sent before the reply."""

    at_s: float
    """On the clock of the event loop."""
    method: str
    params: dict[str, Any]


@dataclass(slots=True)
class Ended:
    """What became of one call of a tool: for a log. It holds on to no connection, so it can be kept."""

    request: Incoming
    session_id: str
    transport: Transport
    era: Era
    caller: Caller
    tool: FailureTool | None
    """None: there is no such tool."""
    name: str
    outcome: Outcome
    texts: tuple[str, ...]
    """Of the result; none if the reply is an error."""
    reply: bytes
    """As it was sent, or would have been if nobody had cancelled."""
    notes: tuple[Note, ...]
    """The first of them."""
    notes_left_out: int
    began_s: float
    """On the clock of the event loop."""
    seconds: float
    cancelled: bool


@dataclass(slots=True)
class _Begun:
    exchange: Exchange
    caller: Caller
    tool: FailureTool | None
    name: str
    at_s: float
    notes: tuple[Note, ...] = ()
    notes_left_out: int = 0

    def note(self, method: str, params: dict[str, Any]) -> None:
        self.exchange.note(notification_of(method, params))
        if len(self.notes) < MOST_NOTES:
            self.notes += (Note(asyncio.get_running_loop().time(), method, params),)
        else:
            self.notes_left_out += 1


Log: TypeAlias = Callable[[Ended], None]
Identify: TypeAlias = Callable[[Exchange], Caller]


@dataclass(frozen=True, slots=True)
class ServeSettings:
    name: str = "faultkit-serve"
    groups: tuple[Group, ...] = GROUPS
    like_go: bool = False
    """The shapes that the original really sends, where its documents promise others."""


class FailureServer:
    def __init__(
        self,
        settings: ServeSettings,
        log: Log = lambda ended: None,
        identify: Identify = lambda exchange: Caller(headers=tuple(exchange.headers.items())),
    ) -> None:
        self._settings = settings
        self._log = log
        self._identify = identify
        self._tools = tools_of(settings.groups)
        self._info = {"name": settings.name, "version": __version__}
        self._tails = {era: tail_of(finished({}, "tools/call", era, self._info)) for era in _OPENING}
        self._tasks: set[asyncio.Future[Outcome]] = set()

    async def stop(self) -> None:
        """Calls that run are told so, if anybody still hears it."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # Of Service.

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
            listed = [tool.listed(like_go=self._settings.like_go) for tool in self._tools.values()]
            result = {"tools": listed} | ({} if era == "legacy" else {"cacheScope": "public"})
        else:
            return error_of(request.id, METHOD_NOT_FOUND, f'method "{request.method}" is not served')
        return result_of(request.id, finished(result, request.method, era, self._info))

    def _call(self, exchange: Exchange) -> None:
        params = exchange.request.params
        name, arguments = params.get("name"), params.get("arguments")
        shown = name if isinstance(name, str) else ""
        tool = self._tools.get(shown)
        begun = _Begun(exchange, self._identify(exchange), tool, shown, asyncio.get_running_loop().time())
        if tool is None:
            failure = ProtocolError(INVALID_PARAMS, f'unknown tool "{shown}"', category="handler")
            self._end(begun, failure)
            return
        problem = problem_of(tool, arguments, like_go=self._settings.like_go)
        if problem is not None:
            self._end(begun, ToolError(problem))
            return
        outcome = tool.run(filled(tool, _mapping(arguments)), _heard(begun))
        if isinstance(outcome, Outcome):
            self._end(begun, outcome)
            return
        task = asyncio.ensure_future(outcome)
        # Kept, so that the end of the server waits for what becomes of it.
        self._tasks.add(task)
        exchange.on_cancel(lambda: _stop(task))

        def finished(task: asyncio.Future[Outcome]) -> None:
            self._tasks.discard(task)
            called_off = _CANCELLED if exchange.cancelled else _STOPPED
            self._end(begun, called_off if task.cancelled() else task.result())

        task.add_done_callback(finished)

    def _end(self, begun: _Begun, outcome: Outcome) -> None:
        exchange = begun.exchange
        cancelled = exchange.cancelled
        if self._settings.like_go and isinstance(outcome, ProtocolError) and begun.tool is not None:
            # The library of the original wraps every error of a tool into a result.
            outcome = ToolError(outcome.message, category=outcome.category)
        try:
            reply, texts = reply_of(exchange.request.id, outcome, self._tails[exchange.session.era])
        except (ValueError, RecursionError) as error:
            # What could just be read cannot always be written: 1e999, or a nest that a result makes deeper.
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            outcome = ToolError(f"the answer cannot be written as JSON: {why}")
            reply, texts = reply_of(exchange.request.id, outcome, self._tails[exchange.session.era])
        if self._settings.like_go:
            # The original answers all the same.
            exchange.cancelled = False
        exchange.reply(reply)
        session = exchange.session
        ended = Ended(
            exchange.request,
            session.id,
            session.transport,
            session.era,
            begun.caller,
            begun.tool,
            begun.name,
            outcome,
            texts,
            reply,
            begun.notes,
            begun.notes_left_out,
            begun.at_s,
            asyncio.get_running_loop().time() - begun.at_s,
            cancelled,
        )
        self._log(ended)


def _heard(begun: _Begun) -> Caller:
    """The caller as tools see them: with a way to tell them something, if they want to hear it."""
    token = meta_of(begun.exchange.request.params).get("progressToken")
    if not isinstance(token, str | int) or isinstance(token, bool):
        return begun.caller
    return replace(begun.caller, progress_token=token, note=begun.note)


def _mapping(arguments: object) -> Mapping[str, Any] | None:
    return arguments if isinstance(arguments, dict) else None


def _stop(task: asyncio.Future[Outcome]) -> None:
    task.cancel()
