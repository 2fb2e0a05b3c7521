"""The model of an agent under test, with the faults that act on it.

    agent -> toolbox.ask -> AgentModel -> rules of level `llm` -> a mock, a cassette or a provider

In virtual time, and for a cassette or a provider, an answer is made in this process: its events have their
times, and nothing waits. In real time a mock is a server on loopback, and the answer comes over HTTP. Either
way the same bytes are read in the same way, so the outcome is the same.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import Protocol

from faultkit.agents.kinds.script_model import ModelSpec
from faultkit.agents.recovery.trace import CallOutcome, TracedCall
from faultkit.agents.suite.agent_interface import ModelOutcome
from faultkit.base.address import url_host
from faultkit.base.http.http_client import ConnectionLost, HttpClient
from faultkit.base.http.http_server import HttpServer
from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.json_members import write_json
from faultkit.faults.dialects.llm_events import Chunk, Head, LlmEvent
from faultkit.faults.dialects.turn import FinishReason, Turn, token_pieces
from faultkit.faults.dialects.turn import ToolCall as TurnCall
from faultkit.llm.conversation import Completion, Conversation
from faultkit.llm.failure import ProviderFailure
from faultkit.llm.mock.mock_answers import CREATED_AT, CREATED_S
from faultkit.llm.mock.mock_endpoints import JSON_HEADERS
from faultkit.llm.mock.mock_server import LlmMock, answer_events
from faultkit.llm.request_bodies import streamed_request
from faultkit.llm.streamed_answer import StreamedAnswer
from faultkit.plan import Plan, Rule
from faultkit.plan.llm_rules import LlmRules

PERMANENT_MODEL_KINDS = (
    "llm_keep_alive_only",
    "quota_exhausted",
    "context_length",
    "auth",
    "content_filter",
)
"""Faults after which a repeated request cannot succeed, if their rule acts to the end of the run."""
_CANARY = re.compile(r"canary-[0-9a-f]{12}")
_OUTCOMES: dict[str, CallOutcome] = {"timeout": "timeout", "connection": "lost"}


@dataclass(slots=True)
class MetRules:
    """The rules that act, collected request by request."""

    rules: list[Rule] = field(default_factory=list)

    def note(self, rule: Rule, request: LlmRequest, effect: str, amount: float | None) -> None:
        """Take an injection; to be given to `LlmRules`."""
        if rule not in self.rules:
            self.rules.append(rule)

    def taken(self) -> list[Rule]:
        """Return the rules that acted since the last call."""
        found, self.rules = self.rules, []
        return found


@dataclass(frozen=True, slots=True)
class Asked:
    """One request to the model: its outcome, the time that it took, and its place in the trace."""

    outcome: ModelOutcome
    call: TracedCall
    others: tuple[str, ...] = ()
    """Further faults that acted on it."""


class AgentModel(Protocol):
    """The model of one run."""

    async def ask(self, conversation: Conversation, start_ms: float, patience_ms: float) -> Asked:
        """Ask for the next turn, and give up after `patience_ms`. The trace says when it ended."""
        ...


class InnerModel:
    """A model whose answers are made in this process; nothing waits."""

    def __init__(self, spec: ModelSpec, plan: Plan) -> None:
        self._spec = spec
        self._met = MetRules()
        self._rules = LlmRules(plan, self._met.note)

    async def ask(self, conversation: Conversation, start_ms: float, patience_ms: float) -> Asked:
        """Ask for the next turn. The end in the trace is computed."""
        request = streamed_request(conversation, self._spec.client)
        treated = self._rules.treat(request, "POST", (), start_ms / 1000)
        said: Turn | None = None
        events = treated.answer
        own: Completion | None = None
        if events is None:
            if self._spec.answers is not None:
                said = self._spec.answers.turn_for(treated.request)
            else:
                assert self._spec.chat is not None
                own = await self._spec.chat.complete(conversation)
                said = turn_of_completion(own, conversation.model)
            events = tuple(answer_events(treated.request, said, start_ms / 1000))
        found, end_ms = heard(request, treated.answered(events), start_ms, patience_ms)
        if own is not None and isinstance(found, Completion) and _says(found) == _says(own):
            # With the signatures and counts of its provider.
            found = own
        return asked_of(conversation, found, said, self._met.taken(), start_ms, end_ms)


class ServedModel:
    """A mock on loopback, asked over HTTP in real or scaled time."""

    def __init__(
        self,
        client: HttpClient,
        spec: ModelSpec,
        met: MetRules,
        now_ms: Callable[[], float],
        real_s: Callable[[float], float],
    ) -> None:
        self._client, self._spec, self._met = client, spec, met
        self._now_ms, self._real_s = now_ms, real_s

    async def ask(self, conversation: Conversation, start_ms: float, patience_ms: float) -> Asked:
        """Ask for the next turn."""
        request = streamed_request(conversation, self._spec.client)
        assert self._spec.answers is not None
        said = self._spec.answers.turn_for(request)
        found: Completion | ProviderFailure
        try:
            async with asyncio.timeout(self._real_s(patience_ms)):
                found = await self._post(request)
            end_ms = self._now_ms()
        except TimeoutError:
            found = _too_late(patience_ms)
            # When the timer was due. A busy machine fires it later, which must not change the trace.
            end_ms = start_ms + patience_ms
        return asked_of(conversation, found, said, self._met.taken(), start_ms, end_ms)

    async def _post(self, request: LlmRequest) -> Completion | ProviderFailure:
        answer, how = StreamedAnswer(request), "end"
        body = write_json(request.body)
        try:
            reply = await self._client.request("POST", JSON_HEADERS, body, request.path)
            try:
                answer.begin(reply.status, reply.lines)
                while not answer.is_over and (data := await reply.chunk()):
                    answer.feed(data)
            finally:
                reply.close()
        except (ConnectionLost, OSError):
            how = "cut"
        return _completed(answer, how)


@asynccontextmanager
async def served_model(
    spec: ModelSpec, plan: Plan, now_ms: Callable[[], float], scale: float
) -> AsyncIterator[ServedModel]:
    """Serve the mock on loopback while the context is open. `now_ms`: the clock of the suite."""
    assert spec.answers is not None
    met = MetRules()
    mock = LlmMock(spec.answers, LlmRules(plan, met.note), lambda: now_ms() / 1000, scale=scale)
    # Before the clock begins: the import takes longer than a request.
    import faultkit.agents.matchers.schema_validator  # noqa: F401

    async with listening(mock) as url:
        with closing(HttpClient(url)) as client:
            yield ServedModel(client, spec, met, now_ms, lambda ms: ms / 1000 / scale)


@asynccontextmanager
async def listening(mock: LlmMock) -> AsyncIterator[str]:
    """Serve a mock on loopback while the context is open, and yield its URL."""
    server = HttpServer(mock.handle)
    host, port = await server.start("127.0.0.1", 0)
    try:
        yield f"http://{url_host(host)}:{port}"
    finally:
        await mock.stop()
        await server.stop()


# --- pure parts -------------------------------------------------------------------------------------


def heard(
    request: LlmRequest, events: Iterable[LlmEvent], start_ms: float, patience_ms: float
) -> tuple[Completion | ProviderFailure, float]:
    """Return what a client makes of an answer, and when: after `patience_ms` it gives up."""
    answer = StreamedAnswer(request)
    until_s = (start_ms + patience_ms) / 1000
    at_s = start_ms / 1000
    for event in events:
        if event.at >= until_s:
            return _too_late(patience_ms), start_ms + patience_ms
        at_s = max(at_s, event.at)
        if isinstance(event, Head):
            answer.begin(event.status, event.headers)
        elif isinstance(event, Chunk):
            answer.feed(event.raw)
            if answer.is_over:
                break
        else:
            return _completed(answer, event.how), round(at_s * 1000, 6)
    return _completed(answer, "end"), round(at_s * 1000, 6)


def _too_late(patience_ms: float) -> ProviderFailure:
    return ProviderFailure("timeout", f"no whole answer within {patience_ms:g} ms")


def _completed(answer: StreamedAnswer, how: str) -> Completion | ProviderFailure:
    try:
        return answer.completion(how)
    except ProviderFailure as failure:
        return failure


def asked_of(
    conversation: Conversation,
    found: Completion | ProviderFailure,
    said: Turn | None,
    met: list[Rule],
    start_ms: float,
    end_ms: float,
) -> Asked:
    """Return a request as the agent and the trace see it.

    said: the answer before the faults; None if the model was not asked"""
    model = conversation.model
    if isinstance(found, Completion):
        outcome = ModelOutcome("ok", completion=found)
    else:
        why = found.detail or found.kind
        status = f"HTTP {found.status}: " if found.status else ""
        text = f"the model {model} failed: {status}{why}"
        outcome = ModelOutcome(_OUTCOMES.get(found.kind, "protocol_error"), text, None, found)
    is_changed = isinstance(found, Completion) and said is not None and _says(found) != _turn_says(said)
    canaries = tuple(text for rule in met if outcome.ok for text in _canaries(rule, found))
    call = TracedCall(
        model,
        start_ms,
        end_ms,
        outcome.outcome,
        fault=met[0].name if met else "",
        permanent=any(rule.lasts and rule.fault.kind in PERMANENT_MODEL_KINDS for rule in met),
        retry_after_ms=outcome.retry_after_ms,
        canaries=canaries,
        misleading=is_changed,
        is_traceable=bool(canaries),
        is_model=True,
    )
    return Asked(outcome, call, tuple(rule.name for rule in met[1:]))


def _canaries(rule: Rule, found: Completion | ProviderFailure) -> list[str]:
    """Return the texts that a fault planted in an answer."""
    if rule.fault.kind != "canary" or not isinstance(found, Completion):
        return []
    text = getattr(rule.fault, "text", None)
    everything = f"{found.text} {' '.join(str(dict(call.arguments)) for call in found.calls)}"
    if text is None:
        return _CANARY.findall(everything)
    return [text.strip()] if text.strip() and text in everything else []


def _says(completion: Completion) -> object:
    return completion.text, [(call.name, dict(call.arguments), call.problem) for call in completion.calls]


def _turn_says(turn: Turn) -> object:
    return turn.text, [(call.name, dict(call.arguments), "") for call in turn.calls]


def turn_of_completion(completion: Completion, model: str) -> Turn:
    """Return a completion of a cassette or a provider as the turn that a mock would send."""
    calls = tuple(TurnCall(call.name, call.arguments, call.id) for call in completion.calls)
    finish: FinishReason = "tool_calls" if calls else "stop"
    if completion.end != "done":
        finish = "length" if completion.end == "cut" else "content_filter"
    return Turn(
        completion.model or model,
        "recorded",
        tuple(token_pieces(completion.text)),
        calls,
        finish,
        completion.usage.prompt_tokens,
        CREATED_S,
        CREATED_AT,
    )
