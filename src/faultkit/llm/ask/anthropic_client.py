"""Anthropic's API, by the `anthropic` package. An answer that fits a schema is a tool's input there."""

from __future__ import annotations

import json
import warnings
from typing import Any

import anthropic

from faultkit.llm.answers import CONNECT_S, at, body_of, count_at, failure_of, is_loopback, text_at
from faultkit.llm.ask.client import End, Question, Reply, Vectors
from faultkit.llm.ask.settings import LlmSettings
from faultkit.llm.failure import Failure
from faultkit.llm.usage import Usage, tokens_in

_TOOL = "answer"
_ENDS: dict[str, End] = {
    "max_tokens": "cut",
    "model_context_window_exceeded": "cut",
    "refusal": "refused",
}


class AnthropicClient:
    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._client = anthropic.Anthropic(
            api_key=settings.key,
            base_url=settings.base_url,
            max_retries=0,
            http_client=anthropic.DefaultHttpxClient(
                # A key is for the host that the user named, not for one that it points to.
                follow_redirects=False,
                trust_env=not is_loopback(settings.base_url),
            ),
        )

    def close(self) -> None:
        self._client.close()

    def chat(self, question: Question, timeout_s: float) -> Reply:
        messages: list[Any] = [{"role": turn.role, "content": turn.text} for turn in question.turns]
        more: dict[str, Any] = {}
        if question.format == "tool":
            tool = {"name": _TOOL, "description": "Takes your answer.", "input_schema": question.schema}
            more = {"tools": [tool], "tool_choice": {"type": "tool", "name": _TOOL}}
        try:
            with warnings.catch_warnings():
                # The library warns of models that will be switched off; the provider will say so itself.
                warnings.simplefilter("ignore", DeprecationWarning)
                raw = self._client.messages.with_raw_response.create(
                    model=self._settings.model,
                    max_tokens=question.answer_tokens,
                    system=question.system,
                    messages=messages,
                    timeout=anthropic.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S)),
                    **more,
                )
        except anthropic.AnthropicError as error:
            raise failure_of(error, anthropic) from error
        return _reply(body_of(raw.http_response.text), question)

    def embed(self, texts: list[str], dim: int | None, timeout_s: float) -> Vectors:
        raise Failure("rejected", "it makes no embeddings")


def _reply(body: dict[str, Any], question: Question) -> Reply:
    blocks = at(body, "content")
    if not isinstance(blocks, list):
        raise Failure("garbage", "no content in it")
    inputs = [at(block, "input") for block in blocks if text_at(block, "type") == "tool_use"]
    texts = [text_at(block, "text") for block in blocks if text_at(block, "type") == "text"]
    text = json.dumps(inputs[0], ensure_ascii=False) if inputs else "\n".join(texts)
    prompt, answer = (count_at(body, "usage", name) for name in ("input_tokens", "output_tokens"))
    sent = question.system + "".join(turn.text for turn in question.turns)
    return Reply(
        text=text,
        end=_ENDS.get(text_at(body, "stop_reason"), "done"),
        model=text_at(body, "model"),
        usage=Usage(
            tokens_in(sent) if prompt is None else prompt, tokens_in(text) if answer is None else answer, 1
        ),
    )
