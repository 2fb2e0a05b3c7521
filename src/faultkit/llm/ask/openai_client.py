"""OpenAI's API, which Gemini, OpenRouter and ollama speak as well, by the `openai` package.

Retries are off: ours are the same for every provider.
"""

from __future__ import annotations

import math
from typing import Any

import openai

from faultkit.llm.answers import CONNECT_S, at, body_of, count_at, failure_of, is_loopback, text_at
from faultkit.llm.ask.client import End, Question, Reply, Vectors
from faultkit.llm.ask.settings import LlmSettings
from faultkit.llm.failure import Failure
from faultkit.llm.headers import keep_ours
from faultkit.llm.usage import Usage, tokens_in

_ENDS: dict[str, End] = {"length": "cut", "content_filter": "refused"}


class OpenaiClient:
    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        hooks: dict[str, Any] = {} if settings.provider.name == "openai" else {"request": [keep_ours]}
        self._client = openai.OpenAI(
            api_key=settings.key or "none",
            base_url=settings.base_url,
            max_retries=0,
            http_client=openai.DefaultHttpxClient(
                # A key is for the host that the user named, not for one that it points to.
                follow_redirects=False,
                trust_env=not is_loopback(settings.base_url),
                event_hooks=hooks,
            ),
        )

    def close(self) -> None:
        self._client.close()

    def chat(self, question: Question, timeout_s: float) -> Reply:
        provider = self._settings.provider
        messages: list[Any] = [{"role": "system", "content": question.system}]
        messages += [{"role": turn.role, "content": turn.text} for turn in question.turns]
        more: dict[str, Any] = {provider.limit_field: question.answer_tokens}
        if provider.temperature is not None:
            more["temperature"] = provider.temperature
        if question.format == "schema":
            named = {"name": "answer", "schema": question.schema, "strict": False}
            more["response_format"] = {"type": "json_schema", "json_schema": named}
        elif question.format == "object":
            more["response_format"] = {"type": "json_object"}
        timeout = openai.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S))
        try:
            raw = self._client.chat.completions.with_raw_response.create(
                model=self._settings.model,
                messages=messages,
                timeout=timeout,
                **more,
            )
        except openai.OpenAIError as error:
            raise failure_of(error, openai) from error
        return _reply(body_of(raw.http_response.text), question)

    def embed(self, texts: list[str], dim: int | None, timeout_s: float) -> Vectors:
        model = self._settings.embed_model
        assert model is not None
        more: dict[str, Any] = {} if dim is None else {"dimensions": dim}
        timeout = openai.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S))
        try:
            raw = self._client.embeddings.with_raw_response.create(
                model=model, input=texts, encoding_format="float", timeout=timeout, **more
            )
        except openai.OpenAIError as error:
            raise failure_of(error, openai) from error
        body = body_of(raw.http_response.text)
        used = count_at(body, "usage", "prompt_tokens")
        return Vectors(
            _vectors(body, len(texts)), Usage(sum(map(tokens_in, texts)) if used is None else used, 0, 1)
        )


def _reply(body: dict[str, Any], question: Question) -> Reply:
    choice = at(body, "choices", 0)
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise Failure("garbage", "no choices in it")
    text, refusal = text_at(choice, "message", "content"), text_at(choice, "message", "refusal")
    end = _ENDS.get(text_at(choice, "finish_reason"), "done")
    prompt, answer = (count_at(body, "usage", name) for name in ("prompt_tokens", "completion_tokens"))
    sent = question.system + "".join(turn.text for turn in question.turns)
    return Reply(
        text=refusal or text,
        end="refused" if refusal else end,
        model=text_at(body, "model"),
        usage=Usage(
            tokens_in(sent) if prompt is None else prompt, tokens_in(text) if answer is None else answer, 1
        ),
    )


def _vectors(body: dict[str, Any], count: int) -> list[list[float]]:
    rows = at(body, "data")
    if not isinstance(rows, list) or len(rows) != count:
        raise Failure("garbage", f"expected {count} vectors")
    vectors: dict[int, list[float]] = {}
    for place, row in enumerate(rows):
        index, vector = count_at(row, "index"), at(row, "embedding")
        numbers = isinstance(vector, list) and all(
            isinstance(number, (int, float)) and math.isfinite(number) for number in vector
        )
        if not numbers or not vector:
            raise Failure("garbage", f"vector {place} is none of numbers")
        vectors[place if index is None else index] = [float(number) for number in vector]
    if sorted(vectors) != list(range(count)):
        raise Failure("garbage", "vectors whose indexes do not count from 0")
    return [vectors[place] for place in range(count)]
