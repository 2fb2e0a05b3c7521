"""`fault audit tail`: calls as they come."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import click

from faultkit.cli.audit.filters import filter_from, filter_options, opened
from faultkit.cli.store import kept_store_option

if TYPE_CHECKING:
    from faultkit.audit.row import AuditRow

_EVERY_S = 0.2


@click.command(epilog="For example: fault audit tail --failed --json")
@kept_store_option
@filter_options
@click.option(
    "--lines",
    "-n",
    "count",
    type=click.IntRange(0, 1000),
    default=10,
    show_default=True,
    help="To begin with, the last so many.",
)
@click.option("--json", "as_json", is_flag=True, help="As JSON lines.")
def command(store: str, count: int, as_json: bool, **options: Any) -> None:
    """Show the last calls that the filters let through, and then each as it is written, until you stop it."""
    from dataclasses import replace

    from faultkit.audit.row import row_document
    from faultkit.cli.audit.lines import line_of

    def show(row: AuditRow) -> None:
        click.echo(json.dumps(row_document(row), ensure_ascii=False) if as_json else line_of(row))

    wanted = filter_from(options)
    with opened(store) as log:
        seq = log.last_seq()
        latest = log.events(replace(wanted, limit=count)).rows if count else ()
        for row in sorted(latest, key=lambda row: row.seq):
            if row.seq <= seq:
                show(row)
        while True:
            newest = log.last_seq()
            page = log.after(seq, wanted)
            for row in page:
                show(row)
                seq = row.seq
            if not page:
                # What the filter held back need not be looked at again.
                seq = max(seq, newest)
                time.sleep(_EVERY_S)
