"""The mock as a service, and running it: answers from a manifest or recording, with the faults of a plan."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from faultkit.base.address import is_loopback, url_host
from faultkit.base.network import cannot_listen
from faultkit.base.signals import AsyncStopSignal
from faultkit.base.tasks import TaskSet
from faultkit.faults.call_fault import ERAS, Transport
from faultkit.mcp.injector import Injector, check_plan
from faultkit.mcp.interpreter import UNASKED_S, count_reply, execute_verdict, will_reply
from faultkit.mcp.mock.announcements import Announcements
from faultkit.mcp.mock.answer_source import AnswerSource, PendingAnswer, client_of
from faultkit.mcp.mock.manifest_answers import ManifestAnswers
from faultkit.mcp.mock.mock_model import JsonRpcError, Manifest, Question, ReplyMember, error_member, reply_of
from faultkit.mcp.run_log import RunLog
from faultkit.mcp.wire.era import HEADER_MISMATCH, ParameterHeaders, refusal_of
from faultkit.mcp.wire.exchange import Exchange, Session, call_of
from faultkit.mcp.wire.message import INTERNAL_ERROR, Id, Incoming, encode, error_of, read, result_of
from faultkit.mcp.wire.stdio_front import serve_stdio
from faultkit.plan import Plan

if TYPE_CHECKING:
    from faultkit.mcp.mock.mock_recording import Recording

_TOO_DEEP = error_member(JsonRpcError(INTERNAL_ERROR, "the arguments are nested too deeply to be answered"))


class MockService:
    """A `Service` that answers from an `AnswerSource`."""

    def __init__(self, manifest: Manifest | Recording, injector: Injector) -> None:
        self._source = source_of(manifest)
        self._announcements: Announcements | None = None
        if isinstance(manifest, Manifest) and isinstance(self._source, ManifestAnswers):
            self._announcements = Announcements(manifest, self._source.has_resource)
            self._source.state.on_change = self._announcements.announce
        self._injector = injector
        injector.learn_tools(manifest.listed)
        self._listed = manifest.listed
        self._name = manifest.name
        self._tasks = TaskSet[None]()
        self._replying: set[asyncio.Task[None]] = set()
        """Those of the tasks that will reply soon."""
        self._questions: dict[tuple[str, Id], asyncio.Future[dict[str, Any]]] = {}
        """Open requests to clients, by session and id."""
        self._question_count = 0
        self._began_s = asyncio.get_running_loop().time()

    @cached_property
    def _parameters(self) -> ParameterHeaders:
        """The arguments that modern calls over HTTP repeat in headers."""
        headers = ParameterHeaders()
        headers.learn(read(result_of(0, {"tools": list(self._listed)})))
        return headers

    async def stop(self) -> None:
        """Cancel every call that is not answered yet."""
        await self._tasks.cancel()

    async def drain(self, session: Session) -> None:
        """Wait for the pending replies of a session whose client has closed its end."""
        others = set(self._tasks) - self._replying
        if others:
            # Most end at once. Those that hang are cut short by the end of the mock.
            await asyncio.wait(others, timeout=UNASKED_S)
        if self._replying:
            await asyncio.wait(self._replying)

    def _start(self, work: Coroutine[Any, Any, None], *, will_reply: bool) -> None:
        task = self._tasks.start(work)
        if will_reply:
            self._replying.add(task)
            task.add_done_callback(self._replying.discard)

    # --- Service ------------------------------------------------------------------------------

    def opened(self, session: Session) -> None:
        pass

    def closed(self, session: Session) -> None:
        if self._announcements is not None:
            self._announcements.closed(session)

    def notification(self, session: Session, incoming: Incoming) -> None:
        if self._announcements is not None:
            self._announcements.notification(session, incoming.method)

    def response(self, session: Session, incoming: Incoming) -> None:
        # Keyed by session, so that one client cannot answer for another.
        answered = None if incoming.id is None else self._questions.get((session.id, incoming.id))
        if answered is not None and not answered.done():
            answered.set_result(incoming.message)

    def request(self, exchange: Exchange) -> None:
        request, session = exchange.request, exchange.session
        if session.era == "modern" and session.transport == "stdio":
            refusal = refusal_of(request)
            if refusal is not None:
                failure = JsonRpcError(refusal.code, refusal.message, refusal.data)
                exchange.reply(reply_of(request.id, error_member(failure)))
                return
        if session.era == "modern" and session.transport == "http" and request.method == "tools/call":
            wrong = self._parameters.mismatch(request, exchange.headers)
            if wrong is not None:
                exchange.reply(error_of(request.id, HEADER_MISMATCH, f"Header mismatch: {wrong}"))
                return
        if self._injector.plan.rules:
            now_s = asyncio.get_running_loop().time() - self._began_s
            decided = self._injector.decide(call_of(session, request, self._name), now_s)
            if decided is not None:
                _, verdict = decided
                # At once, so that later messages of the same read are ignored too.
                session.frozen |= verdict.freezes_session
                work = execute_verdict(verdict, exchange, lambda: self._ask(exchange))
                self._start(work, will_reply=will_reply(verdict))
                return
        if self._listens(exchange):
            return
        answer = self._answer(exchange)
        if isinstance(answer, PendingAnswer) and not _needs_time(answer):
            # At once, so that a client that closes its end after the call gets the reply.
            for message in answer.messages:
                if message.raw is not None:
                    exchange.note(message.raw)
            answer = _then(answer, {})
        if isinstance(answer, PendingAnswer):
            # A client that has closed its end answers no questions.
            self._start(self._answer_later(exchange, answer), will_reply=not answer.questions)
            return
        exchange.reply(reply_of(request.id, answer))
        count_reply(session)

    def _answer(self, exchange: Exchange) -> ReplyMember | PendingAnswer:
        request = exchange.request
        try:
            client = client_of(exchange.session)
            return self._source.answer(request.method, request.params, exchange.session.era, client)
        except RecursionError:
            # Some values can be parsed but are nested too deeply to be encoded.
            return _TOO_DEEP

    def _listens(self, exchange: Exchange) -> bool:
        """Keep a request open that listens for changes; return whether it is one."""
        if self._announcements is None or not self._announcements.serves(exchange):
            return False
        self._announcements.listen(exchange)
        return True

    async def _ask(self, exchange: Exchange) -> Incoming | None:
        """Return the reply to a call with a verdict, as an upstream would; None if the call stays open."""
        if self._listens(exchange):
            return None
        answer = self._answer(exchange)
        if isinstance(answer, PendingAnswer):
            answer = await self._finish(exchange, answer)
        return read(reply_of(exchange.request.id, answer))

    async def _answer_later(self, exchange: Exchange, pending: PendingAnswer) -> None:
        """Answer a call without a verdict after its messages and questions."""
        work = asyncio.ensure_future(self._finish(exchange, pending))
        exchange.on_cancel(work.cancel)
        try:
            answer = await work
        except asyncio.CancelledError:
            if not exchange.cancelled:
                work.cancel()
                raise
            exchange.finish()
            return
        exchange.reply(reply_of(exchange.request.id, answer))
        count_reply(exchange.session)

    async def _finish(self, exchange: Exchange, pending: PendingAnswer) -> ReplyMember:
        """Send the messages of a call in their time, ask the client, and return the answer."""
        for message in pending.messages:
            if message.after_s:
                await asyncio.sleep(message.after_s)
            if message.raw is not None:
                exchange.note(message.raw)
        answers: dict[str, Any] = {}
        for question in pending.questions:
            reply = await self._question(exchange, question)
            if "error" in reply:
                text = f"the client did not answer {question.method}"
                return error_member(JsonRpcError(INTERNAL_ERROR, text, reply["error"]))
            answers[question.asks] = reply.get("result")
        return _then(pending, answers)

    async def _question(self, exchange: Exchange, question: Question) -> dict[str, Any]:
        """Send one request to the client, on the stream of the call, and return the reply."""
        self._question_count += 1
        id = f"mock-{self._question_count}"
        answered: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        key = (exchange.session.id, id)
        self._questions[key] = answered
        exchange.on_cancel(answered.cancel)
        message = {"jsonrpc": "2.0", "id": id, "method": question.method, "params": question.params}
        exchange.note(encode(message))
        try:
            return await answered
        finally:
            del self._questions[key]


def _needs_time(pending: PendingAnswer) -> bool:
    return bool(pending.questions) or any(each.after_s for each in pending.messages)


def _then(pending: PendingAnswer, answers: Mapping[str, Any]) -> ReplyMember:
    try:
        return pending.then(answers)
    except RecursionError:
        return _TOO_DEEP


def source_of(manifest: Manifest | Recording) -> AnswerSource:
    """Return the source of answers for a manifest or a recording."""
    if isinstance(manifest, Manifest):
        return ManifestAnswers(manifest)
    # Imported late: few mocks are recordings, and a stdio client waits for every import.
    from faultkit.mcp.mock.mock_recording import Replay

    return Replay(manifest)


@dataclass(frozen=True, slots=True)
class MockJob:
    """What to serve and where."""

    manifest: Manifest | Recording
    plan: Plan = Plan()  # noqa: RUF009
    front: Transport = "stdio"
    host: str = "127.0.0.1"
    port: int = 8765
    json_events: bool = False
    """True to write lines for the user as JSON events."""


def check_mock_job(job: MockJob) -> None:
    """Raise InputError for a fault that cannot act here."""
    if job.plan.rules:
        check_plan(job.plan, job.front, ERAS, job.manifest.inventory)


async def run_mock(
    job: MockJob, say: Callable[[str], None] = lambda line: None, *, stdin_fd: int = 0, stdout_fd: int = 1
) -> str:
    """Serve until a signal or the end of input and return which. `say` gets the address."""
    check_mock_job(job)
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    log = RunLog(say, lambda: loop.time() - began_s, as_json=job.json_events)
    for warning in () if isinstance(job.manifest, Manifest) else job.manifest.warnings:
        log.note(f"warning: {warning}")
    injector = Injector(job.plan, job.manifest.name, log.injected)
    injector.on_misfit = log.misfit
    log.caveats(job.plan)
    mock = MockService(job.manifest, injector)
    with AsyncStopSignal() as signals:
        try:
            if job.front == "stdio":
                ended = await signals.wait(serve_stdio(mock, stdin_fd, stdout_fd, at_end=mock.drain))
            else:
                ended = await _serve_http(mock, job, signals, log)
        finally:
            await mock.stop()
    log.ended(ended, injector)
    return ended


async def _serve_http(mock: MockService, job: MockJob, signals: AsyncStopSignal, log: RunLog) -> str:
    # Imported late: a client that starts the mock on stdio waits for every import.
    from faultkit.base.http.callers import allowed_hosts
    from faultkit.mcp.wire.http_front import HttpFront

    front = HttpFront(mock, hosts=allowed_hosts(job.host), origins=())
    try:
        host, port = await front.start(job.host, job.port)
    except OSError as error:
        raise cannot_listen(job.host, job.port, error) from None
    try:
        url = f"http://{url_host(host)}:{port}/mcp"
        log.started(f"mock on {url}", url=url)
        if not is_loopback(job.host):
            log.note(f"warning: every machine that reaches {job.host} may call the mock")
        return await signals.wait()
    finally:
        await front.stop()
