"""`fault audit stats`: counts, errors and times by tool."""

from __future__ import annotations

import json
from typing import Any

import click

from faultkit.cli.audit.filters import filter_from, filter_options, opened
from faultkit.cli.store import kept_store_option


@click.command(epilog="For example: fault audit stats --from 1h")
@kept_store_option
@filter_options
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(store: str, as_json: bool, **options: Any) -> None:
    """Count the calls and errors that the filters let through, and say how long they took, by tool."""
    from faultkit.audit.figures import stats_of
    from faultkit.base.times import time_text
    from faultkit.cli.audit.lines import printable

    wanted = filter_from(options)
    with opened(store) as log:
        stats = stats_of(log, wanted)
    if as_json:
        document = {
            **stats.all.document(),
            "calls_per_s": stats.calls_per_s,
            "refusals": stats.refusals,
            "first": None if stats.first_us is None else time_text(stats.first_us),
            "last": None if stats.last_us is None else time_text(stats.last_us),
            "tools": {each.key: each.document() for each in stats.tools},
        }
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    click.echo(f"{'tool':<16}{'calls':>9}{'errors':>9}{'rate':>8}{'p50 ms':>12}{'p95 ms':>12}{'p99 ms':>12}")
    for each in (*stats.tools, stats.all):
        click.echo(
            printable(
                f"{each.key[:15] or ('(no name)' if each is not stats.all else 'all'):<16}"
                f"{each.calls:>9}{each.errors:>9}{each.error_rate:>8.1%}"
                f"{each.p50_ms:>12.3f}{each.p95_ms:>12.3f}{each.p99_ms:>12.3f}"
            )
        )
    click.echo(f"{stats.calls_per_s:.1f} calls/s")
    if stats.refusals:
        click.echo(f"{stats.refusals} refused, and in none of these figures")
