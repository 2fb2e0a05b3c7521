"""`fault functions`, `fault index` and `fault search`: list the functions of a file; find code in a project.

The index takes long to import (`faultkit.code.index`), so only the commands that use it import it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from faultkit.base.errors import InputError
from faultkit.base.text import escaped_line
from faultkit.base.units import format_duration
from faultkit.cli.llm import LlmOptions, embed_options, embedding_settings_from
from faultkit.cli.shared_options import INDEX_DIR, LANGUAGE, json_option, language_given, print_json
from faultkit.code import Function, Syntax, find_function, list_functions, read_source
from faultkit.code.source_files import folder_of

if TYPE_CHECKING:
    from faultkit.code.index import Embedder, IndexSummary, SearchHit, SearchMode
    from faultkit.code.index import Progress as IndexProgress
    from faultkit.code.index.points import Manifest

SEARCH_MODES = ("hybrid", "dense", "lexical")
"""The modes of `faultkit.code.index`, repeated because that takes long to import; a test compares them."""
_MOST_SKIPPED_SHOWN = 5
_SHOWN_LINES = 3
_PHASES = {"scan": "scanning files", "index": "indexing"}


@click.command("functions", epilog="For example: fault functions app.py Store.save")
@click.argument("file")
@click.argument("name", required=False)
@click.option("--body", is_flag=True, help="Print the code of NAME without its signature.")
@LANGUAGE
@json_option()
def functions_command(file: str, name: str | None, body: bool, lang: str | None, as_json: bool) -> None:
    """List the functions of FILE, or print the code of the one called NAME.

    NAME may be the end of a longer name, and `name:12` is the function on line 12.
    """
    if body and name is None:
        raise InputError("--body", "expected the NAME of a function beside it, got nothing")
    source = read_source(file, language_given(lang))
    syntax = source.parse()
    functions = list_functions(syntax)
    if name is None:
        _print_functions(syntax, functions, as_json)
        return
    found = find_function(functions, name)
    if as_json:
        code = {"full": syntax.text(found.full), "body": syntax.text(found.body)}
        print_json(_function_document(syntax, found) | code)
    else:
        click.echo(syntax.text(found.body if body else found.full))


def _function_document(syntax: Syntax, function: Function) -> dict[str, Any]:
    """Return a function as a JSON document, with lines in place of offsets."""
    document = asdict(function)
    del document["full"], document["body"]
    return {**document, "language": syntax.language.name}


def _print_functions(syntax: Syntax, functions: tuple[Function, ...], as_json: bool) -> None:
    if as_json:
        print_json([_function_document(syntax, each) for each in functions])
        return
    rows = [(f"{each.start_line}-{each.end_line}", each.kind, each.qualified_name) for each in functions]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    # By hand, because `columns` does not align to the right.
    for lines, kind, name in rows:
        click.echo(f"{lines:>{widths[0]}}  {kind:<{widths[1]}}  {name}")
    if not functions:
        click.echo("no functions in it", err=True)
    if syntax.has_errors:
        broken = ", ".join(map(str, syntax.broken_lines()[:5]))
        title = syntax.language.title
        click.echo(f"warning: not all of it could be read as {title}: see line {broken}", err=True)


@click.command("index", epilog='For example: fault index . && fault search "retry with backoff"')
@click.argument("folder", metavar="DIR")
@click.option("--lang", metavar="NAME", help="Index only files of this language.")
@INDEX_DIR
@click.option("--rebuild", is_flag=True, help="Discard the existing index and build a new one.")
@embed_options
@json_option("Print the summary as JSON.")
def index_command(
    folder: str, lang: str | None, index_dir: str | None, rebuild: bool, llm: LlmOptions, as_json: bool
) -> None:
    """Index the code in DIR for `fault search`, or update its index.

    Only files that changed since the last run are read again. With QDRANT_URL (and QDRANT_API_KEY) set, the
    index is kept on that server. With --llm-embed-model, the code is sent to that provider to be embedded;
    otherwise nothing leaves this machine.
    """
    from faultkit.code.advice.project_context import embedder_of
    from faultkit.code.index import index_project, open_store
    from faultkit.llm.language_model import LanguageModel

    language = language_given(lang)
    root = folder_of(folder)
    with ExitStack() as stack:
        settings = embedding_settings_from(llm)
        embedder = embedder_of(None if settings is None else stack.enter_context(LanguageModel(settings)))
        store = stack.enter_context(open_store(root, write=True, index_dir=index_dir))
        progress = stack.enter_context(_progress_bar())
        summary = index_project(root, language, store, embedder, progress, rebuild=rebuild)
    if as_json:
        print_json(asdict(summary))
    else:
        _print_summary(summary)


def _print_summary(summary: IndexSummary) -> None:
    size = "" if summary.size_bytes is None else f", {summary.size_bytes / 1e6:.1f} MB"
    took = format_duration(round(summary.seconds, 2))
    click.echo(
        f"{summary.files} files with {summary.chunks} chunks{size}: {summary.indexed} indexed, "
        f"{summary.unchanged} unchanged, {summary.removed} removed, in {took}"
    )
    click.echo(summary.place)
    for each in summary.skipped[:_MOST_SKIPPED_SHOWN]:
        click.echo(f"skipped {escaped_line(each.path)}: {each.why}", err=True)
    if len(summary.skipped) > _MOST_SKIPPED_SHOWN:
        click.echo(f"skipped {len(summary.skipped) - _MOST_SKIPPED_SHOWN} more (all with --json)", err=True)


def _progress_bar() -> AbstractContextManager[Callable[[IndexProgress], None] | None]:
    """Return a context manager that shows a bar if stderr is a terminal, and otherwise nothing."""
    return _Bar() if sys.stderr.isatty() else nullcontext()


class _Bar:
    """A progress bar on stderr."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(_PHASES["scan"], total=None)

    def __enter__(self) -> Callable[[IndexProgress], None]:
        self._bar.start()
        return self._watch

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def _watch(self, progress: IndexProgress) -> None:
        self._bar.update(
            self._task,
            description=_PHASES[progress.phase],
            completed=progress.done,
            total=progress.of or None,
        )


