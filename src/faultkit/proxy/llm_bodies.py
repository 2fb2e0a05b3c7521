"""The LLM rules of a proxy at work on the requests of one connection: the bodies that they read, and the
filters of the answers.

What is a request to a model is decided by `faults.dialects`. Everything else, and what cannot be read, passes
untouched, is counted, and is reported once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.dialect_table import may_be_request, read_request
from faultkit.faults.dialects.json_members import write_json
from faultkit.faults.dialects.llm_events import Chunk, Head, LlmEvent
from faultkit.faults.http_fault import AnswerFilter
from faultkit.faults.llm_answer_filter import LlmAnswerFilter
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault
from faultkit.plan.llm_rules import Hit, LlmTreatment, covers, treat_request
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.http import BodyVerdict, OwnAnswer, RequestHead
from faultkit.proxy.request_rules import RequestLink

T = TypeVar("T")
_PASSES = BodyVerdict()
_MOST_AWAITED = 64
"""Answers of one connection that may be outstanding: clients of HTTP/1.1 hardly ever send requests ahead."""


class LlmBodies:
    """A `BodyJudge` for one connection."""

    __slots__ = ("_filters", "_link", "_recording", "_spares")

    def __init__(self, link: RequestLink, spares: Callable[[RequestHead], bool]) -> None:
        """`spares` returns whether a request goes to an upstream that is not to be broken."""
        self._link = link
        self._spares = spares
        self._filters: dict[int, tuple[LlmAnswerFilter, tuple[ActiveStreamRule, ...]]] = {}
        """Filters of answers that have not begun, with their rules, by the number of the request."""
        self._recording: dict[int, AnswerFilter] = {}
        """The same of those that are recorded."""

    def wants(self, head: RequestHead) -> bool:
        """Return whether an LLM rule may have to read the body."""
        proxy = self._link.proxy
        if not (proxy.llm_rules or proxy.recorder) or head.method != "POST" or self._spares(head):
            return False
        if not _is_of_models(_origin_form(head.target)):
            self._untouched(f"POST {head.path}, which is no path of an LLM API that is known", "path")
            return False
        coding = head.header("content-encoding") or ""
        if coding.lower() not in ("", "identity"):
            self._untouched(f"a request with Content-Encoding: {coding}")
            return False
        return True

    def judge(self, head: RequestHead, number: int, body: bytes) -> BodyVerdict:
        """Return what LLM rules do to a request."""
        target = _origin_form(head.target)
        asked = read_request(target, body)
        if asked is None:
            self._untouched("a request whose body is no JSON, or none of its API")
            return _PASSES
        proxy = self._link.proxy
        rules = proxy.llm_rules
        treated = treat_request(asked, (self._hit(active, head, number) for active in rules))
        if treated.answer is not None:
            return self._own_answer(treated, treated.answer, head)
        if treated.chain is not None:
            acting = tuple(rules[place] for place in treated.places)

            def acts(place: int) -> bool:
                return acting[place].acting and acting[place] in proxy.services.active.rules

            filter = LlmAnswerFilter(treated.request, treated.chain, acts, self._untouched)
            _put(self._filters, number, (filter, acting))
        if proxy.recorder is not None:
            _put(self._recording, number, proxy.recorder.filter_of(treated.request))
        is_changed = treated.request.body is not asked.body
        return BodyVerdict(
            write_json(treated.request.body) if is_changed else None,
            is_plain=treated.chain is not None or proxy.recorder is not None,
        )

    def too_long(self, head: RequestHead) -> None:
        """Record that a body was too long to be read."""
        self._untouched("a request whose body is too long")

    def take_recording(self, number: int) -> AnswerFilter | None:
        """Return the filter that records the answer to a request, if there is one."""
        return self._recording.pop(number, None)

    def take_filter(self, number: int) -> tuple[LlmAnswerFilter, tuple[ActiveStreamRule, ...]] | None:
        """Return the filter of the answer to a request, and its rules, if there is one."""
        return self._filters.pop(number, None)

    def _hit(self, active: ActiveStreamRule, head: RequestHead, number: int) -> Hit:
        link = self._link
        proxy, fault = link.proxy, active.rule.fault
        assert isinstance(fault, LlmFault)

        def hit(asked: LlmRequest) -> tuple[LlmFault, LlmCircumstances] | None:
            if not covers(active.rule, asked, head.method, head.headers):
                return None
            unit = f"{link.ordinal}.{number}"
            if not active.fires(proxy.name, unit):
                return None
            count = 0

            def note(effect: str, amount: float | None) -> None:
                nonlocal count
                value = 1.0 if amount is None else amount
                proxy.record_injection(active, link.ordinal, "to_client", count, effect, value)
                count += 1

            rng, memory = active.unit_rng(proxy.name, unit, "llm"), active.shared(proxy.name, "to_upstream")
            return fault, LlmCircumstances(proxy.services.loop.clock(), rng, memory, note)

        return hit

    def _own_answer(
        self, treated: LlmTreatment, answer: tuple[LlmEvent, ...], head: RequestHead
    ) -> BodyVerdict:
        """Return an answer of ours: a whole one, whose time the rules before it may have moved."""
        events = tuple(treated.answered(answer))
        first = next(event for event in events if isinstance(event, Head))
        body = b"".join(event.raw for event in events if isinstance(event, Chunk))
        own = OwnAnswer(first.status, body.decode(), first.headers, treated.answered_by)
        return BodyVerdict(answer=own, answer_at=events[-1].at)

    def _untouched(self, what: str, kind: str = "") -> None:
        self._link.proxy.count_untouched(what, kind)


def _put(awaited: dict[int, T], number: int, value: T) -> None:
    if len(awaited) >= _MOST_AWAITED:
        awaited.pop(next(iter(awaited)))
    awaited[number] = value


@lru_cache(256)
def _is_of_models(target: str) -> bool:
    return may_be_request(target)


def _origin_form(target: str) -> str:
    """Return path and query of a target, which a forward proxy's client sends with the host."""
    if target.startswith("/"):
        return target
    _, mark, rest = target.partition("://")
    return "/" + rest.partition("/")[2] if mark else target
