"""`fault scenario validate`: every mistake in scenario files, at once."""

from __future__ import annotations

import json
from pathlib import Path

import click

from faultkit.cli.scenario.paths import scenario_paths, takes_scenarios


@click.command("validate", epilog="Ends with 0 if all is well, with 2 if anything is wrong.")
@takes_scenarios
@click.option("--json", "as_json", is_flag=True, help="As JSON on stdout.")
@click.pass_context
def command(ctx: click.Context, paths: tuple[str, ...], scenarios: tuple[str, ...], as_json: bool) -> None:
    """Check scenario files (or folders of them) without running them."""
    from faultkit.scenario.file import load_scenarios, validate
    from faultkit.scenario.report.phrases import count_of

    wanted = scenario_paths(paths, scenarios)
    problems = [problem for path in wanted for problem in validate(Path(path))]
    if as_json:
        click.echo(json.dumps({"valid": not problems, "problems": [str(problem) for problem in problems]}))
    elif problems:
        for problem in problems:
            click.echo(f"error: {problem}", err=True)
    else:
        found = [scenario for path in wanted for scenario in load_scenarios(Path(path))]
        items = sum(len(scenario.items) for scenario in found)
        click.echo(f"valid: {count_of(len(found), 'scenario')}, {count_of(items, 'item')}")
    if problems:
        ctx.exit(2)
