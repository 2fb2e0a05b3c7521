"""`fault index`: create or update the index of a project's code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict
from types import TracebackType

import click

from faultkit.base.text import escaped_line
from faultkit.base.units import format_duration
from faultkit.cli.llm import LlmOptions, embed_options, embedding_settings_from
from faultkit.cli.shared_options import INDEX_DIR, json_option, print_json
from faultkit.code import language_named
from faultkit.code.index import Embedder, IndexSummary, index_project, open_store
from faultkit.code.index import Progress as IndexProgress
from faultkit.code.walk import folder_of

_MOST_SKIPPED_SHOWN = 5
_PHASES = {"scan": "scanning files", "index": "indexing"}


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
    language = None if lang is None else language_named(lang)
    root = folder_of(folder)
    with ExitStack() as stack:
        embedder = _embedder(llm, stack)
        store = stack.enter_context(open_store(root, write=True, index_dir=index_dir))
        progress = stack.enter_context(progress_bar())
        summary = index_project(root, language, store, embedder, progress, rebuild=rebuild)
    if as_json:
        print_json(asdict(summary))
    else:
        _print(summary)


def _embedder(options: LlmOptions, stack: ExitStack) -> Embedder:
    settings = embedding_settings_from(options)
    from faultkit.code.advice.project_context import embedder_of
    from faultkit.llm.ask import Model

    return embedder_of(None if settings is None else stack.enter_context(Model(settings)))


def _print(summary: IndexSummary) -> None:
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


def progress_bar() -> AbstractContextManager[Callable[[IndexProgress], None] | None]:
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
