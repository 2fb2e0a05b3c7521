"""`fault scenario schema`: the JSON Schema of one document of a scenario file."""

from __future__ import annotations

import json

import click


@click.command("schema", epilog="For example: fault scenario schema > scenario.schema.json")
def command() -> None:
    """Print the JSON Schema (draft 2020-12) of a scenario, for editors."""
    from faultkit.scenario.schema import scenario_schema

    click.echo(json.dumps(scenario_schema(), indent=2, ensure_ascii=False))
