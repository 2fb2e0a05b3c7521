"""`fault chaos run`: runs experiments with a live view, writes reports, and exits with the result."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faultkit.base.documents.values import seed_of_text
from faultkit.base.errors import FaultkitError, InputError, RunError, TargetError
from faultkit.base.signals import StopSignal
from faultkit.cli.chaos_options import ROLLBACK_FAILED, ChaosOptions, chaos_options, chaos_settings
from faultkit.cli.shared_options import json_option, seed_option
from faultkit.cli.toolkit_flags import toolkit_options, with_toolkit_flags

if TYPE_CHECKING:
    from faultkit.chaos.experiment.experiment_file import GameDayFile
    from faultkit.chaos.experiment.experiment_model import Event
    from faultkit.chaos.game_day import GameDayRun
    from faultkit.chaos.report.journal_report import ChaosReport
    from faultkit.chaos.session import ChaosSession, ChaosSettings

_EPILOG = """\b
Exit codes:
  0    the steady state held
  1    it deviated
  2    the experiment or a flag is wrong: nothing was started
  3    the steady state did not hold at the start: nothing was started
  4    aborted: stopped, out of time, or an action failed
  5    a rollback failed: something is still broken
  6    nothing is proven: it held, but a fault touched nothing; or in a Chaos
       Toolkit file no action worked, there is no hypothesis after the method, or
       a part is left out (--dry)
  130  Ctrl-C, 143 SIGTERM: rolled back first
A game day exits with the most severe of its codes.

\b
Examples:
  fault chaos run chaos/kill-cache.yaml --dry-run
  fault chaos run kill-cache --report report.html --report junit.xml
  fault chaos run kill-cache slow-database --together
"""


@click.command("run", epilog=_EPILOG)
@click.argument("which", nargs=-1, required=True, metavar="FILE|NAME...")
@click.option("--together", is_flag=True, help="Run several experiments at the same time.")
@click.option(
    "--dry-run", is_flag=True, help="Check the steady state once and show the plan; change nothing."
)
@seed_option("Seed to use in place of the experiment's own.")
@json_option("Print only the journal, as JSON.")
@click.option("--journal", metavar="FILE", help="Write the journal to FILE, as JSON.")
@click.option(
    "-r",
    "--report",
    "reports",
    multiple=True,
    metavar="FILE",
    help="Write a report; the extension is its format: .md .html .json .xml (JUnit) .txt. Repeatable.",
)
@click.option("--no-ui", is_flag=True, help="Show no live view on a terminal.")
@toolkit_options
@chaos_options
@click.pass_context
def run_command(
    ctx: click.Context,
    which: tuple[str, ...],
    together: bool,
    dry_run: bool,
    seed: str | None,
    as_json: bool,
    journal: str | None,
    reports: tuple[str, ...],
    no_ui: bool,
    toolkit: dict[str, Any],
    chaos: ChaosOptions,
) -> None:
    """Run an experiment: check the steady state, act, check again, and always roll back.

    Name it by its file, or by its name in the folder of experiments. Several experiments, or a file with
    `gameday`, form a game day.
    """
    from faultkit.chaos.game_day import run_game_day
    from faultkit.chaos.report.experiment_formats import journal_json, render_chaos_text
    from faultkit.chaos.runner import require_library

    paths = (*reports, *([journal] if journal else []))
    _check_paths(reports, journal)
    settings = chaos_settings(chaos, source="cli")
    _check_apart(paths, which, settings.experiments)
    day = _game_day(which, together, settings.experiments)
    day = replace(day, experiments=with_toolkit_flags(day.experiments, toolkit))
    for experiment in day.experiments:
        require_library(experiment)
    with _open_session(settings) as session:
        session.check_switch()
        stop = threading.Event()
        run_seed = None if seed is None else seed_of_text(seed)
        with _stop_signal(stop) as signals, _live_view(no_ui or as_json) as on_event:
            finished = run_game_day(
                session, day, stop=stop, on_event=on_event, seed=run_seed, dry_run=dry_run
            )
    report = _report_of(finished)
    failures = [error for path in paths if (error := _try_to_write(report, finished, path)) is not None]
    if as_json:
        click.echo(journal_json(report, finished.journals).rstrip())
    else:
        click.echo(render_chaos_text(report))
    for failure in failures:
        click.echo(f"error: {failure}", err=True)
    code = finished.game_day.exit_code
    if signals.exit_code is not None and code != ROLLBACK_FAILED:
        code = signals.exit_code
    ctx.exit(code or (RunError.exit_code if failures else 0))


def _game_day(which: tuple[str, ...], together: bool, folder: Path) -> GameDayFile:
    """Return the game day that the arguments name: that of a file, or one of single experiments."""
    from faultkit.chaos.experiment.experiment_file import GameDayFile, find_runnable, refuse_repeats

    runnables = [find_runnable(name, folder, os.environ) for name in which]
    if len(runnables) == 1 and isinstance(runnables[0], GameDayFile):
        return replace(runnables[0], together=runnables[0].together or together)
    experiments = []
    for runnable, name in zip(runnables, which, strict=True):
        if isinstance(runnable, GameDayFile):
            raise InputError(name, "expected an experiment: a game day cannot run with others")
        experiments.append(runnable)
    refuse_repeats(experiments)
    title = experiments[0].name if len(experiments) == 1 else "Game day"
    return GameDayFile(title, tuple(experiments), together)


def _open_session(settings: ChaosSettings) -> ChaosSession:
    """Open a session; a store that cannot be opened is wrong input, because 3 means an unmet steady state."""
    from faultkit.chaos.session import ChaosSession

    try:
        return ChaosSession(settings)
    except TargetError as error:
        raise InputError("--store", str(error)) from None


def _stop_signal(stop: threading.Event) -> StopSignal:
    """Stop and roll back at the first signal, and ignore further ones.

    Rollbacks have time limits of their own, and to leave them to the guardian would take longer."""

    def first() -> None:
        stop.set()
        click.echo("stopping: rolling back", err=True)

    return StopSignal(first, lambda: click.echo("rolling back: please wait", err=True))


@contextlib.contextmanager
def _live_view(quiet: bool) -> Iterator[Callable[[str, Event], None]]:
    """Yield a function that receives events, and shows them if stderr is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda name, event: None
        return
    from faultkit.cli.chaos_view import ExperimentView

    with ExperimentView() as view:
        yield view.watch


