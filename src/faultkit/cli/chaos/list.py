"""`fault chaos list`: the experiments of the folder, and what is wrong with other files in it."""

from __future__ import annotations

import json
import os

import click

from faultkit.cli.chaos.options import EXPERIMENTS


@click.command("list")
@EXPERIMENTS
@click.option("--json", "as_json", is_flag=True, help="As JSON on stdout.")
def command(experiments: str, as_json: bool) -> None:
    """List the experiments and game days there are."""
    from faultkit.chaos.catalog import read_catalog

    catalog = read_catalog(experiments, os.environ)
    found = [
        {"name": each.name, "file": str(each.file), "description": " ".join(each.description.split())}
        for each in catalog.experiments.values()
    ]
    days = [{"gameday": title, "file": str(file)} for title, file in catalog.days.items()]
    problems = [str(problem) for problem in catalog.problems]
    if as_json:
        told = {"experiments": found, "gamedays": days, "problems": problems}
        click.echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    width = max((len(each["name"]) for each in found), default=0)
    for each in found:
        click.echo(f"{each['name']:<{width}}  {each['description'] or each['file']}".rstrip())
    for day in days:
        click.echo(f"{day['gameday']} (game day)  {day['file']}")
    for problem in problems:
        click.echo(f"warning: {problem}", err=True)
    if not found and not days:
        click.echo(f"no experiments in {experiments}; `fault chaos init` writes one", err=True)
