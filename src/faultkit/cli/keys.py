"""`fault keys`: create, list and revoke the API keys of `fault serve`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from faultkit.base.errors import InputError
from faultkit.cli.command_groups import LazyCommand, lazy_group
from faultkit.cli.shared_options import columns, durable_store_option, json_option, print_json

if TYPE_CHECKING:
    from faultkit.audit.store import Store

COMMANDS: dict[str, LazyCommand] = {
    "create": LazyCommand("faultkit.cli.keys:create_command", "Create a key, and print it once."),
    "list": LazyCommand("faultkit.cli.keys:list_command", "List the keys."),
    "revoke": LazyCommand("faultkit.cli.keys:revoke_command", "Revoke a key."),
}

command = lazy_group("keys", "Create and revoke API keys for `fault serve`.", COMMANDS)


def open_key_store(store: str, *, create: bool = False) -> Store:
    """Open the store of the keys. `create`: create a missing one, since keys may be made before a server."""
    from faultkit.audit.log_file import MEMORY
    from faultkit.audit.store_factory import open_store

    if store == MEMORY:
        raise InputError("--store", "expected a file or a URL: no server can read keys in memory:")
    return open_store(store, create=create)


_ARGUMENTS = {"name": "NAME", "scopes": "--scope", "expires": "--expires"}


@click.command(
    "create",
    epilog="""\b
Examples:
  fault keys create ci --expires 90d
  fault keys create grafana --scope read --json
""",
)
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(["read", "call", "admin"]),
    multiple=True,
    help="What the key allows. read: read the audit log; call: call tools; admin: both, and manage keys. "
    "Repeatable; by default read and call.",
)
@click.option(
    "--expires",
    metavar="TIME",
    help='How long the key is valid, such as "30d", or until when; by default for ever.',
)
@durable_store_option
@json_option("Print JSON, with the key as `key`.")
def create_command(
    name: str, scopes: tuple[str, ...], expires: str | None, store: str, as_json: bool
) -> None:
    """Create a key called NAME for callers of `fault serve`, and print it.

    Only its digest is stored, so it cannot be shown again. Running servers accept it at once.
    """
    from faultkit.audit.access.api_keys import DEFAULT_SCOPES, KeyStore, key_document, parse_expiry
    from faultkit.audit.access.management_rows import append_action, key_created
    from faultkit.base.times import now_us, time_text

    try:
        expires_us = None if expires is None else parse_expiry(expires, now_us())
    except ValueError as error:
        raise InputError("--expires", str(error)) from None
    with open_key_store(store, create=True) as log:
        try:
            key, plain = KeyStore(log).create(name, scopes or DEFAULT_SCOPES, expires_us)
        except InputError as error:
            raise error.at(_ARGUMENTS.get(error.path, error.path)) from None
        append_action(log, key_created(key))
    if as_json:
        print_json(key_document(key) | {"key": plain})
        return
    click.echo(plain)
    until = "" if key.expires_us is None else f", until {time_text(key.expires_us)[:19]}Z"
    click.echo(f"key {key.name} may {', '.join(key.scopes)}{until}; it will not be shown again", err=True)


@click.command("list")
@durable_store_option
@json_option()
def list_command(store: str, as_json: bool) -> None:
    """List the keys by name: their first characters, scopes, state, expiry and last use.

    The time of last use is stored every half minute.
    """
    from faultkit.audit.access.api_keys import ApiKey, KeyStore, key_document
    from faultkit.base.times import now_us, time_text

    def state(key: ApiKey) -> str:
        if key.revoked_us is not None:
            return "revoked"
        return "expired" if key.expires_us is not None and key.expires_us <= now_us() else "in use"

    def when(at_us: int | None) -> str:
        return "never" if at_us is None else time_text(at_us)[:19] + "Z"

    with open_key_store(store) as log:
        keys = KeyStore(log).list()
    if as_json:
        print_json({"keys": [key_document(key) for key in keys]})
        return
    if not keys:
        click.echo("no keys", err=True)
        return
    rows = [("name", "key", "scopes", "state", "expires", "last used")]
    rows += [
        (k.name, f"{k.hint}…", ",".join(k.scopes), state(k), when(k.expires_us), when(k.used_us))
        for k in keys
    ]
    click.echo(columns(rows))


@click.command("revoke")
@click.argument("name")
@durable_store_option
@json_option()
def revoke_command(name: str, store: str, as_json: bool) -> None:
    """Revoke the key called NAME. Running servers refuse it within a second.

    The key stays in the list, and its name can be used for a new key.
    """
    from faultkit.audit.access.api_keys import KeyStore
    from faultkit.audit.access.management_rows import append_action, key_revoked

    with open_key_store(store) as log:
        revoked = "\0" not in name and KeyStore(log).revoke(name)
        if revoked:
            append_action(log, key_revoked(name))
    if not revoked:
        raise InputError(
            "NAME", f'expected a key that is in use, as `fault keys list` shows it, got "{name[:80]}"'
        )
    if as_json:
        click.echo(json.dumps({"name": name, "revoked": True}))
    else:
        click.echo(f"key {name} is revoked", err=True)
