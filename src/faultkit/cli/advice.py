"""`fault slo`: service level objectives for code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from faultkit.base.errors import InputError
from faultkit.base.text import count_of
from faultkit.cli.llm import LlmOptions, advisor_from, llm_options, llm_settings_from, status_while_asking
from faultkit.cli.shared_options import LANGUAGE, columns, json_option, language_given, print_json
from faultkit.code import find_function, list_functions, read_source
from faultkit.code.advice.answers import SloAnswer
from faultkit.code.advice.project_settings import project_of
from faultkit.code.languages import Language
from faultkit.code.review.context import context_of
from faultkit.code.review.file_head import HEAD_BYTES, FileHead
from faultkit.code.slos import (
    FunctionObjectives,
    MetricChoice,
    SuggestedSlo,
    all_objectives,
    objectives_of,
    route_of,
    with_common_buckets,
)
from faultkit.code.slos.exporters import EXPORTERS
from faultkit.code.slos.rule_files import FORMATS, rules_text
from faultkit.code.source_files import SourceFile, source_files

_SLO_COLUMNS = ("TYPE", "OBJECTIVE", "THRESHOLD", "WINDOW", "TITLE")
_MOST_SHOWN = 5
_ALL_COLUMNS = ("ROUTE", "TYPE", "OBJECTIVE", "THRESHOLD", "PLACE")


@click.command("slo", epilog="For example: fault slo app.py index, fault slo src --all --format prometheus")
@click.argument("file", metavar="FILE|FOLDER")
@click.argument("function", required=False)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Every function that answers requests, processes messages or runs as a job, of a file or a folder.",
)
@click.option(
    "--exporter",
    metavar="NAME",
    default="",
    help=f"Library whose metric names the queries use: {', '.join(EXPORTERS)}. By default told by the code.",
)
@click.option("--count-429", is_flag=True, help="Count answers with 429 as failures.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(("text", "json", *FORMATS)),
    default="text",
    help="Output: text, json, or YAML with rules and alerts for prometheus, for openslo or for sloth.",
)
@click.option("--service", metavar="NAME", help="Name of the service in YAML; by default that of the folder.")
@LANGUAGE
@json_option("Print a JSON array with definitions for Prometheus and Cloud Run; the same as --format json.")
@llm_options
def slo_command(
    file: str,
    function: str | None,
    every: bool,
    exporter: str,
    count_429: bool,
    format_: str,
    service: str | None,
    lang: str | None,
    as_json: bool,
    llm: LlmOptions,
) -> None:
    """Suggest service level objectives for FUNCTION of FILE, or for FILE as a whole.

    They follow from the code: its route, its framework, the calls that it makes. Without an API key or a flag
    for a language model the offline rules answer, and nothing leaves this machine. --all and YAML are always
    by the rules.
    """
    if as_json and format_ not in ("text", "json"):
        raise InputError("--json", f"expected no other format beside it, got --format {format_}")
    format_ = "json" if as_json else format_
    language = language_given(lang)
    metrics = MetricChoice(exporter=exporter, counts_429=count_429)
    if every:
        if function is not None:
            raise InputError("--all", f"expected no function beside it, got {function!r}")
        _check_rules(llm, "--all")
        _print_all(file, language, metrics, format_, service)
        return
    source = read_source(file, language)
    text = source.source.decode("utf-8", "replace")
    if not text.strip():
        raise InputError(file, "expected source code, got an empty file")
    name = "" if function is None else _exact_name(source, file, function)
    metrics = _with_project(metrics, source.path)
    if format_ in FORMATS:
        _check_rules(llm, f"--format {format_}")
        found = objectives_of(text, source.language, function=name, metrics=metrics)
        if found.reason:
            raise InputError(file, f"expected code with an objective: {found.reason}")
        click.echo(rules_text([found], format_, service or _service(source.path)), nl=False)
        return
    with ExitStack() as stack:
        advisor = advisor_from(llm, source.path, stack)
        with status_while_asking(advisor):
            answer = advisor.slos(text, source.language, function=name, metrics=metrics)
    if format_ == "json":
        print_json(list(answer.slos))
    else:
        _print_slos(answer)
    if answer.reason:
        click.echo(f"no objectives: {answer.reason}", err=True)
    click.echo(f"by {'the rules' if answer.model is None else f'{answer.engine} ({answer.model})'}", err=True)


def _check_rules(llm: LlmOptions, flag: str) -> None:
    """Refuse a language model where only the rules answer."""
    if llm_settings_from(llm) is not None:
        raise InputError(flag, "expected no language model beside it, got one: the rules answer this")


def _exact_name(source: SourceFile, file: str, function: str) -> str:
    try:
        found = find_function(list_functions(source.parse()), function)
    except InputError as error:
        raise error.at(f"{file}: {error.path}") from None
    # With its line, because a file may have two functions of the same name.
    return f"{found.qualified_name}:{found.line}"


def _with_project(metrics: MetricChoice, path: str) -> MetricChoice:
    declared = project_of(path).declared or frozenset()
    return MetricChoice(metrics.exporter, declared, metrics.counts_429)


def _service(path: str) -> str:
    real = Path(os.path.realpath(path))
    return real.name if real.is_dir() else real.parent.name


# All functions of a file or a folder.


def _print_all(
    path: str, language: Language | None, metrics: MetricChoice, format_: str, service: str | None
) -> None:
    everything = list(_found_in(path, language, metrics))
    served = [(name, each) for name, each in everything if each.slos]
    # One service has one list of buckets for the routes of all its files.
    same = with_common_buckets([each for _, each in served])
    found = [(name, each) for (name, _), each in zip(served, same, strict=True)]
    _print_left_out([(name, each) for name, each in everything if each.reason])
    if not found:
        click.echo("no objectives: no function answers requests, processes messages or is a job", err=True)
        if format_ == "json":
            print_json([])
    elif format_ in FORMATS:
        click.echo(rules_text([each for _, each in found], format_, service or _service(path)), nl=False)
    elif format_ == "json":
        print_json([{**slo.document(), "file": name} for name, each in found for slo in each.slos])
    else:
        rows = [_all_row(name, slo) for name, each in found for slo in each.slos]
        click.echo(columns([_ALL_COLUMNS, *rows]))
        needs = dict.fromkeys(slo.needs for _, each in found for slo in each.slos)
        click.echo("\n" + "\n".join(f"needs: {each}" for each in needs))
    functions = {(name, each.entry.name, each.entry.line) for name, each in found}
    click.echo(f"{count_of(len(functions), 'function')}, by the rules", err=True)


def _print_left_out(left_out: list[tuple[str, FunctionObjectives]]) -> None:
    by_reason: dict[str, list[str]] = {}
    for name, each in left_out:
        where = f"{each.entry.name or 'a handler'} ({name}:{each.entry.line})"
        by_reason.setdefault(each.reason, []).append(where)
    for reason, places in by_reason.items():
        more = f" and {len(places) - _MOST_SHOWN} more" if len(places) > _MOST_SHOWN else ""
        click.echo(f"left out: {', '.join(places[:_MOST_SHOWN])}{more}: {reason}", err=True)


def _found_in(
    path: str, language: Language | None, metrics: MetricChoice
) -> Iterator[tuple[str, FunctionObjectives]]:
    sources: list[tuple[str, str, Language | None]] = [(path, path, language)]
    if os.path.isdir(path):
        sources = [(each.relative, each.path, each.language) for each in source_files(path, language)]
    for name, place, of in sources:
        source = read_source(place, of)
        text = source.source.decode("utf-8", "replace")
        if text.strip() and (place == path or _serves(name, source, text)):
            shown = path if place == path else os.path.normpath(os.path.join(path, name))
            chosen = _with_project(metrics, place)
            for each in all_objectives(text, source.language, metrics=chosen):
                yield shown, each


def _serves(name: str, source: SourceFile, text: str) -> bool:
    """Return whether a file of a folder is code that serves users, and no test, example or generated code."""
    head = FileHead(name, source.language.name, text[:HEAD_BYTES], len(source.source))
    context = context_of(head)
    return context is None or context.treatment == "narrowed"


def _all_row(file: str, slo: SuggestedSlo) -> tuple[str, ...]:
    about = route_of(slo.entry) or slo.entry.name
    threshold = f"{slo.threshold:g} {slo.unit}"
    return about, slo.type, f"{slo.objective:g} %", threshold, f"{file}:{slo.entry.line}"


# Output.


def _print_slos(answer: SloAnswer) -> None:
    if not answer.slos:
        return
    click.echo(columns([_SLO_COLUMNS, *map(_slo_row, answer.slos)]))
    for slo in answer.slos:
        click.echo(f"\n{slo['title']}")
        click.echo(f"  why: {slo['explanation']}")
        for key, word in (("error_budget", "budget"), ("needs", "needs")):
            if slo.get(key):
                click.echo(f"  {word}: {slo[key]}")
        click.echo(f"  prometheus: {slo['sli']['prometheus']}")


def _slo_row(slo: dict[str, Any]) -> tuple[str, ...]:
    threshold = f"{slo['threshold']:g} {slo['unit']}"
    return slo["type"], f"{slo['objective']:g} %", threshold, slo["window"], slo["title"]
