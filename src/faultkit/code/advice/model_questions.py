"""Questions to a language model about many files: several at a time, and none twice.

Answers are stored in the cache of the review by everything that they depend on.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol, TypeVar

from faultkit.code.review.cache import ReviewCache
from faultkit.llm.language_model import LanguageModel
from faultkit.llm.prompt import ModelPrompt

_AT_ONCE = 4
"""Questions that are open at the same time."""
_HEAD_LINES = 60
"""First lines of a file that the model receives with each part of it."""
_LONGEST_LINE = 300


class Question(Protocol):
    """A question about one file."""

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
        self._cancel = threading.Event()

    def answers(self, questions: Sequence[Q]) -> Iterator[tuple[Q, Any]]:
        """Yield each question with the data of its answer, in the order in which they come.

        Raises RunError or TargetError if the model gives none; the answers so far are stored."""
        unknown = []
        for each in questions:
            stored = None if self._cache is None else self._cache.get(self._key(each))
            if stored is None:
                unknown.append(each)
            else:
                yield each, json.loads(stored)
        if not unknown:
            return
        pool = ThreadPoolExecutor(_AT_ONCE, "question")
        try:
            asked = {pool.submit(self.ask, each): each for each in unknown}
            for done in as_completed(asked):
                question, data = asked[done], done.result()
                if self._cache is not None:
                    self._cache.put(self._key(question), json.dumps(data))
                yield question, data
        finally:
            self._cancel.set()
            pool.shutdown(cancel_futures=True)

    def ask(self, question: Question) -> Any:
        """Return the data of the answer to one question."""
        answer = self._model.ask(
            question.prompt, question.schema, check=question.problems, cancel=self._cancel
        )
        return answer.data

    def _key(self, question: Question) -> bytes:
        digest = blake2b(digest_size=20)
        settings = self._model.settings
        for part in (self._model.engine, settings.model, question.prompt.task, question.prompt.text()):
            digest.update(part.encode() + b"\0")
        return digest.digest()


@dataclass(frozen=True, slots=True)
class FileExcerpt:
    """Lines of a file, and how a prompt shows them: with their numbers, and dots for what is left out."""

    lines: Sequence[str]

    def shown(self, wanted: set[int] | None = None) -> str:
        """Return the text with these lines and the first ones of the file; without `wanted`, all of it."""
        count = len(self.lines)
        numbers = range(1, count + 1) if wanted is None else sorted(self._with_head(wanted))
        shown = list[str]()
        last = 0
        for number in numbers:
            if number != last + 1:
                shown.append("...")
            shown.append(f"{number:5} {self.lines[number - 1][:_LONGEST_LINE].rstrip()}")
            last = number
        if last < count:
            shown.append("...")
        return "\n".join(shown)

    def _with_head(self, wanted: set[int]) -> set[int]:
        return {*range(1, _HEAD_LINES + 1), *wanted} & set(range(1, len(self.lines) + 1))
