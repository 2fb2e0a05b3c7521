"""`fault scenario run`: runs scenarios with a live view, writes the reports, and exits with the verdict."""

from __future__ import annotations

import secrets
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from faultkit.base.address import parse_endpoint
from faultkit.base.errors import FaultkitError, InputError
from faultkit.base.signals import StopSignal
from faultkit.base.units import format_duration
from faultkit.cli.place_options import place_of, place_options
from faultkit.cli.scenario import scenario_path_options, scenario_paths
from faultkit.cli.shared_options import F, add_options, json_option, seed_option, trust_options, verify_of
from faultkit.load.slo import Slo, parse_slo
from faultkit.scenario.report.report_model import Report
from faultkit.scenario.report.scenario_text import item_line
from faultkit.scenario.run_events import (
    FrontierProgress,
    ItemBegan,
    ItemEnded,
    RunEvent,
    SearchProgress,
)
from faultkit.scenario.scenario_model import Scenario

if TYPE_CHECKING:
    from faultkit.scenario.control_api import ControlApi
    from faultkit.scenario.scenario_run import RunOutcome

_HELD, _MISSED, _PROVES_NOTHING = 0, 1, 6

_EPILOG = """\b
Exit codes:
  0  every item was run and every expectation held
  1  an expectation or a gated SLO was missed
  2  wrong input: nothing was run
  3  a target could not be reached, or a port was taken
  4  the run could not be finished
  6  nothing was missed, but a result proves nothing: it is inconclusive, or a
     fault never acted
  130, 143, 129  ended by Ctrl-C, by SIGTERM and by SIGHUP; what was measured
     is reported, marked as partial

\b
Examples:
  fault scenario run -s scenarios/
  fault scenario run slow.yaml --report report.html --report junit.xml
  fault scenario run slow.yaml --slo latency:95:300ms --slo error:99:1% --seed 7
  fault scenario run heavy.yaml --on dask://10.0.0.5:8786 --proxy-address 10.0.0.9:3180
  fault scenario run slow.yaml --proxy-at http://127.0.0.1:7900
  fault scenario run heavy.yaml --on kubernetes:8 --proxy-address 10.0.0.9:3180 --dry-run
"""


def remote_proxy_options(command: F) -> F:
    """Add the flags of a proxy that runs elsewhere; see `_control`."""
    return add_options(
        command,
        click.option(
            "--proxy-at",
            metavar="URL",
            help="Inject the faults in the proxies of a running `fault run --control` at this URL, in place "
            "of what the scenarios say. Its lease ends with this command, also if this is killed.",
        ),
        click.option(
            "--proxy-token-env",
            metavar="NAME",
            help="Variable that holds the token of --proxy-at; by default FAULT_CONTROL_TOKEN.",
        ),
        click.option(
            "--proxy-ca", metavar="FILE", help="Authorities of the certificate of --proxy-at (PEM)."
        ),
        click.option(
            "--proxy-cert",
            metavar="FILE",
            help="Certificate of this client for --proxy-at (PEM).",
        ),
        click.option("--proxy-key", metavar="FILE", help="Private key of --proxy-cert (PEM)."),
    )


