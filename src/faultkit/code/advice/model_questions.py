"""Questions to a language model about many files: several at a time, and none twice.

Answers are stored in the cache of the review by everything that they depend on.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from hashlib import blake2b
from typing import Any, Protocol, TypeVar

from faultkit.base.errors import RunError
from faultkit.base.text import escaped_line
from faultkit.code.review.cache import ReviewCache
from faultkit.llm.language_model import LanguageModel
from faultkit.llm.prompt import ModelPrompt, schema_problems

_AT_ONCE = 4
"""Questions that are open at the same time."""


class Question(Protocol):
    """A question about one file."""

    @property
    def file(self) -> str:
        """The path as shown."""
        ...

    @property
    def prompt(self) -> ModelPrompt: ...

    @property
    def schema(self) -> dict[str, Any]: ...

    def problems(self, data: Any) -> list[str]:
        """Return what is wrong with an answer that fits the schema."""
        ...


Q = TypeVar("Q", bound=Question)


class ModelQuestions:
    """Asks a model questions."""

    def __init__(self, model: LanguageModel, cache: ReviewCache | None = None) -> None:
        self._model = model
        self._cache = cache

    def answers(self, questions: Sequence[Q]) -> Iterator[tuple[Q, Any]]:
        """Yield each question with the data of its answer, in the order in which they come.

        Raises RunError or TargetError if the model gives none; the answers so far are stored."""
        unknown = []
        for each in questions:
            stored = self._stored(each)
            if stored is None:
                unknown.append(each)
            else:
                yield each, stored
        if not unknown:
            return
        cancel = threading.Event()
        pool = ThreadPoolExecutor(_AT_ONCE, "question")
        asked = {pool.submit(self.ask, each, cancel): each for each in unknown}
        try:
            for done in as_completed(asked):
                yield asked[done], done.result()
        finally:
            cancel.set()
            pool.shutdown(cancel_futures=True)
            for done, question in asked.items():
                if self._cache is not None and not done.cancelled() and done.exception() is None:
                    self._cache.put(self._key(question), json.dumps(done.result()))

    def ask(self, question: Question, cancel: threading.Event) -> Any:
        """Return the data of the answer to one question."""
        try:
            answer = self._model.ask(question.prompt, question.schema, check=question.problems, cancel=cancel)
        except RunError as error:
            raise RunError(f"{escaped_line(question.file)}: {error}") from None
        return answer.data

    def _stored(self, question: Question) -> Any | None:
        """Return the stored answer; None if there is none that can be used."""
        text = None if self._cache is None else self._cache.get(self._key(question))
        if text is None:
            return None
        try:
            data = json.loads(text)
        except ValueError:
            return None
        return None if schema_problems(data, question.schema) or question.problems(data) else data

    def _key(self, question: Question) -> bytes:
        settings, prompt = self._model.settings, question.prompt
        digest = blake2b(digest_size=20)
        for part in (
            self._model.engine,
            settings.base_url,
            settings.model,
            json.dumps(question.schema),
            prompt.task,
            prompt.text(),
        ):
            digest.update(part.encode() + b"\0")
        return digest.digest()
