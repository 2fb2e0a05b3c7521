"""Refusals: status, headers and the provider's own shape of the error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultkit.faults.dialects.dialect_table import DIALECTS
from faultkit.faults.dialects.llm_events import End
from faultkit.faults.llm.auth import Auth
from faultkit.faults.llm.content_filter import ContentFilter
from faultkit.faults.llm.context_length import ContextLength
from faultkit.faults.llm.llm_rate_limit import LlmRateLimit
from faultkit.faults.llm.overloaded import Overloaded
from faultkit.faults.llm.quota_exhausted import QuotaExhausted
from faultkit.faults.llm.server_error import ServerError
from faultkit.faults.llm_fault import LlmFault
from tests.faults.llm.answers import Seen, asked, through

OPENAI = ("openai_chat", "openai_responses")


def error(seen: Seen) -> Any:
    return json.loads(seen.raw)["error"]


@pytest.mark.parametrize(
    ("fault", "statuses", "openai", "anthropic", "gemini"),
    [
        (
            LlmRateLimit(),
            (429, 429, 429, 429),
            "rate_limit_exceeded",
            "rate_limit_error",
            "RESOURCE_EXHAUSTED",
        ),
        (ServerError(), (500, 500, 500, 500), None, "api_error", "INTERNAL"),
        (ServerError(502), (502, 502, 502, 502), None, "api_error", "INTERNAL"),
        (Overloaded(), (503, 529, 503, 503), "server_overloaded", "overloaded_error", "UNAVAILABLE"),
        (
            QuotaExhausted(),
            (429, 402, 429, 429),
            "insufficient_quota",
            "billing_error",
            "RESOURCE_EXHAUSTED",
        ),
        (
            ContextLength(),
            (400, 400, 400, 400),
            "context_length_exceeded",
            "invalid_request_error",
            "INVALID_ARGUMENT",
        ),
        (Auth(), (401, 401, 400, 401), "invalid_api_key", "authentication_error", "INVALID_ARGUMENT"),
        (
            ContentFilter(form="error"),
            (400, 400, 400, 400),
            "content_filter",
            "invalid_request_error",
            "INVALID_ARGUMENT",
        ),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_refusal_has_the_shape_of_its_provider(
    fault: LlmFault,
    statuses: tuple[int, ...],
    openai: str | None,
    anthropic: str,
    gemini: str,
    streamed: bool,
) -> None:
    seen = {name: through(fault, asked(name, streamed=streamed), at=5.0) for name in DIALECTS}
    wanted = dict(zip(("openai_chat", "anthropic_messages", "gemini", "ollama"), statuses, strict=True))
    wanted["openai_responses"] = wanted["openai_chat"]
    assert {name: each.head.status for name, each in seen.items()} == wanted
    assert {error(seen[name])["code"] for name in OPENAI} == {openai}
    assert error(seen["anthropic_messages"])["type"] == anthropic
    assert json.loads(seen["anthropic_messages"].raw)["type"] == "error"
    assert error(seen["gemini"])["status"] == gemini
    assert isinstance(error(seen["ollama"]), str)
    for each in seen.values():
        assert (each.end, each.head.at, len(each.notes)) == (End(5.0), 5.0, 1)
        assert b"(fault injected)" in each.raw
        assert dict(each.head.headers)["content-type"] == "application/json"


def test_a_rate_limit_says_when_to_try_again() -> None:
    headers = dict(through(LlmRateLimit(retry_after_s=1.5), asked("openai_chat")).head.headers)
    assert {name: headers[name] for name in headers if name != "content-type"} == {
        "retry-after": "2",
        "retry-after-ms": "1500",
        "x-ratelimit-limit-requests": "0",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1.5s",
    }
    headers = dict(through(LlmRateLimit(tokens=9), asked("anthropic_messages")).head.headers)
    assert "retry-after" not in headers
    headers = dict(through(LlmRateLimit(), asked("anthropic_messages")).head.headers)
    assert headers["anthropic-ratelimit-requests-limit"] == "0"
    assert headers["anthropic-ratelimit-requests-remaining"] == "0"
    assert not any(name.startswith("x-ratelimit") for name in headers)
    assert dict(through(LlmRateLimit(), asked("ollama")).head.headers) == {
        "content-type": "application/json",
        "retry-after": "1",
    }
    (info,) = error(through(LlmRateLimit(retry_after_s=1.5), asked("gemini")))["details"]
    assert info["retryDelay"] == "1.5s"


def test_a_quota_of_requests_slides() -> None:
    memory: dict[str, Any] = {}
    fault = LlmRateLimit(requests=2, window_s=10)

    def status(at: float) -> tuple[int, str | None]:
        head = through(fault, asked("openai_chat"), at=at, memory=memory).head
        return head.status, dict(head.headers).get("retry-after-ms")

    assert [status(at) for at in (0.0, 4.0, 6.0, 9.5, 10.0, 11.0)] == [
        (200, None),
        (200, None),
        (429, "4000"),
        (429, "500"),
        (200, None),
        (429, "3000"),
    ]


def test_a_quota_of_tokens_counts_prompts_and_answers() -> None:
    memory: dict[str, Any] = {}
    fault = LlmRateLimit(tokens=6, window_s=60)
    ask = asked("ollama")  # One token of prompt, four of answer.
    assert [through(fault, ask, memory=memory).head.status for _ in range(3)] == [200, 200, 429]


def test_an_overload_may_come_as_an_event() -> None:
    fault = Overloaded(as_event=True, after_tokens=2)
    seen = through(fault, asked("anthropic_messages"))
    assert (seen.head.status, seen.text) == (200, "One two")
    assert seen.chunks[-1].name == "error"
    assert json.loads(seen.chunks[-1].payload)["error"]["type"] == "overloaded_error"
    assert through(fault, asked("anthropic_messages", streamed=False)).head.status == 529
    with pytest.raises(ValueError, match="after_tokens: expected as_event beside it"):
        Overloaded(after_tokens=2)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("openai_chat", "content_filter"),
        ("openai_responses", "incomplete"),
        ("anthropic_messages", "refusal"),
        ("gemini", "SAFETY"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_filter_stops_the_answer_with_the_reason_of_the_provider(
    name: str, reason: str, streamed: bool
) -> None:
    seen = through(ContentFilter(after_tokens=2), asked(name, streamed=streamed))
    assert (seen.text, seen.finish) == ("One two", reason)
    assert seen.copies <= {"One two"}
