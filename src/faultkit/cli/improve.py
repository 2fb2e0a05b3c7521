"""`fault improve`: changes that make files more reliable or faster, as one diff."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from faultkit.base.errors import InputError
from faultkit.base.files import rewrite_file
from faultkit.base.text import count_of, escaped_line
from faultkit.cli.llm import LlmOptions, advisor_from, llm_options, status_while_asking
from faultkit.cli.shared_options import LANGUAGE, json_option, language_given, print_json
from faultkit.code import Language, local_path
from faultkit.code.advice.advisor import Advisor
from faultkit.code.advice.answers import RULES, ChangeAnswer
from faultkit.code.advice.selection import AsReviewed, Selection, selection_of
from faultkit.code.changes import codemods_for
from faultkit.code.changes.change import unified_diff
from faultkit.code.review.config_file import ReviewConfig, config_for
from faultkit.code.review.context import treatment_of
from faultkit.code.review.review_files import FileToReview, context_name, find_files
from faultkit.code.review.settings import ReviewFlags, path_choice
from faultkit.code.rules import KINDS
from faultkit.code.rules.rule import Kind

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_MOST_QUESTIONS = 10


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the options ask for."""

    function: str | None
    kind: Kind | None
    target_score: float
    language: Language | None


@dataclass(frozen=True, slots=True)
class _File:
    """A file to change."""

    path: str
    shown: str
    selection: Selection


@dataclass(frozen=True, slots=True)
class _Changed:
    """A file with its change."""

    path: str
    shown: str
    answer: ChangeAnswer
    diff: str

    def document(self, function: str | None, *, is_written: bool) -> dict[str, Any]:
        return {
            **self.answer.document(),
            "diff": self.diff,
            "file": self.shown,
            "function": function,
            "written": is_written and bool(self.diff),
        }


@click.command(
    "improve",
    epilog="""\b
Examples:
  fault improve app.py
  fault improve app.py --function index | git apply
  fault improve app.py --unsafe --target-score 0.8 --write
  fault improve src --rule FK-R001 --safe --write
""",
)
@click.argument("paths", metavar="FILE|DIR...", nargs=-1, required=True)
@click.option("--function", metavar="NAME", help="Change only this function, and what it needs.")
@click.option("--kind", type=click.Choice(KINDS), help="Apply only rules of this kind; by default both.")
@click.option(
    "--rule",
    "rules",
    metavar="ID",
    multiple=True,
    help="Change only what this rule finds, also if the change asks a question. Repeatable.",
)
@click.option(
    "--safe/--unsafe",
    "is_safe",
    default=None,
    help="Leave out, or make, the changes that ask a question; by default only those of --rule are made.",
)
@click.option(
    "--target-score",
    type=float,
    default=1.0,
    show_default=True,
    help="Stop making changes of a file at this score, from 0 to 1.",
)
@LANGUAGE
@click.option(
    "--write", is_flag=True, help="Write the changes to the files; by default they are only printed."
)
@json_option("Print JSON: scores, diff, questions, dependencies and more.")
@click.option(
    "--show-prompt", is_flag=True, help="Print what a language model would be sent, and send nothing."
)
@llm_options
def improve_command(
    paths: tuple[str, ...],
    function: str | None,
    kind: Kind | None,
    rules: tuple[str, ...],
    is_safe: bool | None,
    target_score: float,
    lang: str | None,
    write: bool,
    as_json: bool,
    show_prompt: bool,
    llm: LlmOptions,
) -> None:
    """Suggest changes that make files more reliable or faster, as a diff for `git apply`.

    Every change answers a finding of `fault review`. Safe changes keep what working code does. Others ask a
    question that only you can answer: they are listed with it, and made with --unsafe or --rule. Without a
    flag for a language model the offline rules answer, and nothing leaves this machine. The diff goes to
    stdout, everything else to stderr.

    The configuration of `fault review` counts: rules that it ignores change nothing, and in DIR files that it
    excludes, and tests, generated code and the like, are left as they are. Findings that it does not show, by
    their confidence, are changed only with --unsafe or --rule.
    """
    if not 0 <= target_score <= 1:
        raise InputError("--target-score", f"expected a number from 0 to 1, got {target_score:g}")
    language = language_given(lang)
    config = config_for([local_path(path) for path in paths])
    selected = AsReviewed(selection_of(rules, None if is_safe is None else not is_safe), config)
    wanted = _Wanted(function, kind, target_score, language)
    files, is_one = _files(paths, wanted, config, selected)
    with ExitStack() as stack:
        advisor = advisor_from(llm, files[0].path, stack, show_prompt=show_prompt)
        _check_options(advisor, wanted, is_one=is_one, chooses=bool(rules) or is_safe is not None)
        if show_prompt:
            _show_prompt(advisor, files, wanted)
            return
        with status_while_asking(advisor):
            answers = _answers(advisor, files, wanted, is_one=is_one)
    names, folder = _names_in_diff([each.path for each in files])
    changed = [
        _Changed(file.path, file.shown, answer, unified_diff(answer.old, answer.new, names[file.path]))
        for file, answer in answers
    ]
    if write:
        for each in changed:
            if each.diff:
                rewrite_file(each.path, each.answer.new.encode("utf-8"), each.answer.old.encode("utf-8"))
    diff = "".join(each.diff for each in changed)
    if as_json:
        documents = [each.document(function, is_written=write) for each in changed]
        print_json(documents[0] if is_one else {"files": documents, "diff": diff})
        return
    _print_diff(diff)
    told = changed if is_one else [each for each in changed if each.diff or each.answer.questions]
    for each in told:
        _explain(each.answer, each.shown)
    if not is_one:
        count = sum(bool(each.diff) for each in changed)
        click.echo(f"{count_of(len(changed), 'file')}: {count} changed", err=True)
    if write:
        for each in changed:
            if each.diff:
                click.echo(f"{each.shown} was changed", err=True)
    elif diff and folder is not None:
        click.echo(f"to be applied in {folder}", err=True)


