"""`fault test rank`: agents side by side, by what the same faults made of them."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from faultkit.base.errors import InputError


@click.command(
    epilog="""\b
Example:
  fault test rank examples/suites/battery.yml --vary agent=naive,retrying,verifying
"""
)
@click.argument("paths", metavar="PATH…", nargs=-1, required=True)
@click.option(
    "--vary", metavar="NAME=A,B,…", help="Run the suites once with each of these values of a variable."
)
@click.option("--seed", metavar="SEED", help="In place of the suites' own.")
@click.option("--repeat", type=click.IntRange(1, 10_000), metavar="N", help="Run each agent so often.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(
    paths: tuple[str, ...], vary: str | None, seed: str | None, repeat: int | None, as_json: bool
) -> None:
    """Rank the agents of suites by a figure from 0 to 100, made of all runs that met a fault.

    A run that does not pass its gate is worth 0. Of a run that passes: 40 for having done what it was sent
    for, 20 for saying what is so, 20 for no call that could not help, 20 for doing nothing twice and for
    waiting when asked to. The table has the best first.
    """
    from faultkit.agents.execute.options import Options, given_seed
    from faultkit.agents.model import AgentTest
    from faultkit.agents.ranking import agent_name, ranked
    from faultkit.agents.result import Row
    from faultkit.agents.run import run_to_end
    from faultkit.agents.select import Selection, select, tests_of
    from faultkit.cli.suites.running import find_suites, load_all

    rows: list[tuple[str, Row]] = []
    for variables in _variations(vary):
        suites = load_all(find_suites(paths), variables, "--vary")
        ended = run_to_end(select(suites, Selection()), Options(seed=given_seed(seed), repeat=repeat))
        if ended.signal is not None:
            raise click.exceptions.Exit(128 + ended.signal)
        for suite, result in zip(suites, ended.results.suites, strict=True):
            names = {test.name: agent_name(test) for test in tests_of(suite) if isinstance(test, AgentTest)}
            for row in result.rows:
                name = names.get(row.name.removesuffix(" (recovery)"))
                if name is not None and row.runs:
                    rows.append((name, row))
    standings = ranked(rows)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in standings], indent=2))
        return
    click.echo(
        f"{'agent':<16}{'score':>7}{'gate':>9}{'goal':>9}{'honest':>9}{'wasted':>9}{'twice':>7}{'early':>7}"
    )
    for one in standings:
        score = "–" if one.score is None else f"{one.score:.1f}"
        passed, goals, honest = (f"{n}/{one.hit}" for n in (one.passed, one.goals, one.honest))
        click.echo(
            f"{one.agent:<16}{score:>7}{passed:>9}{goals:>9}{honest:>9}"
            f"{one.wasted_calls:>9}{one.duplicate_effects:>7}{one.early_calls:>7}"
        )


def _variations(vary: str | None) -> list[dict[str, str]]:
    if vary is None:
        return [{}]
    name, sign, values = vary.partition("=")
    if not sign or not name or not all(values.split(",")):
        raise InputError("--vary", f'expected NAME=A,B,…, got "{vary}"')
    return [{name: value} for value in values.split(",")]
