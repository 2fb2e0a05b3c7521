"""A language model for callers that block: asks for data that fits a schema, and for embeddings.

    settings = llm_settings(os.environ, client=…)     # None: no model, the offline rules answer
    with LanguageModel(settings) as model:
        answer = model.ask(prompts.score(snippet, "python", "reliability"), schemas.SCORE)

This module owns the order of a question: redact, ask, repeat failed calls, read, check, repair once. It
depends on no provider's API. It imports `chat`, which needs asyncio, at the first call. Several threads may
call the methods at once.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from faultkit.base.errors import FaultkitError, InputError, RunError, TargetError
from faultkit.base.rng import Rng
from faultkit.base.text import untrusted_line
from faultkit.llm import model_settings as flags
from faultkit.llm.conversation import (
    AnswerFormat,
    Completion,
    Conversation,
    ConversationRound,
    Usage,
    Vectors,
    tokens_in,
)
from faultkit.llm.failure import FailureKind, describe_failure
from faultkit.llm.model_settings import AskBudget, LlmSettings, Spending
from faultkit.llm.prompt import ModelPrompt, json_values, schema_problems, unwrapped, wire_schema
from faultkit.llm.providers import EMBED_DIMENSIONS, ModelEndpoint
from faultkit.llm.redaction import Redaction

if TYPE_CHECKING:
    from faultkit.llm.chat import ChatClient, LoopThread, RetriesExhausted

T = TypeVar("T")
AnswerCheck = Callable[[Any], Sequence[str]]
"""Returns what is wrong with data that fits its schema, one sentence for each problem."""

_ROUNDS = 2
"""The question, and one repair."""
_LONGEST_ECHO = 20_000
"""Characters of a wrong answer that the model gets back."""
_BATCH_TEXTS = 64
_BATCH_CHARS = 200_000
_LONGEST_TEXT = 24_000
"""Longer texts are cut: embedding models read no further than about 8,000 tokens, and reject more."""
_NEVER = threading.Event()


class Clock(Protocol):
    """The clock of budgets and pauses."""

    def now(self) -> float:
        """Return the seconds of a clock that never goes back."""
        ...

    async def pause(self, seconds: float) -> None:
        """Wait before the next try."""
        ...


class SystemClock:
    """The clock of real calls."""

    def now(self) -> float:
        """Return the seconds of a clock that never goes back."""
        return time.monotonic()

    async def pause(self, seconds: float) -> None:
        """Wait before the next try."""
        import asyncio

        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """Data that fits its schema, and the model that it came from."""

    data: Any
    engine: str
    """Name of the provider."""
    model: str
    usage: Usage


class PromptShown(Exception):
    """Raised in place of a call by a model that sends nothing."""

    def __init__(self, system: str, prompt: str) -> None:
        super().__init__("nothing was sent")
        self.system = system
        self.prompt = prompt
        """The prompt with placeholders for secrets, as it would be sent."""


class LanguageModel:
    """The language model of the user's choice. Must be closed after use."""

    def __init__(
        self,
        settings: LlmSettings,
        *,
        clock: Clock | None = None,
        rng: Rng | None = None,
        sends: bool = True,
    ) -> None:
        """Create a model. Without `sends`, a question raises PromptShown, and embeddings RunError."""
        self.settings = settings
        self._sends = sends
        self._clock = clock or SystemClock()
        self._rng = rng or Rng.keyed("llm", settings.provider.name, settings.model)
        self._endpoint = ModelEndpoint(settings.provider, settings.model, settings.base_url, settings.key)
        self._client: ChatClient | None = None
        self._loop: LoopThread | None = None
        self._formats = settings.provider.formats
        self._dim = settings.embed_dim
        self._lock = threading.Lock()

    @property
    def engine(self) -> str:
        """Name of the provider."""
        return self.settings.provider.name

    def __enter__(self) -> LanguageModel:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel running calls and close the connections."""
        with self._lock:
            loop, client = self._loop, self._client
            self._loop = self._client = None
        if loop is not None and client is not None:
            loop.close(client.close)

    def spending(self) -> Spending:
        """Return a budget that several questions can share.

        The client is started before, since that takes a second or two: time counts from the first call."""
        if self._sends:
            self._connected()
        return Spending(self.settings.budget, self._clock.now)

    def ask(
        self,
        prompt: ModelPrompt,
        schema: dict[str, Any],
        *,
        budget: Spending | None = None,
        check: AnswerCheck | None = None,
        cancel: threading.Event = _NEVER,
    ) -> ModelAnswer:
        """Return data that fits `schema` and passes `check`. The model may correct its answer once.

        Raises RunError if the answer is not usable, TargetError if the provider is not.
        """
        spending = budget or self.spending()
        system = f"{prompt.task}\n\n{_format_instructions(wire_schema(schema))}"
        prompt = _fit_prompt(prompt, system, spending)
        text = prompt.text()
        redaction = Redaction(text)
        conversation = Conversation(self.settings.model, redaction.hide(text), system)
        if not self._sends:
            raise PromptShown(system, conversation.prompt)
        usage, problems = Usage(), [""]
        for _ in range(_ROUNDS):
            completion = self._complete(conversation, schema, spending, cancel)
            usage += completion.usage
            self._check_completion(completion)
            data, problems = _read_answer(completion.text, schema, prompt, redaction, check)
            if not problems:
                return ModelAnswer(data, self.engine, completion.model or self.settings.model, usage)
            repair = _repair_round(completion.text, redaction.hide("\n".join(problems)))
            conversation = Conversation(self.settings.model, conversation.prompt, system, rounds=(repair,))
        raise RunError(
            f"{self.engine} ({self.settings.model}) gave no usable answer, nor did it when told what was "
            f"wrong ({untrusted_line(problems[0])}): try again, "
            f"or name a more capable model with {flags.MODEL[0]}"
        )

    def embed(
        self,
        texts: Sequence[str],
        *,
        budget: Spending | None = None,
        cancel: threading.Event = _NEVER,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[float]]:
        """Return one vector for each text. Without a budget, each batch has its own.

        `progress` is called with the number of texts done so far.
        """
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
        hidden = [Redaction(text).hide(text)[:_LONGEST_TEXT] or " " for text in batch]
        # Raises if the budget does not afford the batch.
        spending.answer_tokens(sum(map(tokens_in, hidden)))

        async def embed(client: ChatClient, timeout_s: float) -> Vectors:
            return await client.embed(model, hidden, shorter, timeout_s)

        found = self._call(embed, spending, cancel, model, flags.EMBED_MODEL[0])
        assert found is not None
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

    def _complete(
        self,
        conversation: Conversation,
        schema: dict[str, Any],
        spending: Spending,
        cancel: threading.Event,
    ) -> Completion:
        """Ask in the strictest format that the model accepts, and remember which one that is."""
        sent = [conversation.system_prompt, conversation.prompt]
        sent += [part for round in conversation.rounds for part in (round.completion.text, round.follow_up)]
        tokens = spending.answer_tokens(sum(tokens_in(part) for part in sent if part))
        limited = replace(conversation, max_tokens=tokens)
        formats = self._formats
        for index, kind in enumerate(formats):
            answer = AnswerFormat(kind, wire_schema(schema))

            async def complete(
                client: ChatClient, timeout_s: float, answer: AnswerFormat = answer
            ) -> Completion:
                return await client.complete(limited, timeout_s, answer)

            # Not every model of a provider accepts a schema, and each rejects it in other words.
            is_last = index == len(formats) - 1
            completion = self._call(
                complete, spending, cancel, self.settings.model, flags.MODEL[0], give_up=is_last
            )
            if completion is not None:
                self._formats = formats[index:]
                spending.spend(completion.usage)
                return completion
        raise AssertionError("with the last format, a rejected call raises")

    def _call(
        self,
        call: Callable[[ChatClient, float], Awaitable[T]],
        spending: Spending,
        cancel: threading.Event,
        model: str,
        model_flag: str,
        *,
        give_up: bool = True,
    ) -> T | None:
        """Make one call with its tries. Return None if it was rejected and `give_up` is false."""
        from faultkit.llm.chat import RetriesExhausted, RetryPolicy, call_with_retries, check_cancelled

        if not self._sends:
            raise RunError("nothing is sent: only the prompt is shown")
        check_cancelled(cancel)
        loop, client = self._connected()
        policy = RetryPolicy(self._rng, spending.budget.tries, pause=self._clock.pause)
        work = call_with_retries(
            lambda limit_s: call(client, limit_s), policy, spending.call_s, lambda: spending.left_s
        )
        try:
            return loop.run(work, cancel)
        except RetriesExhausted as error:
            if error.failure.kind == "rejected" and not give_up:
                return None
            endpoint = replace(self._endpoint, model=model)
            raise _user_error(error, endpoint, model_flag, spending.budget) from None

    def _connected(self) -> tuple[LoopThread, ChatClient]:
        with self._lock:
            if self._loop is None or self._client is None:
                from faultkit.llm.chat import LoopThread, open_client

                self._client = open_client(self._endpoint)
                self._loop = LoopThread()
            return self._loop, self._client

    def _check_completion(self, completion: Completion) -> None:
        model = f"{self.engine} ({self.settings.model})"
        if completion.end == "cut":
            raise RunError(
                f"{model} stopped in the middle of its answer, since it got too long: ask about less code, "
                f"allow more with {flags.TOKENS[0]}, or name another model with {flags.MODEL[0]}"
            )
        if completion.end == "refused":
            reason = f" ({untrusted_line(completion.text)})" if completion.text else ""
            raise RunError(
                f"{model} refused to answer{reason}: check the comments and texts in the code, or name "
                f"another model with {flags.MODEL[0]}"
            )


def _user_error(
    given_up: RetriesExhausted, endpoint: ModelEndpoint, model_flag: str, budget: AskBudget
) -> FaultkitError:
    """Return the error that a user sees: what happened, and what to do."""
    failure, provider = given_up.failure, endpoint.provider
    is_ollama = provider.name == "ollama"
    pull = f", or fetch it with `ollama pull {endpoint.model}`" if is_ollama else ""
    wait = f" in {failure.after_s:g} s" if failure.after_s else " later"
    base = provider.base_url_env
    advice: dict[FailureKind, str] = {
        "key": f"check {provider.key_env}",
        "model": f"name another one with {model_flag}{pull}; or check {base}",
        "credit": "check the account, or use another client with --llm-client",
        "rate": f"try again{wait}, or use another client with --llm-client",
        "server": f"try again{wait}",
        "timeout": f"allow more time with --llm-time-budget, or name a faster model with {model_flag}",
        "connection": f"check the network and {base}" + ("; is ollama running?" if is_ollama else ""),
        "rejected": f"ask about less code, or name another model with {model_flag}",
        "garbage": f"check {base}",
    }
    # A try that had less than the time of a call had the rest of the budget.
    limit_s = budget.time_s if given_up.timeout_s < budget.call_s else given_up.timeout_s
    what = describe_failure(failure, endpoint, given_up.tries, limit_s)
    error = RunError if failure.kind in ("rejected", "garbage") else TargetError
    return error(f"{what}: {advice[failure.kind]}")


def _format_instructions(schema: dict[str, Any]) -> str:
    return (
        "Answer with one JSON object and nothing else: no words before or after it, no code fence. "
        f"It has to fit this JSON schema:\n{json.dumps(schema, ensure_ascii=False)}"
    )


def _fit_prompt(prompt: ModelPrompt, system: str, spending: Spending) -> ModelPrompt:
    """Return the prompt with as much of its optional part as the budget affords."""
    while not spending.affords(tokens_in(system) + tokens_in(prompt.text())):
        shorter = prompt.shorter()
        if shorter is None:
            break
        prompt = shorter
    return prompt


def _read_answer(
    text: str, schema: dict[str, Any], prompt: ModelPrompt, redaction: Redaction, check: AnswerCheck | None
) -> tuple[Any, list[str]]:
    """Return the data in an answer, and what is wrong with it."""
    found = [unwrapped(value, schema) for value in json_values(text)]
    if not found:
        return None, ["the answer holds no JSON object that can be read to its end"]
    fitting = [value for value in found if not schema_problems(value, schema)]
    if not fitting:
        return None, schema_problems(found[0], schema)
    if any(value != fitting[0] for value in fitting):
        return None, ["the answer holds several JSON objects that differ; send one"]
    data = redaction.restore_fields(fitting[0], prompt.code_fields)
    invented = redaction.invented(json.dumps(data, ensure_ascii=False))
    if invented and prompt.code_fields:
        return data, [f"{', '.join(invented)}: no such name was in what you were given"]
    return data, list(check(data)) if check is not None else []


def _repair_round(text: str, problems: str) -> ConversationRound:
    """Return the round that shows the model its answer and asks for a corrected one."""
    follow_up = (
        f"Your answer cannot be used. This is wrong with it:\n{problems}\n\n"
        "Send the whole answer again, corrected: one JSON object that fits the schema, and nothing else."
    )
    return ConversationRound(Completion(text[:_LONGEST_ECHO]), follow_up=follow_up)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    chars = 0
    for text in texts:
        size = min(len(text), _LONGEST_TEXT)
        if batch and (len(batch) == _BATCH_TEXTS or chars + size > _BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += size
    if batch:
        yield batch
