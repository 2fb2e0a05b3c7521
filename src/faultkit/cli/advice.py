"""`fault slo`: service level objectives for code."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import click

from faultkit.base.errors import InputError
from faultkit.cli.llm import LlmOptions, advisor_from, llm_options, status_while_asking
from faultkit.cli.shared_options import LANGUAGE, columns, json_option, print_json
from faultkit.code import find_function, language_named, list_functions, read_source
from faultkit.code.advice.answers import SloAnswer

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
