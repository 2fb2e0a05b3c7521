"""The mock of LLM APIs as a server: every dialect on one port, without a key."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from faultkit.base.address import is_loopback, url_host
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.base.http.http_server import HttpServer
from faultkit.base.network import cannot_listen
from faultkit.base.signals import AsyncStopSignal
from faultkit.base.tasks import TaskSet
from faultkit.faults.dialects.dialect import AnswerReader, LlmRequest, headers_for
from faultkit.faults.dialects.dialect_table import may_be_request, read_request
from faultkit.faults.dialects.json_members import write_json
from faultkit.faults.dialects.llm_events import Chunk, End, Head, LlmEvent, moved_to
from faultkit.faults.dialects.recording import LlmReplay
from faultkit.faults.dialects.turn import Turn
from faultkit.faults.llm_fault import tokens_of
from faultkit.llm.mock.mock_answers import AnswerSource, MockAnswers
from faultkit.llm.mock.mock_endpoints import JSON_HEADERS, answer_besides
from faultkit.plan import Plan, Rule
from faultkit.plan.llm_rules import LlmRules


@dataclass(frozen=True, slots=True)
class LlmMockJob:
    """What to serve and where."""

    answers: MockAnswers
    plan: Plan = Plan()  # noqa: RUF009 (a frozen value)
    tokens_per_s: float = 0.0
    """Pace of streamed answers; 0 for all at once."""
    host: str = "127.0.0.1"
    port: int = 0
    json_events: bool = False
    replay: LlmReplay | None = None
    """Recorded answers, in place of `answers`."""


class AnswerWatch(Protocol):
    """Is called with what becomes of one answer."""

    def sent(self, event: LlmEvent) -> None:
        """Take an event that was sent."""

    def left(self) -> None:
        """Take note that the client has left before the end."""


Watch: TypeAlias = Callable[[HttpRequest, LlmRequest], AnswerWatch]
"""Called with each request to a model, before the rules are."""


class LlmMock:
    """Answers requests to models."""

    def __init__(
        self,
        answers: AnswerSource,
        rules: LlmRules,
        clock: Callable[[], float],
        tokens_per_s: float = 0.0,
        replay: LlmReplay | None = None,
        missed: Callable[[str], None] = lambda why: None,
        watch: Watch | None = None,
        scale: float = 1.0,
    ) -> None:
        """Create a mock.

        missed: called with each request that `replay` has no answer to, and why
        scale: seconds of the clock in one second of the machine"""
        self._replay = replay
        self._missed = missed
        self._watch = watch
        self._scale = scale
        self._answers = answers
        self._rules = rules
        self._clock = clock
        self._tokens_per_s = tokens_per_s
        self._tasks = TaskSet[None]()

    def handle(self, request: HttpRequest, writer: ResponseWriter) -> None:
        """Answer a request, now or in its time."""
        asked = read_request(request.target, request.body) if request.method == "POST" else None
        if asked is None:
            status, headers, body = answer_besides(request, *_refusal(request))
            if request.method == "HEAD":
                writer.respond_without_body(status, headers)
            else:
                writer.respond(status, headers, body)
            return
        watch = None if self._watch is None else self._watch(request, asked)
        treated = self._rules.treat(asked, request.method, request.lines, self._clock())
        events = treated.answered(treated.answer or self._answer(treated.request))
        task = self._tasks.start(self._play(events, writer, watch))
        if watch is not None:
            writer.on_disconnect(watch.left)
        writer.on_disconnect(task.cancel)

    async def stop(self) -> None:
        """Cancel every answer that is under way."""
        await self._tasks.cancel()

    def _answer(self, request: LlmRequest) -> list[LlmEvent]:
        if self._replay is not None:
            return self._replayed(self._replay, request)
        return answer_events(request, self._answers.turn_for(request), self._clock(), self._tokens_per_s)

    def _replayed(self, replay: LlmReplay, request: LlmRequest) -> list[LlmEvent]:
        """Return a recorded answer at its recorded pace, or at that of the mock if it has one."""
        now, recorded = self._clock(), replay.answer_to(request)
        if recorded is None:
            why = replay.why_not(request)
            self._missed(why)
            body = request.dialect.refusal("server_error", why, request.model).body
            # A status that no client tries again.
            return [Head(now, 404, JSON_HEADERS), Chunk(now, body, is_whole=True), End(now)]
        reader = AnswerReader(request, recorded.status, recorded.content_type)
        head = Head(now, recorded.status, (("content-type", recorded.content_type),), reader.is_stream)
        pace = self._tokens_per_s
        parts = ((now if pace else now + offset_s, part.encode()) for offset_s, part in recorded.units)
        return _paced(head, reader, parts, pace)

    async def _play(
        self, events: Iterable[LlmEvent], writer: ResponseWriter, watch: AnswerWatch | None
    ) -> None:
        """Send the events of an answer in their time."""
        head = Head(0.0, 200)
        body = b""
        for event in events:
            wait_s = event.at - self._clock()
            if wait_s > 0:
                await asyncio.sleep(wait_s / self._scale)
            if isinstance(event, Head):
                head = event
                if event.is_stream:
                    writer.begin(event.status, event.headers)
            elif isinstance(event, End):
                _end(event, head, body, writer)
            elif head.is_stream or event.has("keep_alive"):
                # A whole answer that only keeps its connection alive has no length.
                writer.begin(head.status, head.headers)
                writer.write(event.raw)
                await writer.drained()
            else:
                body += event.raw
            if watch is not None:
                watch.sent(event)


def answer_events(request: LlmRequest, turn: Turn, now: float, tokens_per_s: float = 0.0) -> list[LlmEvent]:
    """Return an answer as its provider sends it; a token takes its time, if there is a pace."""
    dialect = request.dialect
    head = Head(now, 200, headers_for(request.framing), request.is_streamed)
    reader = AnswerReader(request, 200, dict(head.headers)["content-type"])
    if request.is_streamed:
        units = dialect.stream_of(turn, request)
    else:
        units = [write_json(dialect.whole_of(turn, request))]
    return _paced(head, reader, ((now, unit) for unit in units), tokens_per_s)


def _paced(
    head: Head, reader: AnswerReader, parts: Iterable[tuple[float, bytes]], tokens_per_s: float
) -> list[LlmEvent]:
    """Return the events of an answer whose parts come at these times at the earliest; a token takes its time,
    if there is a pace."""
    events: list[LlmEvent] = [head]
    at = head.at

    def add(chunks: Iterable[Chunk]) -> None:
        nonlocal at
        for chunk in chunks:
            at += tokens_of(chunk) / tokens_per_s if tokens_per_s else 0.0
            events.append(moved_to(chunk, at))

    for earliest, part in parts:
        at = max(at, earliest)
        add(reader.feed(part, at))
    add(reader.end(at))
    return [*events, End(at)]


def _refusal(request: HttpRequest) -> tuple[int, str]:
    """Return status and message for what is no request to a model."""
    if not may_be_request(request.target):
        return 404, f"this mock has no {request.path}"
    if request.method != "POST":
        return 405, f"expected POST for {request.path}, got {request.method}"
    return (
        400,
        "the body is no JSON, or no request of this API: model, or messages, contents or input, is missing",
    )


def _end(end: End, head: Head, body: bytes, writer: ResponseWriter) -> None:
    if end.how != "end":
        if not writer.began:
            writer.begin_sized(head.status, head.headers, len(body) + 1, body)
        writer.abort(end.how == "reset")
    elif writer.began:
        writer.end()
    else:
        writer.respond(head.status, head.headers, body)


async def run_llm_mock(job: LlmMockJob, say: Callable[[str], None] = lambda line: None) -> str:
    """Serve until a signal and return which. `say` gets the address, and each injection as an event."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()

    def clock() -> float:
        return loop.time() - began_s

    def tell(event: str, **fields: object) -> None:
        say(json.dumps({"event": event, "t": round(clock(), 6), **fields}))

    def injected(rule: Rule, request: LlmRequest, effect: str, amount: float | None) -> None:
        if job.json_events:
            what = {"rule": rule.name, "fault": rule.fault.kind, "effect": effect, "amount": amount}
            tell("injected", **what, dialect=request.dialect.name, model=request.model, path=request.path)

    rules = LlmRules(job.plan, injected)

    def missed(why: str) -> None:
        if job.json_events:
            tell("missed", why=why)
        else:
            say(f"no recorded answer: {why}")

    mock = LlmMock(job.answers, rules, clock, job.tokens_per_s, job.replay, missed)
    server = HttpServer(mock.handle)
    try:
        host, port = await server.start(job.host, job.port)
    except OSError as error:
        raise cannot_listen(job.host, job.port, error) from None
    url = f"http://{url_host(host)}:{port}"
    with AsyncStopSignal() as signals:
        try:
            if job.json_events:
                tell("started", url=url)
            else:
                say(f"mock of LLM APIs on {url} (OpenAI: {url}/v1)")
                if not is_loopback(job.host):
                    say(f"warning: every machine that reaches {job.host} may call the mock")
            ended = await signals.wait()
        finally:
            await mock.stop()
            await server.stop()
    for name, (covered, hit) in rules.counts.items():
        if not job.json_events:
            say(f"{name}: acted on {hit} of {covered} requests")
    if job.json_events:
        counts = [
            {"name": name, "covered": each[0], "injected": each[1]} for name, each in rules.counts.items()
        ]
        tell("ended", reason=ended, rules=counts)
    return ended
