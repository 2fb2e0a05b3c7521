"""`fault keys revoke`: makes a key worthless."""

from __future__ import annotations

import json

import click

from faultkit.base.errors import InputError
from faultkit.cli.keys.opened import opened
from faultkit.cli.store import kept_store_option


@click.command()
@click.argument("name")
@kept_store_option
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(name: str, store: str, as_json: bool) -> None:
    """Revoke the key called NAME. Servers that are running refuse it within a second.

    It stays in the list, and its name is free for another key.
    """
    from faultkit.audit.access.keys import Keys

    with opened(store) as log:
        revoked = "\0" not in name and Keys(log).revoke(name)
    if not revoked:
        raise InputError(
            "NAME", f'expected a key that is in use, as `fault keys list` shows it, got "{name[:80]}"'
        )
    if as_json:
        click.echo(json.dumps({"name": name, "revoked": True}))
    else:
        click.echo(f"key {name} is revoked", err=True)
