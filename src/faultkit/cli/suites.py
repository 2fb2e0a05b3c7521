"""`fault test` and `mcptest run`: run suites that score how agents recover from faults."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

import click

from faultkit.agents.kinds.agent_choice import require_clients
from faultkit.agents.report.baseline import compare, read_baseline
from faultkit.agents.suite.definition import Suite, SuiteFault, SuiteTest
from faultkit.agents.suite.run_options import RunOptions, Selection, key_of, select
from faultkit.agents.suite_file import files_of_suite, read_suite
from faultkit.agents.suite_runner import run_suites_blocking
from faultkit.base.errors import FaultkitError, InputError
from faultkit.base.text import count_of, printable_line
from faultkit.cli.command_groups import CommandWithSubcommands, LazyCommand
from faultkit.cli.place_options import place_options
from faultkit.cli.shared_options import (
    SUITE_SEED_HELP,
    json_option,
    seconds_of,
    seed_option,
    suite_configs,
    suite_variables,
)
from faultkit.cli.suite_cache import last_failed, read_report, store_run
from faultkit.cli.suite_places import check_beside_place, jobs_text, place_named, plan_on, run_on
from faultkit.cli.suite_reports import REPORTERS, Reports

if TYPE_CHECKING:
    from faultkit.load.place_names import PlaceName

SUBCOMMANDS = {
    "validate": LazyCommand("faultkit.cli.suite_tools:validate_command", "Check suites, and run nothing."),
    "init": LazyCommand("faultkit.cli.suite_tools:init_command", "Write a first suite for a server."),
    "coverage": LazyCommand(
        "faultkit.cli.suite_tools:coverage_command", "Show which tools meet which faults."
    ),
    "shrink": LazyCommand(
        "faultkit.cli.suite_tools:shrink_command",
        "Reduce a failing test to the faults that still make it fail.",
    ),
    "rank": LazyCommand(
        "faultkit.cli.suite_tools:rank_command", "Rank agents by how they recover from the same faults."
    ),
    "schema": LazyCommand("faultkit.cli.suite_tools:schema_command", "Print the JSON Schema of suite files."),
}


@click.command(
    cls=CommandWithSubcommands,
    entries=SUBCOMMANDS,
    epilog="""\b
Examples:
  fault test examples/shipped-agents.yml
  fault test suites/ --tag recovery --reporter junit=report.xml --reporter html=report.html
  fault test suite.yml --filter 're:^hung' --repeat 20 --seed 7
  fault test suite.yml --scale 20
  fault test suites/ --on local:4
  fault test suites/ --on kubernetes:8 --pods pods.yaml --dry-run
  mcptest run --config examples/fault-injection-recovery.yml
\b
Exit codes: 0 all tests passed; 1 a test did not; 2 a suite or an option is wrong; 4 all workers of --on were
  lost; 6 no test failed, but some were not run, since their worker was lost; 7 no test was selected;
  130, 143 and 129 ended by Ctrl-C, by SIGTERM and by SIGHUP.
