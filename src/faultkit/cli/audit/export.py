"""`fault audit export`: all calls, as JSON lines or CSV."""

from __future__ import annotations

import csv
import json
from typing import IO, Any

import click

from faultkit.cli.audit.filters import filter_from, filter_options, opened
from faultkit.cli.store import kept_store_option


@click.command(epilog="For example: fault audit export --format csv --output calls.csv --from 1d")
@kept_store_option
@filter_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv"]),
    default="jsonl",
    show_default=True,
    help="The form.",
)
@click.option(
    "--output",
    "-o",
    type=click.File("w", encoding="utf-8", lazy=True),
    default="-",
    metavar="PATH",
    help="The file to write to; - for stdout, which is the default.",
)
def command(store: str, form: str, output: IO[str], **options: Any) -> None:
    """Write the calls that the filters let through, in the order in which they were written."""
    from faultkit.audit.row import row_document
    from faultkit.audit.table import COLUMNS, cells_of

    wanted = filter_from(options)
    with opened(store) as log:
        if form == "jsonl":
            for row in log.all(wanted):
                output.write(json.dumps(row_document(row), ensure_ascii=False, separators=(",", ":")) + "\n")
            return
        table = csv.writer(output, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(cells_of(row) for row in log.all(wanted))
