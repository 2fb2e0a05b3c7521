"""`fault search`: find code in a project's index."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from faultkit.source.index import MODES, Hit, Mode, WordEmbedder, open_store, search
from faultkit.source.walk import folder_of

_SHOWN_LINES = 3


@click.command(epilog='For example: fault search "retry with backoff" src --limit 5')
@click.argument("query")
@click.argument("folder", metavar="[DIR]", default=".")
@click.option("--limit", type=int, default=10, show_default=True, help="How many hits at most.")
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="hybrid",
    show_default=True,
    help="By meaning (dense), by words (lexical), or by both.",
)
@click.option(
    "--index-dir",
    metavar="PATH",
    envvar="FAULT_INDEX_DIR",
    help="Where indexes are kept, if not in the user's cache folder.",
)
@click.option("--json", "as_json", is_flag=True, help="As JSON, with the whole text of each hit.")
def command(query: str, folder: str, limit: int, mode: Mode, index_dir: str | None, as_json: bool) -> None:
    """Find code that QUERY describes in the index of DIR, which `fault index DIR` has made."""
    with open_store(folder_of(folder), write=False, index_dir=index_dir) as store:
        manifest = store.manifest()
        hits = search(store, WordEmbedder(), query, limit, mode)
    if manifest is not None and not manifest.complete:
        click.echo("warning: the last `fault index` did not get to its end: run it again", err=True)
    if as_json:
        click.echo(json.dumps([asdict(hit) for hit in hits], indent=2, ensure_ascii=False))
        return
    for hit in hits:
        _print(hit)
    if not hits:
        click.echo("nothing found", err=True)


def _print(hit: Hit) -> None:
    click.echo(f"{hit.path}:{hit.start_line}-{hit.end_line}  {hit.name or '(module)'}")
    lines = [line for line in hit.snippet.splitlines() if line.strip()]
    for line in lines[:_SHOWN_LINES]:
        click.echo(f"    {line[:100]}")