""",
)
@click.argument("paths", metavar="[PATH]…", nargs=-1)
@suite_configs("Suite to run")
@click.option(
    "--filter",
    "filters",
    metavar="TEXT",
    multiple=True,
    help="Run only tests whose name contains TEXT or matches re:REGEX. Repeatable.",
)
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Run only tests with this tag. Repeatable.")
@click.option(
    "--skip-tag", "skip_tags", metavar="TAG", multiple=True, help="Skip tests with this tag. Repeatable."
)
@click.option("--shard", metavar="I/N", help="Run only the I-th of N parts.")
@click.option("--last-failed", is_flag=True, help="Run only tests that failed in the last run.")
@click.option("--forbid-only", is_flag=True, help="Exit with 2 if a test has `only: true`, as CI should.")
@click.option("--collect-only", is_flag=True, help="List the selected tests; run none.")
@click.option("--pass-with-no-tests", is_flag=True, help="Exit with 0 if no test was selected.")
@seed_option(SUITE_SEED_HELP)
@click.option("--repeat", type=click.IntRange(1, 10_000), metavar="N", help="Number of runs of each agent.")
@click.option(
    "--retry",
    "retries",
    type=click.IntRange(0, 100),
    default=0,
    metavar="N",
    help="Run a test that does not pass again, up to N times; its row says which attempt it shows.",
)
@click.option(
    "--parallel", type=click.IntRange(1, 256), default=4, show_default=True, help="Tests at the same time."
)
@click.option(
    "--timeout",
    metavar="DURATION",
    default="60s",
    show_default=True,
    help="Time limit of one test, in real time on every clock.",
)
@click.option(
    "--real-time", is_flag=True, help="Run real servers on the real clock; by default time is virtual."
)
@click.option(
    "--scale",
    type=click.FloatRange(1, 10_000),
    metavar="N",
    help="Like --real-time, on a clock that runs N times as fast.",
)
@click.option("--watch", is_flag=True, help="Run again whenever a file of the suites changes.")
@click.option("-x", "--bail", is_flag=True, help="Stop at the first test that does not pass.")
@click.option(
    "--max-cost",
    type=click.FloatRange(0, min_open=True),
    metavar="USD",
    help="Most that all models may cost, in dollars, where their prices are known.",
)
@click.option("--record", is_flag=True, help="Ask the models, and record their answers to cassettes.")
@click.option("--allow-stub-provider", is_flag=True, help="Use a stub for a model whose API key is missing.")
@click.option("--update-snapshots", is_flag=True, help="Store the actual results as the expected ones.")
@suite_variables
@click.option(
    "--reporter",
    "reporters",
    metavar="NAME[=FILE]",
    multiple=True,
    help=f"Format of the results, written to FILE or to stdout: {', '.join(REPORTERS)}. Repeatable.  "
    "[default: pretty]",
)
@click.option("--output", metavar="FILE", help="File for the one --reporter that names none.")
@json_option("The same as --reporter json.")
@click.option(
    "--baseline",
    metavar="FILE",
    help="JSON report of an earlier run: exit with 1 only if a test is worse than there, or is gone.",
)
@place_options("Where tests run, by default in this process")
@click.option("--no-color", is_flag=True, help="Print without colours.")
def command(
    paths: tuple[str, ...],
    configs: tuple[str, ...],
    filters: tuple[str, ...],
    tags: tuple[str, ...],
    skip_tags: tuple[str, ...],
    shard: str | None,
    last_failed: bool,
    forbid_only: bool,
    collect_only: bool,
    pass_with_no_tests: bool,
    seed: str | None,
    repeat: int | None,
    retries: int,
    parallel: int,
    timeout: str,
    real_time: bool,
    scale: float | None,
    watch: bool,
    bail: bool,
    max_cost: float | None,
    record: bool,
    allow_stub_provider: bool,
    update_snapshots: bool,
    variables: tuple[str, ...],
    reporters: tuple[str, ...],
    output: str | None,
    as_json: bool,
    baseline: str | None,
    place: str | None,
    pods: str | None,
    dry_run: bool,
    no_color: bool,
) -> int:
    """Run suites: each test declares a fault, runs an agent against it, and checks how the agent recovers.

    PATH is a suite, or a folder to search; by default mcptest.yml and *.suite.yml below the current folder.
    Tests run in virtual time: a hang of minutes takes none. A test whose fault was never met does not pass.
    """
    where = place_named(place, pods, dry_run)
    from faultkit.agents.suite.agent_interface import Purse
    from faultkit.agents.suite.run_options import RunOptions, Selection, given_seed, parse_shard

    if no_color:
        click.get_current_context().color = False
    timeout_s = seconds_of("--timeout", timeout)
    reports = Reports.parse((*reporters, *(["json"] if as_json else [])), output)
    wanted = SuiteRequest(
        (*paths, *configs),
        Selection(filters, tags, skip_tags, (1, 1) if shard is None else parse_shard(shard)),
        dict(parse_variable(each) for each in variables),
        last_failed=last_failed,
        forbid_only=forbid_only,
        collect_only=collect_only,
        may_be_empty=pass_with_no_tests,
        baseline=baseline,
        on=where,
        dry_run=dry_run,
    )
    if where is not None:
        check_beside_place(click.get_current_context())
    if real_time and scale is not None:
        raise InputError("--scale", "expected only one of --real-time and --scale, got both")
    options = RunOptions(
        clock="scaled" if scale is not None else "real" if real_time else "virtual",
        scale=scale or 1.0,
        seed=given_seed(seed),
        repeat=repeat,
        timeout_s=timeout_s,
        parallel=parallel,
        bail=bail,
        record=record,
        allow_stub=allow_stub_provider,
        update_snapshots=update_snapshots,
        retries=retries,
        purse=Purse(max_cost),
    )
    return (watch_suites if watch else run_selected)(wanted, options, reports)


def parse_variable(text: str) -> tuple[str, str]:
    """Return the name and the value of --var. Raises InputError."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise InputError("--var", f'expected NAME=VALUE, got "{text}"')
    return name, value


