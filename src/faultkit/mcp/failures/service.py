"""The failure tools as a service. It answers, and tells whoever keeps the log what became of each call."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from faultkit import __version__
from faultkit.faults.call.call import Era
from faultkit.mcp.failures.arguments import filled, problem_of
from faultkit.mcp.failures.go_json import go_json
from faultkit.mcp.failures.outcome import Blocks, Outcome, ProtocolError, Structured, ToolError
from faultkit.mcp.failures.table import FAILURE_TOOLS
from faultkit.mcp.failures.tool import GROUPS, Caller, FailureTool, Group
from faultkit.mcp.wire.era import finished, meta_of, opening_of, refusal_of
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import (
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
_CANCELLED = ToolError("context canceled", category="cancelled")


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of one call of a tool: for a log."""

    exchange: Exchange
    caller: Caller
    tool: FailureTool | None
    """None: there is no such tool."""
    name: str
    arguments: object
    outcome: Outcome
    result: dict[str, Any] | None
    """None: the reply is an error."""
    reply: bytes
    """As it was sent, or would have been if nobody had cancelled."""
    began_s: float
    """On the clock of the event loop."""
    seconds: float
    cancelled: bool


@dataclass(frozen=True, slots=True)
class _Begun:
    exchange: Exchange
    caller: Caller
    tool: FailureTool | None
    name: str
    arguments: object
    at_s: float


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
        self._tools = {name: tool for name, tool in FAILURE_TOOLS.items() if tool.group in settings.groups}
        self._info = {"name": settings.name, "version": __version__}
        self._tasks: set[asyncio.Future[Outcome]] = set()

    async def stop(self) -> None:
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
        name, arguments = exchange.request.params.get("name"), exchange.request.params.get("arguments")
        shown = name if isinstance(name, str) else ""
        tool = self._tools.get(shown)
        at_s = asyncio.get_running_loop().time()
        begun = _Begun(exchange, self._caller(exchange), tool, shown, arguments, at_s)
        if tool is None:
            failure = ProtocolError(INVALID_PARAMS, f'unknown tool "{shown}"', category="handler")
            self._end(begun, failure)
            return
        problem = problem_of(tool, arguments, like_go=self._settings.like_go)
        if problem is not None:
            self._end(begun, ToolError(problem))
            return
        outcome = tool.run(filled(tool, _mapping(arguments)), begun.caller)
        if not inspect.isawaitable(outcome):
            self._end(begun, outcome)
            return
        task = asyncio.ensure_future(outcome)
        # Kept, so that the end of the server waits for what becomes of it.
        self._tasks.add(task)
        exchange.on_cancel(lambda: _stop(task))

        def finished(task: asyncio.Future[Outcome]) -> None:
            self._tasks.discard(task)
            self._end(begun, _CANCELLED if task.cancelled() else task.result())

        task.add_done_callback(finished)

    def _caller(self, exchange: Exchange) -> Caller:
        caller = self._identify(exchange)
        token = meta_of(exchange.request.params).get("progressToken")
        if not isinstance(token, str | int):
            return caller

        def note(method: str, params: dict[str, Any]) -> None:
            exchange.note(notification_of(method, params))

        return replace(caller, progress_token=token, note=note)

    def _end(self, begun: _Begun, outcome: Outcome) -> None:
        exchange = begun.exchange
        cancelled = exchange.cancelled
        if self._settings.like_go and isinstance(outcome, ProtocolError) and begun.tool is not None:
            # The library of the original wraps every error of a tool into a result.
            outcome = ToolError(outcome.message, category=outcome.category)
        try:
            result, reply = self._reply(exchange, outcome)
        except (ValueError, RecursionError) as error:
            # What could just be read cannot always be written: 1e999, or a nest that a result makes deeper.
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            outcome = ToolError(f"the answer cannot be written as JSON: {why}")
            result, reply = self._reply(exchange, outcome)
        exchange.reply(reply)
        seconds = asyncio.get_running_loop().time() - begun.at_s
        ended = Ended(
            exchange,
            begun.caller,
            begun.tool,
            begun.name,
            begun.arguments,
            outcome,
            result,
            reply,
            begun.at_s,
            seconds,
            cancelled,
        )
        self._log(ended)

    def _reply(self, exchange: Exchange, outcome: Outcome) -> tuple[dict[str, Any] | None, bytes]:
        id = exchange.request.id
        if isinstance(outcome, ProtocolError):
            return None, error_of(id, outcome.code, outcome.message, outcome.data)
        result = finished(result_document(outcome), "tools/call", exchange.session.era, self._info)
        return result, result_of(id, result)


def result_document(outcome: Structured | Blocks | ToolError) -> dict[str, Any]:
    """The `result` of a reply."""
    if isinstance(outcome, Blocks):
        return {"content": [_text(each) for each in outcome.texts]}
    if isinstance(outcome, Structured):
        return {"content": [_text(go_json(outcome.value))], "structuredContent": outcome.value}
    result: dict[str, Any] = {"content": [_text(outcome.text)], "isError": True}
    if outcome.value is not None:
        result["structuredContent"] = outcome.value
    return result


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _mapping(arguments: object) -> Mapping[str, Any] | None:
    return arguments if isinstance(arguments, dict) else None


def _stop(task: asyncio.Future[Outcome]) -> None:
    task.cancel()
