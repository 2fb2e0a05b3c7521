"""`--ask-model` and `--find-more` of `fault review`: the options, and the questions to a language model."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import click

from faultkit.base.errors import InputError
from faultkit.base.text import count_of
from faultkit.cli.llm import FLAGS, LlmOptions, model_from, question_options
from faultkit.cli.shared_options import add_options
from faultkit.code.review.model_rules import MODEL_RULES
from faultkit.code.review.outcome import JudgedFinding, Judgement, reported_in, rules_judged
from faultkit.code.review.review_files import FileToReview, ReviewedFile, source_to_review
from faultkit.code.rules import Rule
from faultkit.code.source_files import SourceFile

if TYPE_CHECKING:
    from faultkit.code.advice.finding_search import SearchQuestion
    from faultkit.code.advice.model_questions import Question
    from faultkit.code.review.changed_lines import ChangedLines
    from faultkit.llm.language_model import LanguageModel

F = TypeVar("F", bound=Callable[..., Any])
Q = TypeVar("Q", bound="Question")


@dataclass(frozen=True, slots=True)
class CheckFlags:
    """The options of a check by a model, as given."""

    ask_model: bool
    find_more: bool
    show_prompt: bool
    llm: LlmOptions

    def check(self, *, write_baseline: bool) -> None:
        """Raise InputError for an option that is given without --ask-model, or against another."""
        if self.ask_model:
            if self.show_prompt and write_baseline:
                raise InputError("--show-prompt", "expected no --write-baseline beside it, got one")
            return
        for flag, is_given in (("--find-more", self.find_more), ("--show-prompt", self.show_prompt)):
            if is_given:
                raise InputError(flag, "expected --ask-model beside it, got none")
        for each in FLAGS:
            if getattr(self.llm, each.field) is not None:
                raise InputError(
                    each.option, "expected --ask-model beside it, got none: without it only the rules review"
                )

    def model(self) -> LanguageModel:
        """Return the model to ask. Raises InputError if none is chosen."""
        model = model_from(self.llm, show_prompt=self.show_prompt)
        if model is None:
            raise InputError(
                "--ask-model",
                "expected a language model, chosen by --llm-client or FAULT_AGENT_CLIENT, got none",
            )
        return model


def check_options(command: F) -> F:
    """Add the options to a command, which receives them as one argument, `asking`."""

    @functools.wraps(command)
    def collected(
        *args: Any, ask_model: bool, find_more: bool, show_prompt: bool, llm: LlmOptions, **kwargs: Any
    ) -> Any:
        return command(*args, asking=CheckFlags(ask_model, find_more, show_prompt, llm), **kwargs)

    return add_options(  # type: ignore[return-value]
        question_options(collected),
        click.option(
            "--ask-model",
            is_flag=True,
            help="Ask the language model of --llm-client about each finding, also those of low confidence, "
            "and show only what it confirms. Sends the files with findings to it.",
        ),
        click.option(
            "--find-more",
            is_flag=True,
            help="With --ask-model: ask also for defects that no rule finds. Sends all reviewed files.",
        ),
        click.option(
            "--show-prompt",
            is_flag=True,
            help="With --ask-model: print what would be sent, and send nothing.",
        ),
    )


class ModelReview:
    """The part of a language model in a review."""

    def __init__(
        self, model: LanguageModel, files: Iterable[FileToReview], rules: Sequence[Rule], *, no_cache: bool
    ) -> None:
        """files: those of the review; rules: those that it runs"""
        self._model = model
        self._files = {os.path.abspath(each.path): each for each in files}
        self._sources: dict[str, SourceFile] = {}
        self._rules = rules
        self._of_model = [rule for rule in rules if rule in MODEL_RULES]
        self._no_cache = no_cache

    def search_questions(
        self, files: Sequence[ReviewedFile], by: Judgement, changed: ChangedLines | None
    ) -> list[SearchQuestion]:
        """Return the questions for more defects; with `changed`, for those on or beside changed lines."""
        from faultkit.code.advice.finding_search import search_questions

        def is_wanted(path: str, line: int) -> bool:
            return changed is None or changed.touch(path, line - 1, line + 1)

        searched = [file for file in files if rules_judged(file, self._of_model, by)]
        return list(search_questions(searched, self._source, lambda file: reported_in(file, by), is_wanted))

    def search(
        self, files: Sequence[ReviewedFile], questions: Sequence[SearchQuestion]
    ) -> list[ReviewedFile]:
        """Return the files with what the model finds in them besides. Raises RunError or TargetError if the
        model gives no answer."""
        from faultkit.code.advice.finding_search import with_defects

        about = f"for defects in {count_of(len({each.path for each in questions}), 'file')}"
        return with_defects(files, self._asked(questions, about), self._rules)

    def check(self, findings: Sequence[JudgedFinding]) -> list[JudgedFinding]:
        """Return the findings with the verdicts of the model. Raises RunError or TargetError if it gives
        none."""
        from faultkit.code.advice.finding_check import check_questions, with_verdicts

        questions = list(check_questions(findings, self._source))
        about = f"about {count_of(sum(len(each.places) for each in questions), 'finding')}"
        return with_verdicts(findings, self._asked(questions, about))

    def show_prompts(
        self, findings: Sequence[JudgedFinding], search_questions: Sequence[SearchQuestion]
    ) -> None:
        """Print what the model would be sent: for more defects in files, and about the findings."""
        from faultkit.code.advice.finding_check import check_questions
        from faultkit.code.advice.model_questions import ModelQuestions
        from faultkit.llm.language_model import PromptShown

        asking = ModelQuestions(self._model)
        questions: Iterable[Question] = chain(search_questions, check_questions(findings, self._source))
        for each in questions:
            try:
                asking.ask(each, threading.Event())
            except PromptShown as shown:
                click.echo(f"{shown.system}\n\n{shown.prompt}\n")
        click.echo(f"nothing was sent to {self._model.engine}", err=True)

    def _asked(self, questions: Sequence[Q], about: str) -> Iterator[tuple[Q, Any]]:
        """Yield the questions with their answers; show on a terminal how many are open."""
        from faultkit.code.advice.model_questions import ModelQuestions
        from faultkit.code.review.cache import open_cache

        with ExitStack() as stack:
            stack.enter_context(self._model)
            cache = None if self._no_cache else stack.enter_context(open_cache(self._rules))
            answered = ModelQuestions(self._model, cache).answers(questions)
            if not sys.stderr.isatty():
                yield from answered
                return
            from rich.console import Console

            asking = f"asking {self._model.engine} ({self._model.settings.model}) {about}"
            status = stack.enter_context(Console(stderr=True).status(asking))
            for done, each in enumerate(answered, 1):
                status.update(f"{asking}: {done} of {len(questions)} answers")
                yield each

    def _source(self, path: str) -> SourceFile:
        """Return a file as it was when it was asked for first: it may change while the model answers."""
        if path not in self._sources:
            self._sources[path] = source_to_review(self._files[path])
        return self._sources[path]
