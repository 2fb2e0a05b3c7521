"""`fault audit show`: one call, with what was said."""

from __future__ import annotations

import json

import click

from faultkit.base.errors import InputError
from faultkit.cli.audit.filters import opened
from faultkit.cli.store import kept_store_option


@click.command()
@click.argument("id")
@kept_store_option
def command(id: str, store: str) -> None:
    """Show the call with this ID as JSON: its row, and its request and response without secrets."""
    from faultkit.audit.row import payload_document, row_document

    with opened(store) as log:
        entry = log.get(id)
    if entry is None:
        raise InputError(
            "ID", f'expected the id of a call, as `fault audit list --json` shows it, got "{id[:60]}"'
        )
    document = row_document(entry.row)
    if entry.payload is not None:
        document["payload"] = payload_document(entry.payload)
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))
