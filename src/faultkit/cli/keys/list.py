"""`fault keys list`: which keys there are."""

from __future__ import annotations

import json

import click

from faultkit.cli.keys.opened import opened
from faultkit.cli.store import kept_store_option


@click.command()
@kept_store_option
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(store: str, as_json: bool) -> None:
    """Show the keys by name, with how they begin, what they may do, and when they were last used.

    When a key was last used is written down every half minute.
    """
    from faultkit.audit.access.keys import Keys
    from faultkit.audit.keys import Key, key_document
    from faultkit.base.times import now_us, time_text

    def state(key: Key) -> str:
        if key.revoked_us is not None:
            return "revoked"
        return "expired" if key.expires_us is not None and key.expires_us <= now_us() else "in use"

    def when(at_us: int | None) -> str:
        return "never" if at_us is None else time_text(at_us)[:19] + "Z"

    with opened(store) as log:
        keys = Keys(log).list()
    if as_json:
        click.echo(json.dumps({"keys": [key_document(key) for key in keys]}, indent=2))
        return
    if not keys:
        click.echo("no keys", err=True)
        return
    rows = [("name", "key", "scopes", "state", "expires", "last used")]
    rows += [
        (k.name, f"{k.hint}…", ",".join(k.scopes), state(k), when(k.expires_us), when(k.used_us))
        for k in keys
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip())
