"""`fault improve`: a change that makes a file more reliable or faster, as a diff or written to the file."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path

import click

from faultkit.base.errors import InputError
from faultkit.base.files import rewrite_file
from faultkit.cli.llm import LlmOptions, advisor_from, llm_options, status_while_asking
from faultkit.cli.shared_options import print_json
from faultkit.code import Language, language_named, local_path
from faultkit.code.advice.advisor import Advisor
from faultkit.code.advice.answers import ChangeAnswer
from faultkit.code.changes.diff import unified_diff
from faultkit.code.rules import KINDS
from faultkit.code.rules.rule import Kind

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command(
    epilog="""\b
Examples:
  fault improve app.py
  fault improve app.py --function index | git apply
  fault improve app.py --kind reliability --target-score 0.8 --write
"""
)
@click.argument("file")
@click.option("--function", metavar="NAME", help="Change this function, and what it needs, only.")
@click.option("--kind", type=click.Choice(KINDS), help="Look at this only; otherwise at both.")
@click.option(
    "--target-score",
    type=float,
    default=1.0,
    show_default=True,
    help="The score to reach, from 0 to 1; no further changes are made after that.",
)
@click.option("--lang", metavar="NAME", help="The language, if the file's extension does not show it.")
@click.option("--write", is_flag=True, help="Change FILE; otherwise it is only read.")
@click.option("--json", "as_json", is_flag=True, help="As JSON: scores, diff, dependencies and more.")
@llm_options
def command(
    file: str,
    function: str | None,
    kind: Kind | None,
    target_score: float,
    lang: str | None,
    write: bool,
    as_json: bool,
    llm: LlmOptions,
) -> None:
    """Say how to make FILE hold up in production, as a diff that `git apply` takes.

    Every change answers something that `fault review` finds. Without a key or a flag for a language model the
    offline rules answer, and nothing leaves this machine. The diff goes to stdout, all else to stderr.
    """
    if not 0 <= target_score <= 1:
        raise InputError("--target-score", f"expected a number from 0 to 1, got {target_score:g}")
    path = local_path(file)
    language = None if lang is None else language_named(lang)
    with ExitStack() as stack:
        advisor = advisor_from(llm, path, stack)
        with status_while_asking(advisor):
            answer = _change(advisor, path, function, kind, target_score, language)
    name, base = _name_in_diff(path)
    diff = unified_diff(answer.old, answer.new, name)
    is_written = write and bool(diff)
    if is_written:
        rewrite_file(path, answer.new.encode("utf-8"), answer.old.encode("utf-8"))
    if as_json:
        document = {
            **answer.document(),
            "diff": diff,
            "file": file,
            "function": function,
            "written": is_written,
        }
        print_json(document)
        return
    _print_diff(diff)
    _explain(answer, file, base, is_written=is_written)


def _change(
    advisor: Advisor,
    path: str,
    function: str | None,
    kind: Kind | None,
    target_score: float,
    language: Language | None,
) -> ChangeAnswer:
    if function is not None:
        from faultkit.code.advice.function_change import change_function

        return change_function(advisor, path, function, kind, target_score=target_score, language=language)
    if kind is None:
        return advisor.change_file(path, target_score=target_score, language=language)
    from faultkit.code.source_file import read_changeable

    read = read_changeable(path, language)
    return advisor.suggest(read.text, read.language, kind, target_score=target_score)


def _name_in_diff(path: str) -> tuple[str, str | None]:
    """Return the file's name in the diff and the folder to apply it in.

    The folder is None for the current one, if the file is in it; otherwise it is the top of the file's
    repository, or the file's own folder.
    """
    real = Path(os.path.realpath(path))
    # Links within the folder keep their names, which git knows; a link to elsewhere is not for git to change.
    given = Path(os.path.abspath(path))
    here = Path.cwd()
    if given.is_relative_to(here):
        return given.relative_to(here).as_posix(), None
    top = next((each for each in real.parents if (each / ".git").exists()), real.parent)
    return real.relative_to(top).as_posix(), str(top)


def _print_diff(diff: str) -> None:
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        # As bytes: nothing between here and `git apply` may change a line end.
        sys.stdout.flush()
        sys.stdout.buffer.write(diff.encode("utf-8"))
        sys.stdout.buffer.flush()
        return
    for line in diff.splitlines():
        is_name = line.startswith(("--- ", "+++ "))
        click.echo(click.style(line, bold=True) if is_name else click.style(line, fg=_COLOURS.get(line[:1])))


def _explain(answer: ChangeAnswer, file: str, base: str | None, *, is_written: bool) -> None:
    def say(text: str) -> None:
        click.echo(text, err=True)

    by = "the rules" if answer.model is None else f"{answer.engine} ({answer.model})"
    if answer.old == answer.new:
        say(f"{file}: nothing to change, by {by}: {answer.reason}")
        return
    say(f"{file}: score {answer.score:.2f} → {answer.score_after:.2f}, by {by}")
    for each in answer.changes:
        say(f"  {each}")
    if not answer.changes:
        say(f"  {answer.explanation}")
    say(f"  ({answer.reason})")
    if answer.dependencies:
        say(f"needs: {', '.join(answer.dependencies)}")
    if is_written:
        say(f"{file} was changed")
    elif base is not None:
        say(f"to be applied in {base}")
