"""`fault audit list`: calls, newest first."""

from __future__ import annotations

import json
from typing import Any

import click

from faultkit.cli.audit.filters import filter_from, filter_options, opened, page_options
from faultkit.cli.store import kept_store_option


@click.command(
    epilog="""\b
Examples:
  fault audit list --failed --from 15m
  fault audit list --tool flaky --param seed=abc --json
"""
)
@kept_store_option
@filter_options
@page_options
@click.option("--json", "as_json", is_flag=True, help="As JSON: events, total, limit, offset.")
def command(store: str, as_json: bool, **options: Any) -> None:
    """Show the calls that the filters let through, newest first."""
    from faultkit.audit.row import row_document
    from faultkit.cli.audit.lines import line_of

    wanted = filter_from(options)
    with opened(store) as log:
        page = log.events(wanted)
    if as_json:
        document = {
            "events": [row_document(row) for row in page.rows],
            "total": page.total,
            "limit": wanted.limit,
            "offset": wanted.offset,
        }
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    for row in page.rows:
        click.echo(line_of(row))
    shown = len(page.rows)
    if shown < page.total:
        click.echo(f"{shown} of {page.total} calls; --limit and --offset show others", err=True)
    elif not shown:
        click.echo("no calls", err=True)
