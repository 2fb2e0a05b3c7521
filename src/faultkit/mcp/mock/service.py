"""The mock as a service: it answers from its manifest, and breaks what a rule says."""

from __future__ import annotations

import asyncio
from typing import Any

from faultkit.faults.call.call import Call, Verdict
from faultkit.mcp.carry import carry, replied
from faultkit.mcp.injector import Injector
from faultkit.mcp.mock.answers import Answers
from faultkit.mcp.mock.model import Failure, Manifest, Question, Tool
from faultkit.mcp.wire.era import refusal_of
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import INVALID_PARAMS, METHOD_NOT_FOUND, Id, Incoming, encode, read, target_of

_UNSUPPORTED = Failure(METHOD_NOT_FOUND, "the client cannot be asked in this era")


class Mock:
    def __init__(self, manifest: Manifest, injector: Injector) -> None:
        self._answers = Answers(manifest)
        self._injector = injector
        injector.learn_tools(tool.listed for tool in manifest.tools)
        self._name = manifest.name
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked: dict[Id, asyncio.Future[dict[str, Any]]] = {}
        self._questions = 0
        self._began = asyncio.get_running_loop().time()

    async def stop(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # Of Service.

    def opened(self, session: Session) -> None:
        pass

    def closed(self, session: Session) -> None:
        pass

    def notification(self, session: Session, incoming: Incoming) -> None:
        pass

    def response(self, session: Session, incoming: Incoming) -> None:
        asked = None if incoming.id is None else self._asked.pop(incoming.id, None)
        if asked is not None and not asked.done():
            asked.set_result(incoming.message)

    def request(self, exchange: Exchange) -> None:
        request, session = exchange.request, exchange.session
        if session.era == "modern" and session.transport == "stdio":
            refusal = refusal_of(request)
            if refusal is not None:
                failure = Failure(refusal.code, refusal.message, refusal.data)
                exchange.reply(_reply(request.id, failure))
                return
        verdict = self._verdict(request, session)
        if verdict is not None:
            self._spawn(carry(verdict, exchange, lambda: self._ask(exchange)))
            return
        answer = self._answer(exchange)
        if isinstance(answer, Tool):
            self._spawn(self._answer_later(exchange, answer))
            return
        exchange.reply(_reply(request.id, answer))
        replied(session)

    def _verdict(self, request: Incoming, session: Session) -> Verdict | None:
        if not self._injector.plan.rules:
            return None
        name = target_of(request.method, request.params)
        assert request.id is not None
        call = Call(
            request.method, name, request.params, request.id, self._name, session.transport, session.era
        )
        decided = self._injector.decide(call, asyncio.get_running_loop().time() - self._began)
        return None if decided is None else decided[1]

    def _answer(self, exchange: Exchange) -> bytes | Failure | Tool:
        """At once, or the tool that has to ask its client first."""
        request, era = exchange.request, exchange.session.era
        if request.method != "tools/call":
            return self._answers.answer(request.method, request.params, era)
        name = request.params.get("name")
        tool = self._answers.tool(name) if isinstance(name, str) else None
        if tool is None:
            return Failure(METHOD_NOT_FOUND, f"tool `{name}` is not declared in the mock")
        arguments = request.params.get("arguments")
        arguments = {} if arguments is None else arguments
        if not isinstance(arguments, dict):
            return Failure(INVALID_PARAMS, "expected an object as arguments")
        refusal = self._answers.refusal(tool, arguments)
        if refusal is not None:
            return refusal
        if tool.questions:
            return tool
        return self._answers.called(tool, {"args": arguments}, era)

    async def _ask(self, exchange: Exchange) -> Incoming:
        """For a call with a verdict: the reply, as an upstream would give it."""
        answer = self._answer(exchange)
        if isinstance(answer, Tool):
            answer = await self._asking(exchange, answer)
        return read(_reply(exchange.request.id, answer))

    async def _answer_later(self, exchange: Exchange, tool: Tool) -> None:
        exchange.reply(_reply(exchange.request.id, await self._asking(exchange, tool)))
        replied(exchange.session)

    async def _asking(self, exchange: Exchange, tool: Tool) -> bytes | Failure:
        """Asks the client what the tool wants to know, and then answers."""
        if exchange.session.era == "modern":
            return _UNSUPPORTED
        names: dict[str, Any] = {"args": exchange.request.params.get("arguments") or {}}
        for question in tool.questions:
            said = await self._question(exchange, question)
            if "error" in said:
                return Failure(-32603, f"the client did not answer {question.method}", said["error"])
            names[question.asks] = said.get("result")
        return self._answers.called(tool, names, exchange.session.era)

    async def _question(self, exchange: Exchange, question: Question) -> dict[str, Any]:
        self._questions += 1
        id = f"mock-{self._questions}"
        answered: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[id] = answered
        exchange.on_cancel(lambda: _give_up(answered))
        message = {"jsonrpc": "2.0", "id": id, "method": question.method, "params": question.params}
        exchange.note(encode(message))
        try:
            return await answered
        finally:
            self._asked.pop(id, None)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _give_up(answered: asyncio.Future[dict[str, Any]]) -> None:
    if not answered.done():
        answered.cancel()


def _reply(id: Id | None, answer: bytes | Failure) -> bytes:
    if isinstance(answer, Failure):
        error: dict[str, Any] = {"code": answer.code, "message": answer.message}
        if answer.data is not None:
            error["data"] = answer.data
        return encode({"jsonrpc": "2.0", "id": id, "error": error})
    # By hand: the result stands ready as bytes for most calls.
    own = b"%d" % id if type(id) is int else encode(id)
    return b'{"jsonrpc":"2.0","id":' + own + b',"result":' + answer + b"}"
