"""The mock as a service: it answers from its source, and breaks what a rule says."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from faultkit.faults.call.call import Verdict
from faultkit.mcp.carry import carry, replied
from faultkit.mcp.injector import Injector
from faultkit.mcp.mock.answers import Answers, Asking, Source
from faultkit.mcp.mock.model import Failure, Manifest, Question
from faultkit.mcp.mock.reply import Member, error_member, reply_of
from faultkit.mcp.wire.era import refusal_of
from faultkit.mcp.wire.exchange import Exchange, Session, call_of
from faultkit.mcp.wire.message import INTERNAL_ERROR, Id, Incoming, encode, read

if TYPE_CHECKING:
    from faultkit.mcp.mock.recording import Recording

_TOO_DEEP = error_member(Failure(INTERNAL_ERROR, "the arguments are nested too deeply to be answered"))


class Mock:
    def __init__(self, manifest: Manifest | Recording, injector: Injector) -> None:
        self._source = source_of(manifest)
        self._injector = injector
        injector.learn_tools(manifest.listed)
        self._name = manifest.name
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked: dict[tuple[str, Id], asyncio.Future[dict[str, Any]]] = {}
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
        # Looked up with its session: another client may not answer in this one's name.
        asked = None if incoming.id is None else self._asked.get((session.id, incoming.id))
        if asked is not None and not asked.done():
            asked.set_result(incoming.message)

    def request(self, exchange: Exchange) -> None:
        request, session = exchange.request, exchange.session
        if session.era == "modern" and session.transport == "stdio":
            refusal = refusal_of(request)
            if refusal is not None:
                failure = Failure(refusal.code, refusal.message, refusal.data)
                exchange.reply(reply_of(request.id, error_member(failure)))
                return
        if self._injector.plan.rules:
            verdict = self._verdict(request, session)
            if verdict is not None:
                # At once: what came in with this call comes too late already.
                session.frozen |= verdict.freeze
                self._spawn(carry(verdict, exchange, lambda: self._ask(exchange)))
                return
        answer = self._answer(exchange)
        if isinstance(answer, Asking):
            self._spawn(self._answer_later(exchange, answer))
            return
        exchange.reply(reply_of(request.id, answer))
        replied(session)

    def _verdict(self, request: Incoming, session: Session) -> Verdict | None:
        call = call_of(session, request, self._name)
        decided = self._injector.decide(call, asyncio.get_running_loop().time() - self._began)
        return None if decided is None else decided[1]

    def _answer(self, exchange: Exchange) -> Member | Asking:
        request = exchange.request
        try:
            return self._source.answer(request.method, request.params, exchange.session.era)
        except RecursionError:
            # What could just be read may be too deep to be written.
            return _TOO_DEEP

    async def _ask(self, exchange: Exchange) -> Incoming:
        """For a call with a verdict: the reply, as an upstream would give it."""
        answer = self._answer(exchange)
        if isinstance(answer, Asking):
            answer = await self._asking(exchange, answer)
        return read(reply_of(exchange.request.id, answer))

    async def _answer_later(self, exchange: Exchange, asking: Asking) -> None:
        try:
            answer = await self._asking(exchange, asking)
        except asyncio.CancelledError:
            if not exchange.cancelled:
                raise
            exchange.finish()
            return
        exchange.reply(reply_of(exchange.request.id, answer))
        replied(exchange.session)

    async def _asking(self, exchange: Exchange, asking: Asking) -> Member:
        """Asks the client what the tool wants to know, and then answers."""
        heard: dict[str, Any] = {}
        for question in asking.questions:
            said = await self._question(exchange, question)
            if "error" in said:
                text = f"the client did not answer {question.method}"
                return error_member(Failure(INTERNAL_ERROR, text, said["error"]))
            heard[question.asks] = said.get("result")
        try:
            return asking.then(heard)
        except RecursionError:
            return _TOO_DEEP

    async def _question(self, exchange: Exchange, question: Question) -> dict[str, Any]:
        self._questions += 1
        id = f"mock-{self._questions}"
        answered: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        key = (exchange.session.id, id)
        self._asked[key] = answered
        exchange.on_cancel(lambda: _give_up(answered))
        message = {"jsonrpc": "2.0", "id": id, "method": question.method, "params": question.params}
        exchange.note(encode(message))
        try:
            return await answered
        finally:
            del self._asked[key]

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def source_of(manifest: Manifest | Recording) -> Source:
    if isinstance(manifest, Manifest):
        return Answers(manifest)
    # Few mocks are recordings, and each client of one on pipes waits for what is imported.
    from faultkit.mcp.mock.replay import Replay

    return Replay(manifest)


def _give_up(answered: asyncio.Future[dict[str, Any]]) -> None:
    answered.cancel()
