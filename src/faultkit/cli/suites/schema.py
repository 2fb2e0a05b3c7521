"""`fault test schema`: what a suite file may hold, for editors."""

from __future__ import annotations

import json

import click


@click.command()
def command() -> None:
    """Print the JSON schema of suite files."""
    from faultkit.agents.schema import suite_schema

    click.echo(json.dumps(suite_schema(), indent=2))
