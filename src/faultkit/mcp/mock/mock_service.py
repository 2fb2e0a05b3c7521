"""The mock as a service: answers out of a manifest or recording, with the faults of a plan."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from faultkit.base.tasks import TaskSet
from faultkit.faults.call.call import Verdict
from faultkit.mcp.injector import Injector
from faultkit.mcp.interpreter import count_reply, execute_verdict
from faultkit.mcp.mock.manifest_answers import AnswerSource, ClientQuestions, ManifestAnswers
from faultkit.mcp.mock.mock_model import JsonRpcError, Manifest, Question, ReplyMember, error_member, reply_of
from faultkit.mcp.wire.era import refusal_of
from faultkit.mcp.wire.exchange import Exchange, Session, call_of
from faultkit.mcp.wire.message import INTERNAL_ERROR, Id, Incoming, encode, read

if TYPE_CHECKING:
    from faultkit.mcp.mock.mock_recording import Recording

_TOO_DEEP = error_member(JsonRpcError(INTERNAL_ERROR, "the arguments are nested too deeply to be answered"))


class MockService:
    """A `Service` that answers from an `AnswerSource`."""

    def __init__(self, manifest: Manifest | Recording, injector: Injector) -> None:
        self._source = source_of(manifest)
        self._injector = injector
        injector.learn_tools(manifest.listed)
        self._name = manifest.name
        self._tasks = TaskSet[None]()
        self._asked: dict[tuple[str, Id], asyncio.Future[dict[str, Any]]] = {}
        self._questions = 0
        self._began = asyncio.get_running_loop().time()

    async def stop(self) -> None:
        await self._tasks.cancel()

    # Service.

    def opened(self, session: Session) -> None:
        pass

    def closed(self, session: Session) -> None:
        pass

    def notification(self, session: Session, incoming: Incoming) -> None:
        pass

    def response(self, session: Session, incoming: Incoming) -> None:
        # Keyed by session, so that one client cannot answer for another.
        asked = None if incoming.id is None else self._asked.get((session.id, incoming.id))
        if asked is not None and not asked.done():
            asked.set_result(incoming.message)

    def request(self, exchange: Exchange) -> None:
        request, session = exchange.request, exchange.session
        if session.era == "modern" and session.transport == "stdio":
            refusal = refusal_of(request)
            if refusal is not None:
                failure = JsonRpcError(refusal.code, refusal.message, refusal.data)
                exchange.reply(reply_of(request.id, error_member(failure)))
                return
        if self._injector.plan.rules:
            verdict = self._verdict(request, session)
            if verdict is not None:
                # At once, so that later messages of the same read are ignored too.
                session.frozen |= verdict.freezes_session
                self._spawn(execute_verdict(verdict, exchange, lambda: self._ask(exchange)))
                return
        answer = self._answer(exchange)
        if isinstance(answer, ClientQuestions):
            self._spawn(self._answer_later(exchange, answer))
            return
        exchange.reply(reply_of(request.id, answer))
        count_reply(session)

    def _verdict(self, request: Incoming, session: Session) -> Verdict | None:
        call = call_of(session, request, self._name)
        decided = self._injector.decide(call, asyncio.get_running_loop().time() - self._began)
        return None if decided is None else decided[1]

    def _answer(self, exchange: Exchange) -> ReplyMember | ClientQuestions:
        request = exchange.request
        try:
            return self._source.answer(request.method, request.params, exchange.session.era)
        except RecursionError:
            # Some values can be parsed but are nested too deeply to be encoded.
            return _TOO_DEEP

    async def _ask(self, exchange: Exchange) -> Incoming:
        """Return the reply to a call with a verdict, as an upstream would."""
        answer = self._answer(exchange)
        if isinstance(answer, ClientQuestions):
            answer = await self._asking(exchange, answer)
        return read(reply_of(exchange.request.id, answer))

    async def _answer_later(self, exchange: Exchange, asking: ClientQuestions) -> None:
        try:
            answer = await self._asking(exchange, asking)
        except asyncio.CancelledError:
            if not exchange.cancelled:
                raise
            exchange.finish()
            return
        exchange.reply(reply_of(exchange.request.id, answer))
        count_reply(exchange.session)

    async def _asking(self, exchange: Exchange, asking: ClientQuestions) -> ReplyMember:
        """Send the tool's questions to the client, then return the answer."""
        heard: dict[str, Any] = {}
        for question in asking.questions:
            said = await self._question(exchange, question)
            if "error" in said:
                text = f"the client did not answer {question.method}"
                return error_member(JsonRpcError(INTERNAL_ERROR, text, said["error"]))
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
        self._tasks.start(work)


def source_of(manifest: Manifest | Recording) -> AnswerSource:
    """Return the source of answers for a manifest or a recording."""
    if isinstance(manifest, Manifest):
        return ManifestAnswers(manifest)
    # Imported late: few mocks are recordings, and a stdio client waits for every import.
    from faultkit.mcp.mock.mock_recording import Replay

    return Replay(manifest)


def _give_up(answered: asyncio.Future[dict[str, Any]]) -> None:
    answered.cancel()