@click.command("run", epilog=_EPILOG)
@scenario_path_options
@click.option(
    "-r",
    "--report",
    "reports",
    multiple=True,
    metavar="PATH",
    default=("report.md",),
    show_default=True,
    envvar="FAULT_SCENARIO_REPORT_PATH",
    help="Where to write a report, by extension: .md .html .json .yaml .xml (JUnit) .txt. Repeatable.",
)
@click.option(
    "--result",
    metavar="PATH",
    default="results.json",
    show_default=True,
    envvar="FAULT_SCENARIO_RESULTS_PATH",
    help="Where to write the results as data (.json or .yaml); `fault scenario review` reads it.",
)
@click.option("--no-baseline", is_flag=True, help="Do not run each load without its faults first.")
@click.option(
    "--slo",
    "slos",
    multiple=True,
    metavar="SLO",
    help='Further objective of every item: "latency:95:200ms", "error:99:1%" or "availability:99.9:500ms"; '
    'of event streams also "first_event:95:300ms", "gap:99:1s" and "early_end:99:1%", of MCP tools '
    '"tool_error:99:1%", of models "time_to_first_token:95:2s", "token_gap:99:500ms", '
    '"tokens_per_second:95:30" and "refusal:99:1%"; with "@5s" in each window of 5 s. An item that '
    "misses it fails. Repeatable.",
)
@click.option(
    "--retry-inconclusive",
    "retries",
    type=click.IntRange(0, 100),
    default=0,
    metavar="N",
    help="Run an item that is inconclusive up to N more times, with the same seed. A failed item is never "
    "run again.",
)
@place_options("Where loads are sent from, by default local:1")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    help="Number of processes that send the load: the same as --on local:N.",
)
@seed_option(
    "Seed of all random choices: the same seed gives the same faults; by default a random one.",
    variable="FAULT_SEED",
)
@click.option(
    "--proxy-address",
    metavar="HOST:PORT",
    envvar="FAULT_HTTP_PROXY_ADDRESS",
    help="Address of the proxy that calls go through; by default a free port, or 127.0.0.1:3180 if upstreams "
    "name hosts other than the call's.",
)
@remote_proxy_options
@trust_options
@click.option("--no-ui", is_flag=True, envvar="FAULT_PROXY_NO_UI", help="Show no live view on a terminal.")
@json_option("Print the results as JSON.")
@click.pass_context
def run_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    scenarios: tuple[str, ...],
    reports: tuple[str, ...],
    result: str,
    no_baseline: bool,
    slos: tuple[str, ...],
    retries: int,
    place: str | None,
    workers: int | None,
    pods: str | None,
    dry_run: bool,
    seed: str | None,
    proxy_address: str | None,
    proxy_at: str | None,
    proxy_token_env: str | None,
    proxy_ca: str | None,
    proxy_cert: str | None,
    proxy_key: str | None,
    insecure: bool,
    cacert: str | None,
    no_ui: bool,
    as_json: bool,
) -> None:
    """Send load to a service while its network is broken, and report the results.

    Each load runs twice, without and with its faults; the report shows the difference.
    """
    from faultkit.base.files import check_output_path, check_outputs_apart
    from faultkit.load.place_names import open_place
    from faultkit.scenario.report.report_files import RENDERERS, RESULT_EXTENSIONS
    from faultkit.scenario.scenario_run import RunSettings, check_place, run_scenarios

    for path in reports:
        check_output_path(path, RENDERERS)
    check_output_path(result, RESULT_EXTENSIONS)
    outputs = [Path(path) for path in (*reports, result)]
    check_outputs_apart(outputs)
    if proxy_address is not None and proxy_at is not None:
        expected = f"none beside --proxy-at {proxy_at}, whose proxies are open already"
        raise InputError("--proxy-address", f"expected {expected}, got {proxy_address}")
    where = place_of(place, pods, dry_run, workers)
    settings = RunSettings(
        seed=secrets.randbelow(2**32) if seed is None else seed,
        baseline=not no_baseline,
        listen=None if proxy_address is None else parse_endpoint(proxy_address, path="--proxy-address"),
        verify=verify_of(insecure, cacert),
        slos=parse_slos(slos),
        retries=retries,
        control=_control(
            {
                "at": proxy_at,
                "token_env": proxy_token_env,
                "ca": proxy_ca,
                "cert": proxy_cert,
                "key": proxy_key,
            }
        ),
    )
    loaded = load_scenarios(ctx, scenario_paths(paths, scenarios))
    check_outputs_apart(outputs, (each.file for each in loaded if each.file))
    if not where.is_local:
        check_place(loaded)
    if dry_run:
        from faultkit.scenario.cluster_jobs import check_reach, jobs_as_yaml

        check_reach(loaded, settings.listen, settings.control)
        click.echo(jobs_as_yaml(loaded, where.pods, where.size), nl=False)
        return
    stop = threading.Event()
    watcher = watcher_of(no_ui or as_json)
    with StopSignal(stop.set) as signals:
        with open_place(where) as opened, watcher:
            outcome = run_scenarios(
                loaded, replace(settings, on=opened, place=str(where)), watcher.watch, stop
            )
        failures = {path: error for path in outputs if (error := try_to_write(outcome.report, path))}
    show_outcome(outcome, outputs, failures, as_json)
    ctx.exit(signals.exit_code or exit_code_of(outcome, failures))