def _show_prompt(advisor: Advisor, files: list[_File], wanted: _Wanted) -> None:
    """Print what the model would be sent."""
    from faultkit.llm.language_model import PromptShown

    try:
        _change_of(advisor, files[0], wanted, {})
    except PromptShown as shown:
        click.echo(f"{shown.system}\n\n{shown.prompt}")
        click.echo(f"nothing was sent to {advisor.engine.name}", err=True)


def _files(
    paths: Sequence[str], wanted: _Wanted, config: ReviewConfig, selected: AsReviewed
) -> tuple[list[_File], bool]:
    """Return the files with the changes that are wanted, and whether it is one file that was named."""
    local = [local_path(path) for path in paths]
    choice = path_choice(config, ReviewFlags())
    if len(local) == 1 and not os.path.isdir(local[0]):
        named = find_files(local, wanted.language, choice).wanted[0]
        return [_File(local[0], paths[0], selected.of(named, ""))], True
    if wanted.function is not None:
        raise InputError("--function", f"expected one file beside it, got {' '.join(paths)}")
    all_found = find_files(local, wanted.language, choice)
    listed = [
        each
        for each in all_found.wanted
        if os.path.getsize(each.path) and (each.language is None or codemods_for(each.language.name))
    ]
    if not listed and all_found.excluded:
        number = count_of(all_found.excluded, "file")
        raise InputError(
            paths[0], f"expected files to change, got {number}, excluded by {choice.excluded_by}; name a file"
        )
    if not listed:
        raise InputError(paths[0], "expected files of a language with known changes, found none")
    contexts = [(each, _context(each)) for each in listed]
    found = [(each, name) for each, name in contexts if treatment_of(name) in (None, "narrowed")]
    if len(found) < len(listed):
        left = count_of(len(listed) - len(found), "file")
        click.echo(f"left out {left}: tests, generated code and the like; name a file to change it", err=True)
    if not found:
        raise InputError(
            paths[0], "expected files that are not tests, generated code or the like, found none"
        )
    return [_File(each.path, each.shown, selected.of(each, name)) for each, name in found], False


def _context(file: FileToReview) -> str:
    try:
        return context_name(file)
    except InputError:
        # Why it cannot be read is said when it is to be changed.
        return ""


