"""`fault search`: find code in a project's index."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import asdict

import click

from faultkit.base.text import escaped_line
from faultkit.cli.llm import LlmOptions, embed_options, embedding_settings_from
from faultkit.cli.shared_options import INDEX_DIR, json_option, print_json
from faultkit.code.index import MODES, Embedder, Hit, Mode, open_store, search
from faultkit.code.index.points import Manifest
from faultkit.code.walk import folder_of

_SHOWN_LINES = 3


@click.command("search", epilog='For example: fault search "retry with backoff" src --limit 5')
@click.argument("query")
@click.argument("folder", metavar="[DIR]", default=".")
@click.option("--limit", type=int, default=10, show_default=True, help="Most hits to show.")
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="hybrid",
    show_default=True,
    help="Search by meaning (dense), by words (lexical), or by both (hybrid).",
)
@INDEX_DIR
@embed_options
@json_option("Print JSON, with the whole text of each hit.")
def search_command(
    query: str,
    folder: str,
    limit: int,
    mode: Mode,
    index_dir: str | None,
    llm: LlmOptions,
    as_json: bool,
) -> None:
    """Search the index of DIR, which `fault index DIR` creates, for code that QUERY describes.

    QUERY is embedded by the same model as the code: if that was a provider's, QUERY is sent there, unless
    the mode is lexical.
    """
    with ExitStack() as stack:
        store = stack.enter_context(open_store(folder_of(folder), write=False, index_dir=index_dir))
        manifest = store.manifest()
        assert manifest is not None, "a store that is opened to read has an index"
        hits = search(store, _embedder(manifest, llm, mode, stack), query, limit, mode)
    if not manifest.complete:
        click.echo("warning: the last `fault index` did not finish: run it again", err=True)
    if as_json:
        print_json([asdict(hit) for hit in hits])
        return
    for hit in hits:
        _print(hit)
    if not hits:
        click.echo("nothing found", err=True)


def _embedder(manifest: Manifest, options: LlmOptions, mode: Mode, stack: ExitStack) -> Embedder:
    from faultkit.code.advice.project_context import embedder_of, no_embedder, settings_for
    from faultkit.llm.ask import Model

    if mode == "lexical":
        return no_embedder(manifest)
    settings = settings_for(manifest, embedding_settings_from(options), os.environ)
    return embedder_of(None if settings is None else stack.enter_context(Model(settings)))


def _print(hit: Hit) -> None:
    click.echo(f"{escaped_line(hit.path)}:{hit.start_line}-{hit.end_line}  {hit.name or '(module)'}")
    lines = [line for line in hit.snippet.splitlines() if line.strip()]
    for line in lines[:_SHOWN_LINES]:
        click.echo(f"    {line[:100]}")
