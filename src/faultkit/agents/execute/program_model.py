"""The model of a program under test: a mock on loopback, whose requests are a part of the trace.

The program finds it by its environment: FAULT_LLM_URL, and the variables by which the client libraries of
providers find their base URL.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from math import inf

from faultkit.agents.execute.agent_model import MetRules, asked_of, heard, listening
from faultkit.agents.recovery.trace import TracedCall
from faultkit.base.http.http_exchange import HttpRequest
from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import End, LlmEvent
from faultkit.llm.conversation import Conversation
from faultkit.llm.mock.mock_answers import AnswerSource
from faultkit.llm.mock.mock_server import LlmMock
from faultkit.plan import Plan, Rule
from faultkit.plan.llm_rules import LlmRules


@dataclass(frozen=True, slots=True)
class ProgramModel:
    """What answers for the model of a program, and the faults that act on it."""

    answers: AnswerSource
    plan: Plan


class ModelObserver:
    """Collects the requests of a program to its model."""

    def __init__(self, answers: AnswerSource, now_ms: Callable[[], float]) -> None:
        self._answers, self._now_ms = answers, now_ms
        self._requests: list[_WatchedAnswer] = []

    def watch(self, request: HttpRequest, asked: LlmRequest) -> _WatchedAnswer:
        """Begin to observe the answer to a request; to be given to `LlmMock`."""
        watched = _WatchedAnswer(asked, self._now_ms)
        self._requests.append(watched)
        return watched

    def note(self, rule: Rule, request: LlmRequest, effect: str, amount: float | None) -> None:
        """Take an injection; to be given to `LlmRules`."""
        # An answer is made as soon as its request is there, so it is the last one.
        self._requests[-1].met.note(rule, request, effect, amount)

    def calls(self) -> tuple[list[TracedCall], list[str]]:
        """Return the requests for the trace, and the further faults that acted on them."""
        asked = [each.asked(self._answers) for each in self._requests]
        return [call for call, _ in asked], [name for _, others in asked for name in others]


class _WatchedAnswer:
    """One request to the model, and what was sent of its answer."""

    def __init__(self, request: LlmRequest, now_ms: Callable[[], float]) -> None:
        self.met = MetRules()
        self._request, self._now_ms = request, now_ms
        self._start_ms = now_ms()
        self._events: list[LlmEvent] = []
        self._end_ms: float | None = None

    def sent(self, event: LlmEvent) -> None:
        """Take an event that was sent."""
        self._events.append(event)
        if isinstance(event, End):
            self._end_ms = self._now_ms()

    def left(self) -> None:
        """Take note that the client has left before the end."""
        if self._end_ms is None:
            self._end_ms = self._now_ms()

    def asked(self, answers: AnswerSource) -> tuple[TracedCall, tuple[str, ...]]:
        """Return the request for the trace, and the further faults that acted on it."""
        found, _ = heard(self._request, tuple(self._events), 0.0, inf)
        said = answers.turn_for(self._request)
        conversation = Conversation(self._request.model, "")
        asked = asked_of(conversation, found, said, self.met.taken(), self._start_ms, self._start_ms)
        call = replace(asked.call, end_ms=self._end_ms)
        end = next((event for event in self._events if isinstance(event, End)), None)
        if asked.call.outcome == "lost" and end is not None and end.how == "end":
            # Half an answer in good order: many clients take it for a whole one, and nothing shows that.
            call = replace(call, outcome="ok", misleading=True, is_traceable=False)
        elif end is None and not asked.outcome.ok:
            call = replace(call, outcome="cancelled")
        return call, asked.others


@asynccontextmanager
async def program_model(
    model: ProgramModel, now_ms: Callable[[], float]
) -> AsyncIterator[tuple[str, ModelObserver]]:
    """Serve the model of a program while the context is open; yield its URL and its observer."""
    observer = ModelObserver(model.answers, now_ms)
    rules = LlmRules(model.plan, observer.note)
    mock = LlmMock(model.answers, rules, lambda: now_ms() / 1000, watch=observer.watch)
    async with listening(mock) as url:
        yield url, observer
