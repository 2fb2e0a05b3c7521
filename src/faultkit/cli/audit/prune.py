"""`fault audit prune`: removes old calls."""

from __future__ import annotations

import click

from faultkit.base.errors import InputError
from faultkit.cli.audit.filters import opened
from faultkit.cli.store import kept_store_option


@click.command(epilog="For example: fault audit prune --older-than 30d")
@kept_store_option
@click.option(
    "--older-than",
    required=True,
    metavar="TIME",
    help='How long ago, such as "30d", or "2026-01-31T12:00:00Z".',
)
def command(store: str, older_than: str) -> None:
    """Remove the calls that began before TIME, with what was said in them."""
    from faultkit.base.times import now_us, parse_time

    try:
        before_us = parse_time(older_than, now_us())
    except ValueError as error:
        raise InputError("--older-than", str(error)) from None
    with opened(store) as log:
        count = log.prune(before_us)
    click.echo(f"{count} calls removed")
