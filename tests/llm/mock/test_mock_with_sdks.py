"""The mock of LLM APIs with the real SDKs: streamed and whole, with tool calls, and with faults."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx
import openai
import pytest

from faultkit.base.errors import InputError
from faultkit.llm.mock.mock_answers import MockAnswers, parse_script
from tests.llm.mock.served_mock import mock

SCRIPT: dict[str, Any] = {
    "turns": [
        {"text": "Let me see.", "calls": [{"name": "weather", "arguments": {"city": "Oslo"}}]},
        {"text": "It is 7 °C in Oslo."},
    ]
}
ASKED: Any = [{"role": "user", "content": "One two three four"}]
LATER: Any = [*ASKED, {"role": "assistant", "content": "Hm"}, {"role": "user", "content": "And?"}]


@contextmanager
def chat(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=10) as client:
        yield client


@contextmanager
def claude(url: str) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=10) as client:
        yield client


def chat_text(client: openai.OpenAI, messages: Any = ASKED) -> tuple[str, str | None]:
    text, finish = "", None
    for chunk in client.chat.completions.create(model="m", messages=messages, stream=True):
        text += chunk.choices[0].delta.content or ""
        finish = chunk.choices[0].finish_reason or finish
    return text, finish


def test_openai_chat_streams_and_answers_whole() -> None:
    script = MockAnswers("script", parse_script(SCRIPT))
    with mock(script) as url, chat(url) as client:
        whole = client.chat.completions.create(model="m", messages=ASKED)
        (call,) = whole.choices[0].message.tool_calls or []
        assert (call.type, whole.choices[0].finish_reason) == ("function", "tool_calls")
        assert getattr(call, "function").arguments == '{"city":"Oslo"}'  # noqa: B009 (a union of types)
        assert chat_text(client) == ("Let me see.", "tool_calls")
        assert chat_text(client, LATER) == ("It is 7 °C in Oslo.", "stop")
        assert chat_text(client, LATER) == chat_text(client, LATER)


def test_openai_responses_stream_and_answer_whole() -> None:
    script = MockAnswers("script", parse_script(SCRIPT))
    with mock(script) as url, chat(url) as client:
        whole = client.responses.create(model="m", input="Hi")
        assert whole.output_text == "Let me see."
        assert [item.type for item in whole.output] == ["message", "function_call"]
        with client.responses.stream(model="m", input="Hi") as stream:
            final = stream.get_final_response()
        assert (final.output_text, final.status) == ("Let me see.", "completed")


def test_anthropic_streams_and_answers_whole() -> None:
    script = MockAnswers("script", parse_script(SCRIPT))
    with mock(script) as url, claude(url) as client:
        whole = client.messages.create(model="m", max_tokens=9, messages=ASKED)
        assert [block.type for block in whole.content] == ["text", "tool_use"]
        with client.messages.stream(model="m", max_tokens=9, messages=ASKED) as stream:
            final = stream.get_final_message()
        assert final.content[1].model_dump()["input"] == {"city": "Oslo"}
        assert (final.stop_reason, whole.stop_reason) == ("tool_use", "tool_use")


def test_gemini_and_ollama_answer_over_http() -> None:
    contents = {"contents": [{"role": "user", "parts": [{"text": "One two"}]}]}
    with mock() as url:
        base = f"{url}/v1beta/models/m"
        array = httpx.post(f"{base}:streamGenerateContent", json=contents).json()
        assert "".join(each["candidates"][0]["content"]["parts"][0]["text"] for each in array) == "One two"
        stream = httpx.post(f"{base}:streamGenerateContent?alt=sse", json=contents)
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = httpx.post(f"{url}/api/chat", json={"model": "m", "messages": ASKED}).text.splitlines()
        assert len(lines) == 5
        assert httpx.get(f"{url}/v1/nothing").status_code == 404


def test_half_an_answer_is_taken_for_a_whole_one() -> None:
    rule = {"fault": "clean_end", "with": {"after_tokens": 2}}
    with mock(None, rule) as url, chat(url) as client:
        assert chat_text(client) == ("One two", None)


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ({"fault": "llm_rate_limit"}, openai.RateLimitError),
        ({"fault": "auth"}, openai.AuthenticationError),
        ({"fault": "context_length"}, openai.BadRequestError),
        ({"fault": "error_event"}, openai.APIError),
        ({"fault": "answer_cut"}, openai.APIConnectionError),
        ({"fault": "answer_cut", "with": {"reset": True}}, openai.APIConnectionError),
    ],
)
def test_the_sdk_raises_what_the_fault_says(rule: dict[str, Any], error: type[Exception]) -> None:
    with mock(None, rule) as url, chat(url) as client, pytest.raises(error):
        chat_text(client)


def test_anthropic_is_overloaded_in_its_own_shape() -> None:
    with mock(None, {"fault": "overloaded"}) as url, claude(url) as client:
        with pytest.raises(anthropic.APIStatusError) as caught:
            client.messages.create(model="m", max_tokens=9, messages=ASKED)
    assert caught.value.status_code == 529


def test_filler_text_depends_on_the_seed() -> None:
    texts = []
    for seed in (1, 1, 2):
        with mock(MockAnswers("lorem", words=20, seed=seed)) as url, chat(url) as client:
            texts.append(chat_text(client)[0])
    assert texts[0] == texts[1] != texts[2]
    assert len(texts[0].split()) == 20


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/chat/completions", b'{"model"', 400),
        ("POST", "/v1/messages", b"{}", 400),
        ("POST", "/v1beta/models/m:generateContent", b"[]", 400),
        ("GET", "/v1/responses", b"", 405),
        ("DELETE", "/v1/models", b"", 404),
        ("POST", "/v1/embeddings", b"{}", 404),
    ],
)
def test_what_is_no_request_to_a_model_is_refused(method: str, path: str, body: bytes, status: int) -> None:
    with mock() as url:
        answer = httpx.request(method, url + path, content=body)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"turns": []}, "turns: expected at least one turn, got none"),
        ({"turns": [{}]}, r"turns\[0\]: expected a text or calls, got neither"),
        (
            {"turns": [{"calls": [{"name": "f", "arguments": 1}]}]},
            r"turns\[0\].calls\[0\].arguments: expected",
        ),
        ({"turns": [{"txt": "x"}]}, "txt"),
    ],
)
def test_a_bad_script_is_named_by_its_path(document: object, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_script(document)
