"""`fault breakpoint`: finds where objectives break, compares with an earlier run, exits with the verdict."""

from __future__ import annotations

import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from faultkit.base.errors import InputError
from faultkit.base.signals import StopSignal
from faultkit.cli.scenario_run import (
    exit_code_of,
    load_scenarios,
    parse_slos,
    show_outcome,
    try_to_write,
    watcher_of,
)
from faultkit.cli.shared_options import json_option, seed_option, trust_options, verify_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from faultkit.load.search.frontier import Grid
    from faultkit.scenario.asked_search import AskedSearch
    from faultkit.scenario.report.frontier_model import FrontierReport
    from faultkit.scenario.report.report_model import Report
    from faultkit.scenario.report.search_model import SearchReport
    from faultkit.scenario.scenario_model import Scenario

    Found: TypeAlias = SearchReport | FrontierReport

_WORSE = 1

_EPILOG = """\b
Exit codes:
  0  a breaking point or a frontier was found, or the whole range holds
  1  the objectives are missed at the harmless end already, or not shown to
     hold up to --fail-below, or the result is worse than the --baseline
  2  wrong input: nothing was run
  3  the service could not be reached, or a port was taken
  4  the search could not be finished
  6  the result is inconclusive, or a fault never acted
  130, 143, 129  ended by Ctrl-C, by SIGTERM and by SIGHUP; what was found
     is reported, marked as partial

\b
Examples:
  fault breakpoint http://localhost:7070/ping --vary faults.latency.mean=0..1000ms --slo latency:95:300ms
  fault breakpoint slow.yaml --budget 10m --fail-below 150ms --report report.html
  fault breakpoint load.yaml --vary load.rps=10..500 --scale log
  fault breakpoint http://localhost:7070/ --vary faults.http_error.probability=0..20% --slo error:99:5%
  fault breakpoint slow.yaml --baseline results.json --result results.json
  fault breakpoint http://localhost:7070/ --vary faults.latency.mean=0..400ms \\
      --vary faults.packet_loss.rate=0..40% --slo latency:90:300ms --rps 100 --report map.html
"""

_FLAGS = {"context.strategy.budget": "--budget", "context.slo": "--slo", "context.faults[": "--vary"}
"""Keys of a scenario, and the flags that set them for a URL."""


@click.command("breakpoint", epilog=_EPILOG)
@click.argument("target", metavar="FILE|URL")
@click.option(
    "--vary",
    multiple=True,
    metavar="SETTING=FROM..TO",
    help="What is searched, the harmless end first: a setting of a fault (faults.latency.mean=0..1000ms, "
    "faults[0].rate=1000..1), a probability, load.rps or load.clients. For a URL, the fault is added. A "
    "file may have it itself (strategy: {mode: search}). Given twice: a map of both settings.",
)
@click.option(
    "--slo",
    "slos",
    multiple=True,
    metavar="SLO",
    help='Objective besides those of the file: "latency:95:300ms", "error:99:1%" or '
    '"availability:99.9:500ms". Repeatable.',
)
@click.option(
    "--budget",
    metavar="TIME|REQUESTS",
    help="What the search may take: 5m, or a number of requests. By default that of the file, or 5m.",
)
@click.option(
    "--fail-below",
    metavar="VALUE",
    help="Fail (exit code 1) unless the objectives are shown to hold up to this value, such as 150ms.",
)
@click.option(
    "--baseline",
    metavar="FILE",
    help="Results of an earlier run: fail (exit code 1) if it breaks earlier now, beyond chance.",
)
@click.option(
    "--scale",
    type=click.Choice(["linear", "log"]),
    help="How the range is divided; log for several powers of ten.",
)
@click.option("--precision", metavar="VALUE", help="The least difference of two values that matters.")
@click.option(
    "--rps",
    type=click.FloatRange(0, min_open=True),
    help="Requests a second of each client; by default that of the file, 20 for a URL.",
)
@click.option(
    "--clients", type=click.IntRange(1), help="Number of clients; by default that of the file, or 1."
)
@click.option(
    "-r",
    "--report",
    "reports",
    multiple=True,
    metavar="PATH",
    help="Where to write a report, by extension: .md .html .json .yaml .xml (JUnit) .txt. Repeatable.",
)
@click.option(
    "--result",
    metavar="PATH",
    default="results.json",
    show_default=True,
    help="Where to write the results as data (.json or .yaml), for --baseline of a later run.",
)
@seed_option("Seed of all random choices; by default a random one.", variable="FAULT_SEED")
@trust_options
@click.option("--no-ui", is_flag=True, envvar="FAULT_PROXY_NO_UI", help="Show no live view on a terminal.")
@json_option("Print the results as JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    target: str,
    vary: tuple[str, ...],
    slos: tuple[str, ...],
    budget: str | None,
    fail_below: str | None,
    baseline: str | None,
    scale: str | None,
    precision: str | None,
    rps: float | None,
    clients: int | None,
    reports: tuple[str, ...],
    result: str,
    seed: str | None,
    insecure: bool,
    cacert: str | None,
    no_ui: bool,
    as_json: bool,
) -> None:
    """Find where a service breaks: the value of a fault or of the load at which an objective is missed.

    The values between the ends are measured by short loads, chosen by what was measured before, until the
    budget is spent. The result says what is shown: up to where the objectives hold, and from where they are
    broken. With two settings, it is a map of the pairs that hold and those that are broken.
    """
    from faultkit.base.files import check_output_path, check_outputs_apart
    from faultkit.scenario.asked_search import AskedSearch, plan_lines
    from faultkit.scenario.report.report_files import RENDERERS, RESULT_EXTENSIONS
    from faultkit.scenario.scenario_run import RunSettings, check_scenarios, run_scenarios

    for path in reports:
        check_output_path(path, RENDERERS)
    check_output_path(result, RESULT_EXTENSIONS)
    outputs = [Path(path) for path in (*reports, result)]
    check_outputs_apart(outputs)
    asked = AskedSearch(vary, budget, scale, precision, rps, clients, fail_below)
    scenarios = _scenarios(ctx, target, asked)
    check_outputs_apart(outputs, (each.file for each in scenarios if each.file))
    settings = RunSettings(
        seed=secrets.randbelow(2**32) if seed is None else seed,
        verify=verify_of(insecure, cacert),
        slos=parse_slos(slos),
    )
    try:
        check_scenarios(scenarios, settings)
    except InputError as wrong:
        raise _by_flag(wrong, target) from None
    before = None if baseline is None else _searches_of(baseline, scenarios)
    for line in plan_lines(scenarios):
        click.echo(line, err=True)
    stop = threading.Event()
    watcher = watcher_of(no_ui or as_json)
    with StopSignal(stop.set) as signals:
        with watcher:
            outcome = run_scenarios(scenarios, settings, watcher.watch, stop)
        failures = {path: error for path in outputs if (error := try_to_write(outcome.report, path))}
    show_outcome(outcome, outputs, failures, as_json)
    is_worse = before is not None and _compare(before, outcome.report)
    code = signals.exit_code or exit_code_of(outcome, failures)
    ctx.exit(code or (_WORSE if is_worse else 0))


