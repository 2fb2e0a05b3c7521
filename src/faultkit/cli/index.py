"""`fault index`: make or bring up to date the index of a project's code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict
from types import TracebackType

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from faultkit.base.units import format_duration
from faultkit.cli.llm import LlmOptions, embed_options, embedding_settings_from
from faultkit.code import language_named
from faultkit.code.index import Embedder, IndexSummary, index_project, open_store
from faultkit.code.index import Progress as Step
from faultkit.code.shown import one_line
from faultkit.code.walk import folder_of

_MOST_SKIPPED_SHOWN = 5
_PHASES = {"scan": "looking at files", "index": "indexing"}


@click.command(epilog='For example: fault index . && fault search "retry with backoff"')
@click.argument("folder", metavar="DIR")
@click.option("--lang", metavar="NAME", help="Only files of this language.")
@click.option(
    "--index-dir",
    metavar="PATH",
    envvar="FAULT_INDEX_DIR",
    help="Where indexes are kept, if not in the user's cache folder.",
)
@click.option("--rebuild", is_flag=True, help="Forget what is there and make it anew.")
@embed_options
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON.")
def command(
    folder: str, lang: str | None, index_dir: str | None, rebuild: bool, llm: LlmOptions, as_json: bool
) -> None:
    """Make the code in DIR searchable, or bring its index up to date.

    Only files that changed since the last time are read again. With QDRANT_URL (and QDRANT_API_KEY) set, the
    index is kept on that server. With --llm-embed-model, the code is sent to that provider to be embedded;
    otherwise nothing leaves this machine.
    """
    language = None if lang is None else language_named(lang)
    root = folder_of(folder)
    with ExitStack() as stack:
        embedder = _embedder(llm, stack)
        store = stack.enter_context(open_store(root, write=True, index_dir=index_dir))
        progress = stack.enter_context(shown_progress())
        summary = index_project(root, language, store, embedder, progress, rebuild=rebuild)
    if as_json:
        click.echo(json.dumps(asdict(summary), indent=2, ensure_ascii=False))
    else:
        _print(summary)


def _embedder(options: LlmOptions, stack: ExitStack) -> Embedder:
    settings = embedding_settings_from(options)
    from faultkit.code.advice.embedding import embedder_of
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
        click.echo(f"skipped {one_line(each.path)}: {each.why}", err=True)
    if len(summary.skipped) > _MOST_SKIPPED_SHOWN:
        click.echo(f"skipped {len(summary.skipped) - _MOST_SKIPPED_SHOWN} more (all with --json)", err=True)


def shown_progress() -> AbstractContextManager[Callable[[Step], None] | None]:
    """A bar on a terminal; nothing where nobody looks."""
    return _Bar() if sys.stderr.isatty() else nullcontext()


class _Bar:
    def __init__(self, console: Console | None = None) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console or Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(_PHASES["scan"], total=None)

    def __enter__(self) -> Callable[[Step], None]:
        self._bar.start()
        return self._watch

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def _watch(self, step: Step) -> None:
        self._bar.update(
            self._task, description=_PHASES[step.phase], completed=step.done, total=step.of or None
        )
