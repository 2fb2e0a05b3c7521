"""`fault keys create`: makes a key, and shows it once."""

from __future__ import annotations

import json

import click

from faultkit.base.errors import InputError
from faultkit.cli.keys.opened import opened
from faultkit.cli.store import kept_store_option

_ARGUMENTS = {"name": "NAME", "scopes": "--scope", "expires": "--expires"}


@click.command(
    epilog="""\b
Examples:
  fault keys create ci --expires 90d
  fault keys create grafana --scope read --json
"""
)
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(["read", "call", "admin"]),
    multiple=True,
    help="read: the audit log; call: tools; admin: both, and keys. read and call if not given.",
)
@click.option(
    "--expires", metavar="TIME", help='How long from now, such as "30d", or when. Never if not given.'
)
@kept_store_option
@click.option("--json", "as_json", is_flag=True, help="As JSON, with the key as `key`.")
def command(name: str, scopes: tuple[str, ...], expires: str | None, store: str, as_json: bool) -> None:
    """Make a key called NAME for those who call `fault serve`, and show it.

    Only its digest is kept, so it cannot be shown again. A server that is running knows it at once.
    """
    from faultkit.audit.access.keys import Keys, parse_expiry
    from faultkit.audit.keys import key_document
    from faultkit.base.times import now_us, time_text

    try:
        expires_us = None if expires is None else parse_expiry(expires, now_us())
    except ValueError as error:
        raise InputError("--expires", str(error)) from None
    with opened(store, create=True) as log:
        try:
            key, plain = Keys(log).create(name, scopes or ("read", "call"), expires_us)
        except InputError as error:
            raise InputError(_ARGUMENTS.get(error.path, error.path), error.problem) from None
    if as_json:
        click.echo(json.dumps(key_document(key) | {"key": plain}, indent=2))
        return
    click.echo(plain)
    until = "" if key.expires_us is None else f", until {time_text(key.expires_us)[:19]}Z"
    click.echo(f"key {key.name} may {', '.join(key.scopes)}{until}; it will not be shown again", err=True)
