"""`fault functions`: the functions of a file, or the code of one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from faultkit.base.errors import InputError
from faultkit.cli.shared_options import print_json
from faultkit.code import Function, Syntax, find_function, language_named, list_functions, read_source


@click.command(epilog="For example: fault functions app.py Store.save")
@click.argument("file")
@click.argument("name", required=False)
@click.option("--body", is_flag=True, help="The code of NAME without its signature.")
@click.option("--lang", metavar="NAME", help="The language, if the file's extension does not show it.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(file: str, name: str | None, body: bool, lang: str | None, as_json: bool) -> None:
    """List the functions of FILE, or print the code of the one called NAME.

    NAME may be the end of a longer name, and `name:12` is the one on line 12.
    """
    if body and name is None:
        raise InputError("--body", "expected the NAME of a function beside it, got nothing")
    source = read_source(file, None if lang is None else language_named(lang))
    syntax = source.parse()
    functions = list_functions(syntax)
    if name is None:
        _print_all(syntax, functions, as_json)
        return
    found = find_function(functions, name)
    if as_json:
        print_json(function_document(syntax, found) | _code(syntax, found))
    else:
        click.echo(syntax.text(found.body if body else found.full))


def function_document(syntax: Syntax, function: Function) -> dict[str, Any]:
    """Return a function as a JSON document, with lines in place of offsets."""
    document = asdict(function)
    del document["full"], document["body"]
    return {**document, "language": syntax.language.name}


def _code(syntax: Syntax, function: Function) -> dict[str, str]:
    return {"full": syntax.text(function.full), "body": syntax.text(function.body)}


def _print_all(syntax: Syntax, functions: tuple[Function, ...], as_json: bool) -> None:
    if as_json:
        print_json([function_document(syntax, each) for each in functions])
        return
    rows = [(f"{each.start_line}-{each.end_line}", each.kind, each.qualified_name) for each in functions]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for lines, kind, name in rows:
        click.echo(f"{lines:>{widths[0]}}  {kind:<{widths[1]}}  {name}")
    if not functions:
        click.echo("no functions in it", err=True)
    if syntax.has_errors:
        broken = ", ".join(map(str, syntax.broken_lines()[:5]))
        title = syntax.language.title
        click.echo(f"warning: not all of it could be read as {title}: see line {broken}", err=True)
