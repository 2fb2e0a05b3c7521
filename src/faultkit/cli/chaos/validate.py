"""`fault chaos validate`: every mistake in experiments and game days, at once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from faultkit.base.errors import InputError
from faultkit.cli.chaos.options import EXPERIMENTS


@click.command("validate", epilog="Ends with 0 if all is well, with 2 if anything is wrong.")
@click.argument("paths", nargs=-1, metavar="[FILE|DIR]...")
@EXPERIMENTS
@click.option("--json", "as_json", is_flag=True, help="As JSON on stdout.")
@click.pass_context
def command(ctx: click.Context, paths: tuple[str, ...], experiments: str, as_json: bool) -> None:
    """Check experiments and game days without running them; by default those of the folder of experiments."""
    checked: list[Path] = []
    problems: list[InputError] = []
    for path in paths or (experiments,):
        files, found = _problems(Path(path))
        checked += files
        problems += found
    if as_json:
        told = {"valid": not problems, "problems": [str(problem) for problem in problems]}
        click.echo(json.dumps(told, ensure_ascii=False))
    elif problems:
        for problem in problems:
            click.echo(f"error: {problem}", err=True)
    else:
        click.echo(f"valid: {', '.join(map(str, checked))}")
    if problems:
        ctx.exit(2)


def _problems(path: Path) -> tuple[list[Path], list[InputError]]:
    """The files, and what is wrong with them."""
    from faultkit.chaos.catalog import files_of, find_runnable, is_day, read_catalog
    from faultkit.chaos.experiment.file import validate

    if not path.is_dir():
        try:
            if not path.is_file():
                raise InputError(str(path), "expected a file or a folder that is there")
            if is_day(path):
                find_runnable(str(path), path.parent, os.environ)
                return [path], []
        except InputError as error:
            return [path], [error]
        return [path], validate(path, os.environ)
    files = files_of(path)
    if not files:
        return [], [InputError(str(path), "expected a folder with experiments, got none in it")]
    problems = [problem for file in files for problem in _problems(file)[1]]
    repeats = [
        each for each in read_catalog(path, os.environ).problems if str(each) not in map(str, problems)
    ]
    return files, [*problems, *repeats]
