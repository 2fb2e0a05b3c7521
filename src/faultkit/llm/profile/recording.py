"""The mock of one case: it has one fault, and records every request and what became of its answer."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from faultkit.base.http.http_exchange import HttpRequest
from faultkit.base.http.http_server import HttpServer
from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.json_members import parse_json
from faultkit.faults.dialects.llm_events import Chunk, End, Head, LlmEvent
from faultkit.faults.llm_fault import INJECTED
from faultkit.llm.mock.mock_answers import MockAnswers, ScriptedTurn
from faultkit.llm.mock.mock_server import LlmMock
from faultkit.llm.profile.evidence import SeenRequest
from faultkit.plan import Plan, Rule
from faultkit.plan.llm_rules import LlmRules

HOST = "127.0.0.1"
_MEMBERS_OF_ERRORS = ("message", "code", "type", "status", "reason")
_SAY_NOTHING = ("error", "")
"""Types of errors that stand in every message about one."""
_ANSWER = (
    "The harbour opens at seven. Boats for the northern islands leave from the second pier, every hour until "
    "noon; take the stairs behind the lighthouse, and show your ticket at the gate."
)


def answers_of(turns: tuple[ScriptedTurn, ...] = (), seed: int | str = 0) -> MockAnswers:
    """Return how the mock answers: with the turns of a script, or always with the same text."""
    return MockAnswers("script", turns or (ScriptedTurn(_ANSWER),), seed=seed)


@dataclass(slots=True)
class _Seen:
    """A request while its answer is under way."""

    request: SeenRequest
    recorder: Recorder
    asked: LlmRequest
    superseded_ms: float | None = None
    texts: list[str] = field(default_factory=list)

    def sent(self, event: LlmEvent) -> None:
        now_ms = self.recorder.now_ms()
        if isinstance(event, Head):
            headers = dict(event.headers)
            self.request = replace(self.request, status=event.status, retry_after_s=_retry_after_s(headers))
            if event.status >= 400:
                self._add_reasons(str(event.status))
        elif isinstance(event, Chunk):
            self.texts += [text for text in event.values("text") if isinstance(text, str)]
            if event.has("error"):
                self._add_reasons(*_reasons_in(parse_json(event.payload)))
            self.request = replace(
                self.request,
                has_calls=self.request.has_calls or event.has("call_name"),
                has_usage=self.request.has_usage or any(event.values("usage")),
            )
        else:
            assert isinstance(event, End)
            self.end_at(now_ms, "ended")

    def left(self) -> None:
        self.end_at(self.recorder.now_ms(), "left")

    def end_at(self, now_ms: float, end: Any) -> None:
        since_ms = self.superseded_ms
        overlap_ms = 0.0 if since_ms is None else round(now_ms - since_ms, 1)
        self.request = replace(self.request, end=end, ended_ms=now_ms, overlap_ms=overlap_ms)

    def _add_reasons(self, *reasons: str) -> None:
        self.request = replace(self.request, reasons=(*self.request.reasons, *reasons))


class Recorder:
    """Records the requests of one run."""

    def __init__(self, now_ms: Callable[[], float], shown: Callable[[], str] = str) -> None:
        """`shown` returns what the client has printed so far."""
        self.now_ms = now_ms
        self._shown = shown
        self._seen: list[_Seen] = []
        self.asked = asyncio.Event()
        """Set when the first request comes."""

    def watch(self, request: HttpRequest, asked: LlmRequest) -> _Seen:
        """Record a request, and return what watches its answer."""
        self.asked.set()
        now_ms = self.now_ms()
        identity = hashlib.sha256(f"{request.method} {request.target}\n".encode() + request.body).hexdigest()
        for each in self._seen:
            if each.request.identity == identity and each.request.end == "open":
                each.superseded_ms = now_ms if each.superseded_ms is None else each.superseded_ms
        entry = SeenRequest(
            now_ms, identity, asked.dialect.name, asked.is_streamed, end="open", shown_before=self._shown()
        )
        self._seen.append(_Seen(entry, self, asked))
        return self._seen[-1]

    def injected(self, rule: Rule, request: LlmRequest, effect: str, amount: float | None) -> None:
        """Mark a request that the fault acts on."""
        for each in self._seen:
            if each.asked is request:
                each.request = replace(each.request, is_hit=True)

    @property
    def requests(self) -> tuple[SeenRequest, ...]:
        """All requests so far."""
        now_ms, found = self.now_ms(), []
        for each in self._seen:
            request = replace(each.request, text="".join(each.texts))
            if request.end == "open":
                since_ms = each.superseded_ms
                overlap_ms = 0.0 if since_ms is None else round(now_ms - since_ms, 1)
                request = replace(request, ended_ms=now_ms, overlap_ms=overlap_ms)
            found.append(request)
        return tuple(found)

    @property
    def open_count(self) -> int:
        """Number of answers that have not ended, of clients that are connected."""
        return sum(each.request.end == "open" for each in self._seen)


class CaseServer:
    """The mock of one case on a port of its own."""

    def __init__(self, answers: MockAnswers, plan: Plan, recorder: Recorder) -> None:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        rules = LlmRules(plan, recorder.injected)
        self._mock = LlmMock(answers, rules, lambda: loop.time() - began_s, watch=recorder.watch)
        self._server = HttpServer(self._mock.handle)
        self.url = ""

    async def start(self) -> str:
        """Listen, and return the URL."""
        _, port = await self._server.start(HOST, 0)
        self.url = f"http://{HOST}:{port}"
        return self.url

    async def stop(self) -> None:
        """Stop, and abort every open connection."""
        await self._mock.stop()
        await self._server.stop()


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the wait that an answer asks for; the finer of its headers counts."""
    if "retry-after-ms" in headers:
        return float(headers["retry-after-ms"]) / 1000
    return float(headers["retry-after"]) if "retry-after" in headers else None


def _reasons_in(document: Any) -> list[str]:
    """Return the texts of an error, at any depth."""
    if isinstance(document, list):
        return [reason for each in document for reason in _reasons_in(each)]
    if not isinstance(document, dict):
        return []
    found: list[str] = []
    for name, value in document.items():
        if isinstance(value, dict | list):
            found += _reasons_in(value)
        elif name in (*_MEMBERS_OF_ERRORS, "error") and isinstance(value, str):
            text = value.removesuffix(INJECTED).strip()
            found += [] if text in _SAY_NOTHING else [text]
    return found
