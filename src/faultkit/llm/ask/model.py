"""One language model: a prompt and a schema go in, data that fits comes out, or an error that helps.

It owns the order of things: redact, ask, try again, read, check, repair once. It knows no provider's API.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from faultkit.base.errors import InputError, RunError
from faultkit.base.rng import Rng
from faultkit.llm.ask import settings as flags
from faultkit.llm.ask.budget import Spending
from faultkit.llm.ask.client import Client, Question, Reply, Turn, Vectors
from faultkit.llm.ask.extract import json_values
from faultkit.llm.ask.failure import Asked, error_of
from faultkit.llm.ask.prompt import Prompt
from faultkit.llm.ask.redact import Redaction
from faultkit.llm.ask.schema import problems_of, unwrapped, wire_schema
from faultkit.llm.ask.settings import LlmSettings
from faultkit.llm.ask.waiting import Clock, SystemClock, check_cancelled, ended
from faultkit.llm.failure import Failure, one_line
from faultkit.llm.providers import EMBED_DIMENSIONS
from faultkit.llm.retry import pause_s
from faultkit.llm.usage import Usage, tokens_in

T = TypeVar("T")
Check = Callable[[Any], Sequence[str]]
"""What is wrong with data that fits its schema, one sentence a problem: a change that does not parse, say."""

_ROUNDS = 2
_MOST_ECHO = 20_000
_BATCH_TEXTS = 64
_BATCH_CHARS = 200_000
_MOST_TEXT = 24_000
"""Longer texts are cut: embedding models read no further than about 8,000 tokens, and reject more."""
_NOBODY = threading.Event()


@dataclass(frozen=True, slots=True)
class Answer:
    data: Any
    engine: str
    model: str
    usage: Usage


class Model:
    """Ask it and close it. Several threads may ask at once."""

    def __init__(
        self,
        settings: LlmSettings,
        *,
        clock: Clock | None = None,
        rng: Rng | None = None,
        client: Client | None = None,
    ) -> None:
        self.settings = settings
        self._clock = clock or SystemClock()
        self._rng = rng or Rng.keyed("llm", settings.provider.name, settings.model)
        self._client = client
        self._formats = settings.provider.formats
        self._dim = settings.embed_dim
        self._lock = threading.Lock()

    @property
    def engine(self) -> str:
        return self.settings.provider.name

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def spending(self) -> Spending:
        """A budget that several questions can share."""
        return Spending(self.settings.budget, self._clock.now)

    def ask(
        self,
        prompt: Prompt,
        schema: dict[str, Any],
        *,
        budget: Spending | None = None,
        check: Check | None = None,
        cancel: threading.Event = _NOBODY,
    ) -> Answer:
        """Data that fits `schema` and that `check` has nothing against. The model may repair it once."""
        spending = budget or self.spending()
        system = f"{prompt.task}\n\n{_asks_for(wire_schema(schema))}"
        prompt = _fitted(prompt, system, spending)
        text = prompt.text()
        redaction = Redaction(text)
        turns = [Turn("user", redaction.hide(text))]
        usage, problems = Usage(), [""]
        for _ in range(_ROUNDS):
            reply = self._chat(system, turns, schema, spending, cancel)
            usage += reply.usage
            self._check_end(reply)
            data, problems = _read(reply.text, schema, prompt, redaction, check)
            if not problems:
                return Answer(data, self.engine, reply.model or self.settings.model, usage)
            turns = [turns[0], *_repair(reply.text, redaction.hide("\n".join(problems)))]
        raise RunError(
            f"{self.engine} ({self.settings.model}) gave no usable answer, nor did it when told what was "
            f"wrong ({one_line(problems[0])}): try again, or name a more capable model with {flags.MODEL[0]}"
        )

    def embed(
        self,
        texts: Sequence[str],
        *,
        budget: Spending | None = None,
        cancel: threading.Event = _NOBODY,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[float]]:
        """One vector a text. Without a budget, each batch has its own; `progress` hears of texts done."""
        if self.settings.embed_model is None:
            raise InputError(
                flags.EMBED_MODEL[0],
                f"expected the name of an embedding model of {self.engine}, got none: "
                "name one, or use the offline embeddings",
            )
        vectors: list[list[float]] = []
        for batch in _batches(texts):
            vectors += self._embed_batch(batch, budget or self.spending(), cancel)
            if progress is not None:
                progress(len(vectors))
        return vectors

    def _embed_batch(
        self, batch: list[str], spending: Spending, cancel: threading.Event
    ) -> list[list[float]]:
        model = self.settings.embed_model or ""
        known = EMBED_DIMENSIONS.get(model)
        wanted = self.settings.embed_dim
        shorter = wanted if self.settings.provider.shortens and wanted != known else None
        hidden = [Redaction(text).hide(text)[:_MOST_TEXT] or " " for text in batch]
        spending.answer_tokens(sum(map(tokens_in, hidden)))
        found = self._call(
            partial(_embed_once, hidden, shorter),
            spending,
            cancel,
            model,
            flags.EMBED_MODEL[0],
        )
        spending.spend(found.usage)
        for vector in found.vectors:
            with self._lock:
                self._dim = self._dim or len(vector)
            if len(vector) != self._dim:
                raise InputError(
                    flags.EMBED_DIM[0],
                    f"expected {len(vector)}, the length of {model}'s vectors, got {self._dim}",
                )
        return found.vectors

    def _chat(
        self,
        system: str,
        turns: list[Turn],
        schema: dict[str, Any],
        spending: Spending,
        cancel: threading.Event,
    ) -> Reply:
        prompt_tokens = tokens_in(system) + sum(tokens_in(turn.text) for turn in turns)
        answer_tokens = spending.answer_tokens(prompt_tokens)
        formats = self._formats
        for place, form in enumerate(formats):
            question = Question(system, tuple(turns), wire_schema(schema), form, answer_tokens)
            last = place == len(formats) - 1
            call = partial(_ask_once, question)
            try:
                reply = self._call(call, spending, cancel, self.settings.model, flags.MODEL[0], give_up=last)
            except Failure:
                # Not every model behind a provider takes a schema, and the words of the refusal differ.
                continue
            self._formats = formats[place:]
            spending.spend(reply.usage)
            return reply
        raise AssertionError("the last format gives up")

    def _call(
        self,
        call: Callable[[Client, float], T],
        spending: Spending,
        cancel: threading.Event,
        model: str,
        model_flag: str,
        *,
        give_up: bool = True,
    ) -> T:
        """One call with its tries. What is rejected is raised as it came unless we `give_up` on it."""
        tried = 0
        while True:
            check_cancelled(cancel)
            timeout_s = spending.call_s()
            tried += 1
            try:
                client = self._connected()
                return ended(partial(call, client, timeout_s), timeout_s, cancel, self._clock)
            except Failure as failure:
                if failure.kind == "rejected" and not give_up:
                    raise
                wait_s = pause_s(failure, tried, self._rng)
                if wait_s is None or tried >= spending.budget.tries or wait_s >= spending.left_s:
                    asked = Asked(
                        self.settings.provider, self.settings.base_url, model, model_flag, tried, timeout_s
                    )
                    raise error_of(self._without_key(failure), asked) from None
                self._clock.pause(wait_s, cancel)

    def _connected(self) -> Client:
        with self._lock:
            if self._client is None:
                self._client = _connect(self.settings)
            return self._client

    def _without_key(self, failure: Failure) -> Failure:
        """Some providers repeat the key that they refuse."""
        key = self.settings.key
        detail = failure.detail.replace(key, "…") if key else failure.detail
        return Failure(failure.kind, Redaction().hide(detail), status=failure.status, after_s=failure.after_s)

    def _check_end(self, reply: Reply) -> None:
        who = f"{self.engine} ({self.settings.model})"
        if reply.end == "cut":
            raise RunError(
                f"{who} stopped in the middle of its answer, since it got too long: ask about less code, "
                f"allow more with {flags.TOKENS[0]}, or name another model with {flags.MODEL[0]}"
            )
        if reply.end == "refused":
            said = f" ({one_line(reply.text)})" if reply.text else ""
            raise RunError(
                f"{who} refused to answer{said}: look at what the code says to its readers, or name another "
                f"model with {flags.MODEL[0]}"
            )


def _connect(settings: LlmSettings) -> Client:
    """The client is imported only here, since each takes a second or two."""
    if settings.provider.client == "anthropic":
        from faultkit.llm.ask.anthropic_client import AnthropicClient

        return AnthropicClient(settings)
    from faultkit.llm.ask.openai_client import OpenaiClient

    return OpenaiClient(settings)


def _ask_once(question: Question, client: Client, timeout_s: float) -> Reply:
    return client.chat(question, timeout_s)


def _embed_once(texts: list[str], dim: int | None, client: Client, timeout_s: float) -> Vectors:
    return client.embed(texts, dim, timeout_s)


def _asks_for(schema: dict[str, Any]) -> str:
    return (
        "Answer with one JSON object and nothing else: no words before or after it, no code fence. "
        f"It has to fit this JSON schema:\n{json.dumps(schema, ensure_ascii=False)}"
    )


def _fitted(prompt: Prompt, system: str, spending: Spending) -> Prompt:
    """The prompt, with as much of its optional part as the budget affords."""
    while not spending.affords(tokens_in(system) + tokens_in(prompt.text())):
        shorter = prompt.shorter()
        if shorter is None:
            break
        prompt = shorter
    return prompt


def _read(
    text: str, schema: dict[str, Any], prompt: Prompt, redaction: Redaction, check: Check | None
) -> tuple[Any, list[str]]:
    """The data in an answer, and what is wrong with it."""
    found = [unwrapped(value, schema) for value in json_values(text)]
    if not found:
        return None, ["the answer holds no JSON object that can be read to its end"]
    fitting = [value for value in found if not problems_of(value, schema)]
    if not fitting:
        return None, problems_of(found[0], schema)
    if any(value != fitting[0] for value in fitting):
        return None, ["the answer holds several JSON objects that differ; send one"]
    data = redaction.restore_fields(fitting[0], prompt.code_fields)
    strangers = redaction.strangers(json.dumps(data, ensure_ascii=False))
    if strangers and prompt.code_fields:
        return data, [f"{', '.join(strangers)}: no such name was in what you were given"]
    return data, list(check(data)) if check is not None else []


def _repair(text: str, problems: str) -> Iterator[Turn]:
    # An empty turn is rejected by some providers, and there is nothing to learn from it.
    if text.strip():
        yield Turn("assistant", text[:_MOST_ECHO])
    yield Turn(
        "user",
        f"Your answer cannot be used. This is wrong with it:\n{problems}\n\n"
        "Send the whole answer again, corrected: one JSON object that fits the schema, and nothing else.",
    )


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    chars = 0
    for text in texts:
        size = min(len(text), _MOST_TEXT)
        if batch and (len(batch) == _BATCH_TEXTS or chars + size > _BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += size
    if batch:
        yield batch