NOT_MET, PROVES_NOTHING, NO_TESTS = 1, 6, 7
_SIGNAL_CODES = 128
"""Exit codes above this stand for signals."""
LOOK_S = 0.5
"""Interval between checks of the watched files, in seconds."""
SUITE_NAMES = ("mcptest.yml", "mcptest.yaml", "*.suite.yml", "*.suite.yaml")


@dataclass(frozen=True, slots=True)
class SuiteRequest:
    """The suites and tests that the command line selects."""

    paths: tuple[str, ...]
    selection: Selection
    variables: Mapping[str, str]
    last_failed: bool = False
    forbid_only: bool = False
    collect_only: bool = False
    may_be_empty: bool = False
    baseline: str | None = None
    """File of the report with which the results are compared."""
    on: PlaceName | None = None
    """Where the tests run; None: in this process."""
    dry_run: bool = False


def watch_suites(wanted: SuiteRequest, options: RunOptions, reports: Reports) -> int:
    """Run the suites again whenever one of their files changes, until a signal."""
    known: dict[Path, None] = {}
    while True:
        # The files of a suite that was valid before are still watched while it has a mistake.
        for path in find_suites(wanted.paths):
            known |= {Path(file): None for file in files_of_suite(path, variables=wanted.variables)}
        files = list(known)
        before = _stamps(files)
        try:
            code = run_selected(wanted, options, reports)
        except FaultkitError as error:
            for mistake in str(error).splitlines():
                click.echo(f"error: {mistake}", err=True)
            code = error.exit_code
        if code > _SIGNAL_CODES:
            return code
        click.echo(f"watching {count_of(len(files), 'file')}; Ctrl-C ends it", err=True)
        while _stamps(files) == before:
            sleep(LOOK_S)


def _stamps(files: Sequence[Path]) -> list[tuple[int, int] | None]:
    """Return the time and size of each file; None for one that cannot be read."""
    stamps: list[tuple[int, int] | None] = []
    for file in files:
        try:
            found = file.stat()
            stamps.append((found.st_mtime_ns, found.st_size))
        except OSError:
            stamps.append(None)
    return stamps