@click.command("search", epilog='For example: fault search "retry with backoff" src --limit 5')
@click.argument("query")
@click.argument("folder", metavar="[DIR]", default=".")
@click.option("--limit", type=int, default=10, show_default=True, help="Most hits to show.")
@click.option(
    "--mode",
    type=click.Choice(SEARCH_MODES),
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
    mode: SearchMode,
    index_dir: str | None,
    llm: LlmOptions,
    as_json: bool,
) -> None:
    """Search the index of DIR, which `fault index DIR` creates, for code that QUERY describes.

    QUERY is embedded by the same model as the code: if that was a provider's, QUERY is sent there, unless
    the mode is lexical.
    """
    from faultkit.base.installation import require_extra
    from faultkit.code.index import open_store, search

    # Before a missing index is noticed, which could not be made either.
    require_extra("index", "fault search")
    with ExitStack() as stack:
        store = stack.enter_context(open_store(folder_of(folder), write=False, index_dir=index_dir))
        manifest = store.manifest()
        assert manifest is not None, "a store that is opened to read has an index"
        hits = search(store, _search_embedder(manifest, llm, mode, stack), query, limit, mode)
    if not manifest.complete:
        click.echo("warning: the last `fault index` did not finish: run it again", err=True)
    if as_json:
        print_json([asdict(hit) for hit in hits])
        return
    for hit in hits:
        _print_hit(hit)
    if not hits:
        click.echo("nothing found", err=True)


def _search_embedder(manifest: Manifest, options: LlmOptions, mode: SearchMode, stack: ExitStack) -> Embedder:
    """Return an embedder that fits the index; `stack` closes its model."""
    from faultkit.code.advice.project_context import embedder_of, settings_for, words_only_embedder
    from faultkit.llm.language_model import LanguageModel

    if mode == "lexical":
        return words_only_embedder(manifest)
    settings = settings_for(manifest, embedding_settings_from(options), os.environ)
    return embedder_of(None if settings is None else stack.enter_context(LanguageModel(settings)))


def _print_hit(hit: SearchHit) -> None:
    click.echo(f"{escaped_line(hit.path)}:{hit.start_line}-{hit.end_line}  {hit.name or '(module)'}")
    lines = [line for line in hit.snippet.splitlines() if line.strip()]
    for line in lines[:_SHOWN_LINES]:
        click.echo(f"    {line[:100]}")