def _report_of(finished: GameDayRun) -> ChaosReport:
    from faultkit import __version__
    from faultkit.chaos.report.journal_report import chaos_report

    planned = [each.name for each in finished.game_day.planned]
    return chaos_report(finished.game_day.title, finished.journals, f"faultkit {__version__}", planned)


def _check_paths(reports: tuple[str, ...], journal: str | None) -> None:
    """Raise InputError for an output path that cannot be written, before anything starts."""
    from faultkit.base.files import check_output_path
    from faultkit.chaos.report.experiment_formats import EXTENSIONS

    for path in reports:
        check_output_path(path, EXTENSIONS)
    if journal is not None:
        check_output_path(journal, (".json",))


def _check_apart(outputs: tuple[str, ...], which: tuple[str, ...], folder: Path) -> None:
    """Raise InputError for an output that would replace an experiment that is named, or another output."""
    from faultkit.base.files import check_outputs_apart
    from faultkit.chaos.experiment.experiment_file import files_of

    check_outputs_apart(outputs, (*which, *(file for file in files_of(folder) if file.stem in which)))


def _try_to_write(report: ChaosReport, finished: GameDayRun, path: str) -> FaultkitError | None:
    """Write one report and return its error, if any: the others, and the result, must not be lost with it."""
    from faultkit.base.files import write_output
    from faultkit.chaos.report.experiment_formats import RENDERERS, journal_json

    extension = Path(path).suffix.lower()
    try:
        text = (
            journal_json(report, finished.journals) if extension == ".json" else RENDERERS[extension](report)
        )
        # A journal holds the experiment as it is written, with the values of headers and variables.
        write_output(path, text, private=extension == ".json")
    except FaultkitError as error:
        return error
    return None