def run_selected(wanted: SuiteRequest, options: RunOptions, reports: Reports) -> int:
    """Run the selected tests once and return the exit code; raise InputError for a wrong or missing suite."""
    suites = load_all(find_suites(wanted.paths), wanted.variables)
    reports.check_beside([Path(file) for suite in suites for file in suite.files], "a suite's")
    if wanted.baseline is not None:
        reports.check_beside([Path(wanted.baseline)], "the --baseline")
    selection = wanted.selection
    if wanted.last_failed:
        selection = replace(selection, names=last_failed())
    chosen = select(suites, selection)
    only = [test for suite in suites for test in suite.tests if test.only]
    if only and wanted.forbid_only:
        raise InputError(
            "", "\n".join(f"{place_of(test)}: expected no `only: true` (--forbid-only)" for test in only)
        )
    if only:
        click.echo("only tests with `only: true` are run", err=True)
    if wanted.collect_only:
        for each in chosen:
            for test in each.tests:
                click.echo(key_of(each.suite, test.name))
    if not chosen:
        for line in lane_lines(suites):
            click.echo(line, err=True)
        click.echo("no test was selected", err=True)
        return 0 if wanted.may_be_empty else NO_TESTS
    if wanted.collect_only:
        return 0
    before = None if wanted.baseline is None else read_report("--baseline", wanted.baseline, read_baseline)
    for each in chosen:
        for test in each.tests:
            require_clients(each.suite, test, options)
    if wanted.on is None:
        ended = run_suites_blocking(chosen, options, reports.row)
    else:
        plan = plan_on(wanted.on, chosen, options, wanted.variables)
        if wanted.dry_run:
            click.echo(jobs_text(wanted.on, plan), nl=False)
            return 0
        ended = run_on(wanted.on, plan, chosen, options, reports.row)
    reports.end(ended.results)
    store_run(suites, ended.results)
    if ended.signal is not None:
        return _SIGNAL_CODES + ended.signal
    if any(suite.problem for suite in ended.results.suites):
        return InputError.exit_code
    if before is not None and wanted.baseline is not None:
        folders = (os.getcwd(), os.path.dirname(os.path.abspath(wanted.baseline)))
        is_whole = selection == Selection() and not ended.results.bailed
        comparison = compare(before, ended.results, folders, is_whole=is_whole)
        for line in comparison.lines(wanted.baseline):
            click.echo(line, err=True)
        if comparison.worse:
            return NOT_MET
        return PROVES_NOTHING if any(row.unrun for row in ended.results.rows) else 0
    if ended.results.ok:
        return 0
    return NOT_MET if any(row.fails and not row.unrun for row in ended.results.rows) else PROVES_NOTHING


def place_of(part: SuiteTest | SuiteFault) -> str:
    """Return the file, the line and the name of a part of a suite."""
    return f"{part.place.file}: line {part.place.line}: {printable_line(part.name)}"


def lane_lines(suites: Iterable[Suite]) -> list[str]:
    """Return a line for each part of the suites that is not run."""
    return [
        f"{lane.place.file}: line {lane.place.line}: {lane.name}: {lane.reason}"
        for suite in suites
        for lane in suite.unrun_lanes
    ]


def find_suites(paths: Sequence[str]) -> list[Path]:
    """Return the suite files of these paths; raise InputError for a path without a suite."""
    found: list[Path] = []
    for text in paths or (".",):
        path = Path(text)
        if os.path.isdir(path):
            inside = sorted({file for name in SUITE_NAMES for file in path.rglob(name)})
            if not inside:
                raise InputError(
                    text, f"expected a suite, got a folder without any ({', '.join(SUITE_NAMES)})"
                )
            found += inside
        elif os.path.exists(path):
            found.append(path)
        else:
            raise InputError(text, "there is no such suite")
    return list(dict.fromkeys(found))


def load_all(files: Sequence[Path], variables: Mapping[str, str], flag: str = "--var") -> list[Suite]:
    """Read the suites; raise one InputError with the mistakes of all of them, or for an unused variable.

    `flag` is the flag that gave the variables.
    """
    suites: list[Suite] = []
    problems: list[InputError] = []
    for file in files:
        suite, wrong = read_suite(file, variables=variables)
        problems += wrong
        if suite is not None:
            suites.append(suite)
    if problems:
        raise InputError("", "\n".join(map(str, problems)))
    used = {name for suite in suites for name in suite.variables}
    for name in variables:
        if name not in used:
            raise InputError(
                flag, f"expected a variable of the suites, got {name}: none of them has ${{{name}}}"
            )
    return suites