def show_outcome(
    outcome: RunOutcome, outputs: Sequence[Path], failures: Mapping[Path, FaultkitError], as_json: bool
) -> None:
    """Print the report, which files were written, and what went wrong."""
    from faultkit.scenario.report.results_document import to_json
    from faultkit.scenario.report.scenario_text import render_text

    click.echo(to_json(outcome.report) if as_json else render_text(outcome.report, _page_width()))
    if not as_json:
        written = [str(path) for path in outputs if path not in failures]
        click.echo(f"written: {', '.join(written) or 'nothing'}", err=True)
    for failure in failures.values():
        click.echo(f"error: {failure}", err=True)
    if not failures and outcome.trouble is not None:
        click.echo(f"error: {outcome.trouble}", err=True)


def exit_code_of(outcome: RunOutcome, failures: Mapping[Path, FaultkitError]) -> int:
    """Return the exit code of a run that was not ended by a signal."""
    if failures:
        return next(iter(failures.values())).exit_code
    if outcome.trouble is not None:
        return outcome.trouble.exit_code
    report = outcome.report
    if report.all_passed:
        return _HELD
    return _MISSED if any(item.verdict == "failed" for item in report.items) else _PROVES_NOTHING


def load_scenarios(ctx: click.Context, paths: tuple[str, ...]) -> list[Scenario]:
    """Load all scenarios; print every mistake and exit if there are any."""
    from faultkit.scenario.scenario_file import read_scenario_files

    read = [read_scenario_files(path) for path in paths]
    problems = [problem for _, found in read for problem in found]
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    if problems:
        ctx.exit(InputError.exit_code)
    return [scenario for scenarios, _ in read for scenario in scenarios]


def _control(given: Mapping[str, str | None]) -> ControlApi | None:
    """Return the control API of --proxy-at; None if it is absent. Raises InputError that names a flag."""
    from faultkit.base.documents.mapping_reader import MappingReader
    from faultkit.scenario.control_api import CONTROL_API, parse_control_api
    from faultkit.scenario.remote_planes import FLAGS

    present = {name: value for name, value in given.items() if value is not None}
    if present and "at" not in present:
        raise InputError(FLAGS[next(iter(present))], "expected --proxy-at beside it, got none")
    try:
        return parse_control_api(MappingReader(present, CONTROL_API)) if present else None
    except InputError as error:
        raise error.at(FLAGS[error.path]) from None


def parse_slos(texts: tuple[str, ...]) -> tuple[Slo, ...]:
    """Return the objectives of --slo."""
    try:
        return tuple(parse_slo(text) for text in texts)
    except ValueError as error:
        raise InputError("--slo", str(error)) from None


def watcher_of(quiet: bool) -> Watcher:
    """Return what shows the run: nothing, lines, or a live view on a terminal."""
    if quiet or not sys.stderr.isatty():
        return SilentWatcher() if quiet else LineWatcher()
    from faultkit.cli.scenario_view import ScenarioView

    return ScenarioView()


def _page_width() -> int:
    """Return the width of the terminal, but at most that of a page."""
    from faultkit.scenario.report.scenario_text import WIDTH

    return min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)


def try_to_write(report: Report, path: Path) -> FaultkitError | None:
    """Write a report and return the error, if any, so that the other reports are still written."""
    from faultkit.scenario.report.report_files import write_report

    try:
        write_report(report, path)
    except FaultkitError as error:
        return error
    return None


class Watcher(Protocol):
    """A context manager that receives the events of a run."""

    def __enter__(self) -> Watcher: ...

    def __exit__(self, *exc: object) -> None: ...

    def watch(self, event: RunEvent) -> None: ...


class SilentWatcher:
    """A watcher that shows nothing."""

    def __enter__(self) -> SilentWatcher:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def watch(self, event: RunEvent) -> None:
        pass


class LineWatcher(SilentWatcher):
    """A watcher for logs: one line when an item begins, one when it ends, and one each time that a search
    knows more."""

    def __init__(self) -> None:
        self._known = ""

    def watch(self, event: RunEvent) -> None:
        match event:
            case ItemBegan():
                takes = f", {format_duration(event.seconds)}" if event.seconds else ""
                call = event.item.call
                click.echo(
                    f"[{event.number}/{event.of}] {event.title}: {call.shown}{takes}",
                    err=True,
                )
            case SearchProgress():
                self._show(event.bracket)
            case FrontierProgress():
                self._show(event.known)
            case ItemEnded():
                click.echo(f"      {item_line(event.report)}", err=True)

    def _show(self, known: str) -> None:
        if known != self._known:
            self._known = known
            click.echo(f"      {known}", err=True)
