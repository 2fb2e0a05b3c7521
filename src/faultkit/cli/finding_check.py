"""`--ask-model` of `fault review`: its options, and the questions to a language model about findings."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from faultkit.base.errors import InputError
from faultkit.base.text import count_of
from faultkit.cli.llm import LlmOptions, model_from, question_options
from faultkit.cli.shared_options import add_options
from faultkit.code.review.outcome import JudgedFinding
from faultkit.code.review.review_files import FileToReview, source_to_review
from faultkit.code.rules import Rule
from faultkit.code.source_files import SourceFile

if TYPE_CHECKING:
    from faultkit.code.advice.finding_check import CheckQuestion
    from faultkit.llm.language_model import LanguageModel

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CheckFlags:
    """The options of a check by a model, as given."""

    ask_model: bool
    show_prompt: bool
    llm: LlmOptions

    def check(self, *, write_baseline: bool) -> None:
        """Raise InputError for an option that is given without --ask-model, or against another."""
        if self.ask_model:
            if self.show_prompt and write_baseline:
                raise InputError("--show-prompt", "expected no --write-baseline beside it, got one")
            return
        if self.show_prompt:
            raise InputError("--show-prompt", "expected --ask-model beside it, got none")
        if any(each is not None for each in astuple(self.llm)):
            raise InputError(
                "--llm-client", "expected --ask-model beside it, got none: without it only the rules review"
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
    def collected(*args: Any, ask_model: bool, show_prompt: bool, llm: LlmOptions, **kwargs: Any) -> Any:
        return command(*args, asking=CheckFlags(ask_model, show_prompt, llm), **kwargs)

    return add_options(  # type: ignore[return-value]
        question_options(collected),
        click.option(
            "--ask-model",
            is_flag=True,
            help="Ask the language model of --llm-client about each finding, also those of low confidence, "
            "and show only what it confirms. Sends the files with findings to it.",
        ),
        click.option(
            "--show-prompt",
            is_flag=True,
            help="With --ask-model: print what would be sent, and send nothing.",
        ),
    )


def show_prompts(
    findings: Sequence[JudgedFinding], files: Iterable[FileToReview], model: LanguageModel
) -> None:
    """Print what the model would be sent about the findings."""
    from faultkit.code.advice.finding_check import FindingCheck, check_questions
    from faultkit.llm.language_model import PromptShown

    check = FindingCheck(model)
    for each in check_questions(findings, _sources(files)):
        try:
            check.ask(each)
        except PromptShown as shown:
            click.echo(f"{shown.system}\n\n{shown.prompt}\n")
    click.echo(f"nothing was sent to {model.engine}", err=True)


def checked_by_model(
    findings: Sequence[JudgedFinding],
    model: LanguageModel,
    *,
    files: Iterable[FileToReview],
    rules: Sequence[Rule],
    no_cache: bool,
) -> list[JudgedFinding]:
    """Return the findings with the verdicts of the model. Raises RunError or TargetError if it gives none."""
    from faultkit.code.advice.finding_check import FindingCheck, check_questions, with_verdicts
    from faultkit.code.review.cache import open_cache

    questions = list(check_questions(findings, _sources(files)))
    with ExitStack() as stack:
        stack.enter_context(model)
        cache = None if no_cache else stack.enter_context(open_cache(rules))
        answered = FindingCheck(model, cache).verdicts(questions)
        return with_verdicts(findings, _with_status(answered, questions, model))


def _sources(files: Iterable[FileToReview]) -> Callable[[JudgedFinding], SourceFile]:
    by_path = {os.path.abspath(each.path): each for each in files}
    return lambda finding: source_to_review(by_path[finding.path])


def _with_status(
    answered: Iterable[T], questions: Sequence[CheckQuestion], model: LanguageModel
) -> Iterator[T]:
    """Yield the answers; show on a terminal how many questions are open."""
    if not sys.stderr.isatty():
        yield from answered
        return
    from rich.console import Console

    asked = sum(len(each.places) for each in questions)
    about = f"asking {model.engine} ({model.settings.model}) about {count_of(asked, 'finding')}"
    with Console(stderr=True).status(about) as status:
        for done, each in enumerate(answered, 1):
            status.update(f"{about}: {done} of {len(questions)} answers")
            yield each