def _check_options(advisor: Advisor, wanted: _Wanted, *, is_one: bool, chooses: bool) -> None:
    """Raise InputError for options that need the rules, if a model answers."""
    if advisor.engine == RULES:
        return
    if not is_one:
        raise InputError("FILE", f"expected one file for {advisor.engine.name}, got several or a folder")
    if chooses:
        raise InputError("--rule", "expected no --rule, --safe or --unsafe for a language model, got one")


def _answers(
    advisor: Advisor, files: list[_File], wanted: _Wanted, *, is_one: bool
) -> list[tuple[_File, ChangeAnswer]]:
    answers: list[tuple[_File, ChangeAnswer]] = []
    new: dict[str, str] = {}
    for file in files:
        try:
            answer = _change_of(advisor, file, wanted, new)
        except InputError as error:
            if is_one:
                raise
            click.echo(f"skipped {escaped_line(file.shown)}: {error.problem}", err=True)
            continue
        new[os.path.realpath(file.path)] = answer.new
        answers.append((file, answer))
    return answers


def _change_of(advisor: Advisor, file: _File, wanted: _Wanted, new: dict[str, str]) -> ChangeAnswer:
    if wanted.function is not None:
        from faultkit.code.advice.function_change import change_function

        return change_function(
            advisor,
            file.path,
            wanted.function,
            wanted.kind,
            target_score=wanted.target_score,
            language=wanted.language,
            selection=file.selection,
        )
    return advisor.change_file(
        file.path,
        kind=wanted.kind,
        target_score=wanted.target_score,
        language=wanted.language,
        selection=file.selection,
        changed=new,
    )


def _names_in_diff(paths: Sequence[str]) -> tuple[dict[str, str], str | None]:
    """Return the files' names in the diff and the folder to apply it in.

    The folder is None for the current one, if all files are in it; otherwise it is the top of their
    repository, or the folder that they have in common.
    """
    # A link within the folder keeps its name, which git knows; git does not change what a link leads to.
    given = {path: Path(os.path.abspath(path)) for path in paths}
    here = Path.cwd()
    if all(each.is_relative_to(here) for each in given.values()):
        return {path: each.relative_to(here).as_posix() for path, each in given.items()}, None
    real = {path: Path(os.path.realpath(path)) for path in paths}
    common = Path(os.path.commonpath([each.parent for each in real.values()]))
    top = next((each for each in (common, *common.parents) if (each / ".git").exists()), common)
    return {path: each.relative_to(top).as_posix() for path, each in real.items()}, str(top)


def _print_diff(diff: str) -> None:
    """Print a diff, in colour on a terminal."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        # As bytes, so that line ends reach `git apply` unchanged.
        sys.stdout.flush()
        sys.stdout.buffer.write(diff.encode("utf-8"))
        sys.stdout.buffer.flush()
        return
    for line in diff.splitlines():
        is_name = line.startswith(("--- ", "+++ "))
        click.echo(click.style(line, bold=True) if is_name else click.style(line, fg=_COLOURS.get(line[:1])))


def _explain(answer: ChangeAnswer, file: str) -> None:
    """Print the scores, the changes, what they need and what they ask to stderr."""

    def say(text: str) -> None:
        click.echo(text, err=True)

    by = "the rules" if answer.model is None else f"{answer.engine} ({answer.model})"
    if answer.old == answer.new:
        say(f"{file}: nothing to change, by {by}: {answer.reason}")
    else:
        say(f"{file}: score {answer.score:.2f} → {answer.score_after:.2f}, by {by}")
        for change in answer.changes:
            say(f"  {change}")
        if not answer.changes:
            say(f"  {answer.explanation}")
        say(f"  ({answer.reason})")
        if answer.dependencies:
            say(f"needs: {', '.join(answer.dependencies)}")
    for is_applied, title in (
        (True, "check, before you keep the change:"),
        (False, "not made without an answer (--unsafe, or --rule ID):"),
    ):
        asked = [each for each in answer.questions if each.is_applied == is_applied]
        if asked:
            say(title)
        for each in asked[:_MOST_QUESTIONS]:
            say(f"  {each.text()}")
        if len(asked) > _MOST_QUESTIONS:
            say(f"  and {len(asked) - _MOST_QUESTIONS} more (all with --json)")
