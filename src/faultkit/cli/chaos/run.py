"""`fault chaos run`: from a file or a name to a run, its live view, its reports and its exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from faultkit.base.errors import FaultkitError, InputError, RunError, TargetError
from faultkit.cli.chaos.options import ROLLBACK_FAILED, ChaosOptions, chaos_options, settings_of
from faultkit.cli.chaos.stopping import Stopping

if TYPE_CHECKING:
    from faultkit.chaos.catalog import Day
    from faultkit.chaos.experiment.journal import Event
    from faultkit.chaos.report.model import ChaosReport
    from faultkit.chaos.running import Finished
    from faultkit.chaos.session import ChaosSession, ChaosSettings

_EPILOG = """\b
Exit codes:
  0    the steady state held
  1    it deviated
  2    the experiment or a flag is wrong: nothing was begun
  3    the steady state was not there to begin with: nothing was begun
  4    aborted: stopped, out of time, or an action failed
  5    a rollback failed: something is still broken
  130  Ctrl-C, 143 SIGTERM: rolled back first
A game day ends with the gravest of its codes.

\b
Examples:
  fault chaos run chaos/kill-cache.yaml --dry-run
  fault chaos run kill-cache --report report.html --report junit.xml
  fault chaos run kill-cache slow-database --together
"""


@click.command("run", epilog=_EPILOG)
@click.argument("which", nargs=-1, required=True, metavar="FILE|NAME...")
@click.option("--together", is_flag=True, help="Several experiments side by side, not one after the other.")
@click.option(
    "--dry-run", is_flag=True, help="Check the steady state once and show the plan; change nothing."
)
@click.option("--seed", metavar="TEXT", help="In place of the experiment's own seed.")
@click.option("--json", "as_json", is_flag=True, help="The journal as JSON on stdout, and nothing else.")
@click.option("--journal", metavar="FILE", help="Write the journal there, as JSON.")
@click.option(
    "-r",
    "--report",
    "reports",
    multiple=True,
    metavar="FILE",
    help="Write a report, by extension: .md .html .json .xml (JUnit) .txt. Repeatable.",
)
@click.option("--no-ui", is_flag=True, help="No live view, also on a terminal.")
@chaos_options
@click.pass_context
def command(
    ctx: click.Context,
    which: tuple[str, ...],
    together: bool,
    dry_run: bool,
    seed: str | None,
    as_json: bool,
    journal: str | None,
    reports: tuple[str, ...],
    no_ui: bool,
    chaos: ChaosOptions,
) -> None:
    """Run an experiment: check the steady state, act, check again, and always roll back.

    It is named by its file, or by its name in the folder of experiments. Several of them, or a file with
    `gameday`, are a game day.
    """
    from faultkit.chaos.running import run_day

    paths = (*reports, *([journal] if journal else []))
    _check_paths(reports, journal)
    settings = settings_of(chaos, source="cli")
    day = _day(which, together, settings.experiments)
    with _session(settings) as session:
        session.check_lever()
        with Stopping() as stopping, _watching(no_ui or as_json) as watch:
            finished = run_day(
                session, day, stop=stopping.flag, on_event=watch, seed=_seed(seed), dry_run=dry_run
            )
    report = _report_of(finished)
    failures = [error for path in paths if (error := _try_to_write(report, finished, path)) is not None]
    click.echo(_shown(report, finished, as_json))
    for failure in failures:
        click.echo(f"error: {failure}", err=True)
    code = finished.game_day.exit_code
    if stopping.exit_code is not None and code != ROLLBACK_FAILED:
        code = stopping.exit_code
    ctx.exit(code or (RunError.exit_code if failures else 0))


def _day(which: tuple[str, ...], together: bool, folder: Path) -> Day:
    from faultkit.chaos.catalog import Day, find_runnable, refuse_repeats

    found = [find_runnable(each, folder, os.environ) for each in which]
    if len(found) == 1 and isinstance(found[0], Day):
        return replace(found[0], together=found[0].together or together)
    experiments = []
    for each, given in zip(found, which, strict=True):
        if isinstance(each, Day):
            raise InputError(given, "expected an experiment: a game day is run by itself")
        experiments.append(each)
    refuse_repeats(experiments)
    title = experiments[0].name if len(experiments) == 1 else "Game day"
    return Day(title, tuple(experiments), together)


def _session(settings: ChaosSettings) -> ChaosSession:
    """A store that cannot be had is a wrong flag here: 3 says that the gate was not met."""
    from faultkit.chaos.session import ChaosSession

    try:
        return ChaosSession(settings)
    except TargetError as error:
        raise InputError("--store", str(error)) from None


def _seed(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def _watching(quiet: bool) -> contextlib.AbstractContextManager[Callable[[str, Event], None]]:
    if quiet or not sys.stderr.isatty():
        return contextlib.nullcontext(lambda name, event: None)
    return _live()


@contextlib.contextmanager
def _live() -> Iterator[Callable[[str, Event], None]]:
    from faultkit.cli.chaos.view import View

    with View() as view:
        yield view.watch


def _report_of(finished: Finished) -> ChaosReport:
    from faultkit import __version__
    from faultkit.chaos.report.model import chaos_report

    planned = [each.name for each in finished.game_day.planned]
    return chaos_report(finished.game_day.title, finished.journals, f"faultkit {__version__}", planned)


def _shown(report: ChaosReport, finished: Finished, as_json: bool) -> str:
    from faultkit.chaos.report.renderers import journal_json
    from faultkit.chaos.report.text import render_chaos_text

    return journal_json(report, finished.journals).rstrip() if as_json else render_chaos_text(report)


def _check_paths(reports: tuple[str, ...], journal: str | None) -> None:
    """Before anything is begun."""
    from faultkit.chaos.report.renderers import EXTENSIONS
    from faultkit.scenario.report.files import check_report_path

    for path in reports:
        check_report_path(path, EXTENSIONS)
    if journal is not None:
        check_report_path(journal, (".json",))


def _try_to_write(report: ChaosReport, finished: Finished, path: str) -> FaultkitError | None:
    """A report that cannot be written must not cost the others, nor the result."""
    from faultkit.chaos.report.renderers import RENDERERS, journal_json
    from faultkit.scenario.report.files import write_whole

    extension = Path(path).suffix.lower()
    try:
        text = (
            journal_json(report, finished.journals) if extension == ".json" else RENDERERS[extension](report)
        )
        write_whole(path, text)
    except FaultkitError as error:
        return error
    return None