def _scenarios(ctx: click.Context, target: str, asked: AskedSearch) -> list[Scenario]:
    from faultkit.scenario.asked_search import search_of_file, search_of_url

    if _is_url(target):
        try:
            return [search_of_url(target, asked)]
        except InputError as error:
            raise _by_flag(error, target) from None
    return [search_of_file(scenario, asked) for scenario in load_scenarios(ctx, (target,))]


def _is_url(target: str) -> bool:
    return target.startswith(("http://", "https://"))


def _by_flag(error: InputError, target: str) -> InputError:
    """Return the error with the flag that was given: for a URL, there is no file with such keys."""
    flags = (flag for key, flag in _FLAGS.items() if key in error.path) if _is_url(target) else ()
    return next((error.at(flag) for flag in flags), error)


def _searches_of(path: str, scenarios: Sequence[Scenario]) -> list[Found]:
    """Return the searches of an earlier run. Raises InputError if they are others than those of this one."""
    from faultkit.scenario.report.report_files import read_report
    from faultkit.scenario.scenario_model import SearchStrategy

    found = _found(read_report(path))
    wanted = [
        _name_of([varied.path for varied in item.strategy.settings], item.strategy.grid)
        for scenario in scenarios
        for item in scenario.items
        if isinstance(item.strategy, SearchStrategy)
    ]
    got = [_named(search) for search in found]
    if got != wanted:
        raise InputError(
            "--baseline",
            f"expected searches of {', '.join(wanted)}, got {', '.join(got) or 'none'} in {path}",
        )
    return found


def _found(report: Report) -> list[Found]:
    return [found for item in report.items if (found := item.search or item.frontier) is not None]


def _named(search: Found) -> str:
    from faultkit.load.search.frontier import Grid
    from faultkit.scenario.report.search_model import SearchReport

    if isinstance(search, SearchReport):
        return _name_of([search.setting], None)
    first, second = search.first, search.second
    return _name_of([first.setting, second.setting], Grid(first.values, second.values))


def _name_of(paths: Sequence[str], grid: Grid | None) -> str:
    """Return what is searched. Two maps can be compared only if they have the same pairs of values."""
    if grid is None:
        return paths[0]
    ends = (f"{values[0]:g}..{values[-1]:g} in {len(values)}" for values in (grid.first, grid.second))
    return " and ".join(f"{path} ({end})" for path, end in zip(paths, ends, strict=True))


def _compare(before: Sequence[Found], report: Report) -> bool:
    """Print the comparison with the earlier run, and return whether a search is worse."""
    from faultkit.scenario.report.frontier_model import FrontierReport
    from faultkit.scenario.report.frontier_wording import compared_frontiers, frontier_comparison
    from faultkit.scenario.report.search_model import SearchReport
    from faultkit.scenario.report.search_wording import compared, comparison_sentence

    is_worse = False
    for old, new in zip(before, _found(report), strict=False):
        match old, new:
            case SearchReport(), SearchReport():
                sentence, result = comparison_sentence(old, new), compared(old, new)
            case FrontierReport(), FrontierReport():
                sentence, result = frontier_comparison(old, new), compared_frontiers(old, new)
            case _:
                continue
        click.echo(sentence, err=True)
        is_worse = is_worse or result == "worse"
    return is_worse
