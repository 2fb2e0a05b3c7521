"""`fault improve` and `fault slo`: a change that makes a file more reliable or faster; objectives for it."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from faultkit.base.errors import InputError
from faultkit.base.files import rewrite_file
from faultkit.cli.llm import LlmOptions, advisor_from, llm_options, status_while_asking
from faultkit.cli.shared_options import LANGUAGE, columns, json_option, print_json
from faultkit.code import Language, find_function, language_named, list_functions, local_path, read_source
from faultkit.code.advice.advisor import Advisor
from faultkit.code.advice.answers import ChangeAnswer, SloAnswer
from faultkit.code.changes.change import unified_diff
from faultkit.code.rules import KINDS
from faultkit.code.rules.rule import Kind

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command(
    "improve",
    epilog="""\b
Examples:
  fault improve app.py
  fault improve app.py --function index | git apply
  fault improve app.py --kind reliability --target-score 0.8 --write
""",
)
@click.argument("file")
@click.option("--function", metavar="NAME", help="Change only this function, and what it needs.")
@click.option("--kind", type=click.Choice(KINDS), help="Apply only rules of this kind; by default both.")
@click.option(
    "--target-score",
    type=float,
    default=1.0,
    show_default=True,
    help="Stop making changes at this score, from 0 to 1.",
)
@LANGUAGE
@click.option("--write", is_flag=True, help="Write the change to FILE; by default it is only printed.")
@json_option("Print JSON: scores, diff, dependencies and more.")
@llm_options
def improve_command(
    file: str,
    function: str | None,
    kind: Kind | None,
    target_score: float,
    lang: str | None,
    write: bool,
    as_json: bool,
    llm: LlmOptions,
) -> None:
    """Suggest a change that makes FILE more reliable or faster, as a diff for `git apply`.

    Every change answers a finding of `fault review`. Without an API key or a flag for a language model the
    offline rules answer, and nothing leaves this machine. The diff goes to stdout, everything else to stderr.
    """
    if not 0 <= target_score <= 1:
        raise InputError("--target-score", f"expected a number from 0 to 1, got {target_score:g}")
    path = local_path(file)
    language = None if lang is None else language_named(lang)
    with ExitStack() as stack:
        advisor = advisor_from(llm, path, stack)
        with status_while_asking(advisor):
            answer = _change_of(advisor, path, function, kind, target_score, language)
    name, folder = _name_in_diff(path)
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
    _explain(answer, file, folder, is_written=is_written)


def _change_of(
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
    from faultkit.code.source_files import read_changeable

    read = read_changeable(path, language)
    return advisor.suggest(read.text, read.language, kind, target_score=target_score)


def _name_in_diff(path: str) -> tuple[str, str | None]:
    """Return the file's name in the diff and the folder to apply it in.

    The folder is None for the current one, if the file is in it; otherwise it is the top of the file's
    repository, or the file's own folder.
    """
    real = Path(os.path.realpath(path))
    # A link within the folder keeps its name, which git knows; git does not change what a link leads to.
    given = Path(os.path.abspath(path))
    here = Path.cwd()
    if given.is_relative_to(here):
        return given.relative_to(here).as_posix(), None
    top = next((each for each in real.parents if (each / ".git").exists()), real.parent)
    return real.relative_to(top).as_posix(), str(top)


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


def _explain(answer: ChangeAnswer, file: str, folder: str | None, *, is_written: bool) -> None:
    """Print the scores, the changes and what they need to stderr.

    folder: where to apply the diff; None for the current folder"""

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
    elif folder is not None:
        say(f"to be applied in {folder}")


_SLO_COLUMNS = ("TYPE", "OBJECTIVE", "THRESHOLD", "WINDOW", "TITLE")


@click.command("slo", epilog="For example: fault slo app.py index")
@click.argument("file")
@click.argument("function", required=False)
@LANGUAGE
@json_option("Print a JSON array with definitions for Prometheus and Cloud Run.")
@llm_options
def slo_command(file: str, function: str | None, lang: str | None, as_json: bool, llm: LlmOptions) -> None:
    """Suggest service level objectives for FUNCTION of FILE, or for FILE as a whole.

    They follow from the code: its route, its framework, the calls that it makes. Without an API key or a flag
    for a language model the offline rules answer, and nothing leaves this machine.
    """
    source = read_source(file, None if lang is None else language_named(lang))
    text = source.source.decode("utf-8", "replace")
    if not text.strip():
        raise InputError(file, "expected source code, got an empty file")
    name = ""
    if function is not None:
        try:
            found = find_function(list_functions(source.parse()), function)
        except InputError as error:
            raise error.at(f"{file}: {error.path}") from None
        # With its line, because a file may have two functions of the same name.
        name = f"{found.qualified_name}:{found.line}"
    with ExitStack() as stack:
        advisor = advisor_from(llm, source.path, stack)
        with status_while_asking(advisor):
            answer = advisor.slos(text, source.language, function=name)
    if as_json:
        print_json(list(answer.slos))
    else:
        _print_slos(answer)
    click.echo(f"by {'the rules' if answer.model is None else f'{answer.engine} ({answer.model})'}", err=True)


def _print_slos(answer: SloAnswer) -> None:
    if not answer.slos:
        click.echo("no objectives: no user waits for this code", err=True)
        return
    click.echo(columns([_SLO_COLUMNS, *map(_slo_row, answer.slos)]))
    for slo in answer.slos:
        click.echo(f"\n{slo['title']}")
        click.echo(f"  why: {slo['explanation']}")
        click.echo(f"  prometheus: {slo['sli']['prometheus']}")


def _slo_row(slo: dict[str, Any]) -> tuple[str, ...]:
    threshold = f"{slo['threshold']:g} {slo['unit']}"
    return slo["type"], f"{slo['objective']:g} %", threshold, slo["window"], slo["title"]
