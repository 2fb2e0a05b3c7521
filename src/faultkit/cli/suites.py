"""`fault test` and `mcptest run`: run suites that score how agents recover from faults."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import sleep

import click

from faultkit.agents.selection import Selection, key_of, select, tests_of
from faultkit.agents.suite.definition import Suite
from faultkit.agents.suite.results import Results, Row
from faultkit.agents.suite.run_options import Options
from faultkit.agents.suite_file import files_of_suite, read_suite
from faultkit.agents.suite_runner import run_suites_blocking
from faultkit.base.documents.checks import advice
from faultkit.base.errors import FaultkitError, InputError
from faultkit.cli.lazy import CommandWithSubcommands, LazyCommand

REPORTERS = ("pretty", "quiet", "json", "junit", "markdown", "html", "sarif", "tap", "github")
SUBCOMMANDS = {
    "init": LazyCommand("faultkit.cli.suite_tools:init_command", "Write a first suite for a server."),
    "coverage": LazyCommand(
        "faultkit.cli.suite_tools:coverage_command", "Show which tools meet which faults."
    ),
    "shrink": LazyCommand(
        "faultkit.cli.suite_tools:shrink_command", "Reduce what makes a test fail to the least that does."
    ),
    "rank": LazyCommand(
        "faultkit.cli.suite_tools:rank_command", "Rank agents by what the same faults make of them."
    ),
    "schema": LazyCommand("faultkit.cli.suite_tools:schema_command", "Print the JSON schema of suite files."),
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
  mcptest run --config examples/fault-injection-recovery.yml
\b
Exit codes: 0 all passed; 1 something did not; 2 a suite or an option is wrong; 7 no test was selected;
  130 and 143 ended by Ctrl-C and by SIGTERM.
""",
)
@click.argument("paths", metavar="[PATH]…", nargs=-1)
@click.option("--config", "--suite", "configs", metavar="FILE", multiple=True, help="A suite, as PATH.")
@click.option(
    "--filter",
    "filters",
    metavar="TEXT",
    multiple=True,
    help="Only tests whose name holds TEXT, or re:REGEX.",
)
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only tests with this tag.")
@click.option("--skip-tag", "skip_tags", metavar="TAG", multiple=True, help="No tests with this tag.")
@click.option("--shard", metavar="I/N", help="Only the I-th of N parts.")
@click.option("--last-failed", is_flag=True, help="Only what failed in the last run.")
@click.option("--collect-only", is_flag=True, help="Say which tests would be run.")
@click.option("--pass-with-no-tests", is_flag=True, help="Exit with 0 though no test was selected.")
@click.option("--seed", metavar="SEED", help="In place of the suites' own.")
@click.option("--repeat", type=click.IntRange(1, 10_000), metavar="N", help="Run each agent so often.")
@click.option(
    "--parallel", type=click.IntRange(1, 256), default=4, show_default=True, help="Tests side by side."
)
@click.option(
    "--timeout", metavar="DURATION", default="60s", show_default=True, help="Of one test; it always holds."
)
@click.option("--real-time", is_flag=True, help="Live faulty servers, and every wait is one.")
@click.option(
    "--scale",
    type=click.FloatRange(1, 10_000),
    metavar="N",
    help="As --real-time, on a clock that runs N times as fast.",
)
@click.option("--watch", is_flag=True, help="Run again whenever a file of the suites changes.")
@click.option("-x", "--bail", is_flag=True, help="Stop at the first test that does not pass.")
@click.option("--record", is_flag=True, help="Ask the models, and record their answers in cassettes.")
@click.option("--allow-stub-provider", is_flag=True, help="Without a key, let a stub stand in for a model.")
@click.option("--update-snapshots", is_flag=True, help="Store the actual results as the expected ones.")
@click.option("--var", "variables", metavar="NAME=VALUE", multiple=True, help="A variable of the suites.")
@click.option(
    "--reporter",
    "reporters",
    metavar="NAME[=FILE]",
    multiple=True,
    help=f"{', '.join(REPORTERS)}; several, each to a file or to stdout.  [default: pretty]",
)
@click.option("--output", metavar="FILE", help="Where the one --reporter without a file writes to.")
@click.option("--json", "as_json", is_flag=True, help="As --reporter json.")
def command(
    paths: tuple[str, ...],
    configs: tuple[str, ...],
    filters: tuple[str, ...],
    tags: tuple[str, ...],
    skip_tags: tuple[str, ...],
    shard: str | None,
    last_failed: bool,
    collect_only: bool,
    pass_with_no_tests: bool,
    seed: str | None,
    repeat: int | None,
    parallel: int,
    timeout: str,
    real_time: bool,
    scale: float | None,
    watch: bool,
    bail: bool,
    record: bool,
    allow_stub_provider: bool,
    update_snapshots: bool,
    variables: tuple[str, ...],
    reporters: tuple[str, ...],
    output: str | None,
    as_json: bool,
) -> int:
    """Run suites: declare a fault, run an agent against it, and gate on how it recovers.

    PATH is a suite, or a folder to look in; without one, mcptest.yml and *.suite.yml in this folder. Faults
    are counted in virtual time: a hang of minutes takes none. A fault that was never met is not a pass.
    """
    from faultkit.agents.selection import Selection, parse_shard
    from faultkit.agents.suite.run_options import Options, given_seed
    from faultkit.cli.shared_options import seconds_of

    timeout_s = seconds_of("--timeout", timeout)
    reports = Reports.parse((*reporters, *(["json"] if as_json else [])), output)
    wanted = SuiteRequest(
        (*paths, *configs),
        Selection(filters, tags, skip_tags, (1, 1) if shard is None else parse_shard(shard)),
        dict(_variable(each) for each in variables),
        last_failed=last_failed,
        collect_only=collect_only,
        may_be_empty=pass_with_no_tests,
    )
    if real_time and scale is not None:
        raise InputError("--scale", "expected only one of --real-time and --scale, got both")
    options = Options(
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
    )
    return (watch_suites if watch else run_selected)(wanted, options, reports)


def _variable(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise InputError("--var", f'expected NAME=VALUE, got "{text}"')
    return name, value


NOT_MET, NO_TESTS = 1, 7
_BY_SIGNAL = 128
LOOK_S = 0.5
"""Interval between checks of the watched files, in seconds."""
SUITE_NAMES = ("mcptest.yml", "mcptest.yaml", "*.suite.yml", "*.suite.yaml")
LAST_FAILED_FILE = Path(".fault_cache") / "last-failed.json"
_OF_RECOVERY = " (recovery)"


@dataclass(frozen=True, slots=True)
class SuiteRequest:
    """The suites and tests that the command line selects."""

    paths: tuple[str, ...]
    selection: Selection
    variables: Mapping[str, str]
    last_failed: bool = False
    collect_only: bool = False
    may_be_empty: bool = False


def watch_suites(wanted: SuiteRequest, options: Options, reports: Reports) -> int:
    """Run the suites again whenever one of their files changes, until a signal."""
    known: dict[Path, None] = {}
    while True:
        found = [file for path in find_suites(wanted.paths) for file in _files_of(path, wanted)]
        # The files of a suite that was valid before are still watched while it has a mistake.
        known |= dict.fromkeys(found)
        files = list(known)
        before = _stamps(files)
        try:
            code = run_selected(wanted, options, reports)
        except FaultkitError as error:
            for mistake in str(error).splitlines():
                click.echo(f"error: {mistake}", err=True)
            code = error.exit_code
        if code > _BY_SIGNAL:
            return code
        many = "1 file" if len(files) == 1 else f"{len(files)} files"
        click.echo(f"watching {many}; Ctrl-C ends it", err=True)
        while _stamps(files) == before:
            sleep(LOOK_S)


def _files_of(path: Path, wanted: SuiteRequest) -> list[Path]:
    return [Path(file) for file in files_of_suite(path, variables=wanted.variables)]


def _stamps(files: Sequence[Path]) -> list[tuple[int, int] | None]:
    stamps: list[tuple[int, int] | None] = []
    for file in files:
        try:
            found = file.stat()
            stamps.append((found.st_mtime_ns, found.st_size))
        except OSError:
            stamps.append(None)
    return stamps


def run_selected(wanted: SuiteRequest, options: Options, reports: Reports) -> int:
    """Run the selected tests once and return the exit code; raise InputError for a wrong or missing suite."""
    suites = load_all(find_suites(wanted.paths), wanted.variables)
    reports.check_beside([Path(file) for suite in suites for file in suite.files])
    selection = wanted.selection
    if wanted.last_failed:
        selection = replace(selection, names=_remembered())
    chosen = select(suites, selection)
    if wanted.collect_only:
        for each in chosen:
            for test in each.tests:
                click.echo(key_of(each.suite, test.name))
    if not chosen:
        click.echo("no test was selected", err=True)
        return 0 if wanted.may_be_empty else NO_TESTS
    if wanted.collect_only:
        return 0
    ended = run_suites_blocking(chosen, options, reports.row)
    reports.end(ended.results)
    _remember(suites, ended.results)
    if ended.signal is not None:
        return 128 + ended.signal
    if any(suite.problem for suite in ended.results.suites):
        return InputError.exit_code
    return 0 if ended.results.ok else NOT_MET


def find_suites(paths: Sequence[str]) -> list[Path]:
    """Return the suite files of these paths; raise InputError for a path without a suite."""
    found: list[Path] = []
    for text in paths or (".",):
        path = Path(text)
        if path.is_dir():
            inside = sorted({file for name in SUITE_NAMES for file in path.rglob(name)})
            if not inside:
                raise InputError(
                    text, f"expected a suite, got a folder without any ({', '.join(SUITE_NAMES)})"
                )
            found += inside
        elif path.exists():
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


def _remembered() -> frozenset[str]:
    try:
        names = json.loads(LAST_FAILED_FILE.read_text("utf-8"))
        return frozenset(str(name) for name in names)
    except FileNotFoundError:
        raise InputError("--last-failed", "there was no run in this folder before") from None
    except (OSError, ValueError, TypeError) as error:
        raise InputError(str(LAST_FAILED_FILE), f"cannot be read: {error}; remove it") from None


def _remember(suites: Sequence[Suite], results: Results) -> None:
    """Store the names of failed tests for `--last-failed`; an error in writing them is ignored."""
    names = {suite.file: {test.name for test in tests_of(suite)} for suite in suites}
    failed = []
    for result in results.suites:
        for row in result.rows:
            name = row.name if row.name in names[result.file] else row.name.removesuffix(_OF_RECOVERY)
            if row.fails:
                failed.append(f"{result.file}::{name}")
    try:
        LAST_FAILED_FILE.parent.mkdir(exist_ok=True)
        (LAST_FAILED_FILE.parent / ".gitignore").write_text("*\n")
        LAST_FAILED_FILE.write_text(json.dumps(sorted(set(failed)), indent=1) + "\n", "utf-8")
    except OSError:
        pass


_COLOURS = {
    "passed": "green",
    "failed": "red",
    "error": "red",
    "not_exercised": "yellow",
    "inconclusive": "yellow",
}
_LIVE = "pretty"


@dataclass(frozen=True, slots=True)
class Reports:
    """The reporters of a run: at most one on stdout, the others in files."""

    shown: str
    """Name of the reporter on stdout; empty for none."""
    files: tuple[tuple[str, Path], ...]

    @classmethod
    def parse(cls, texts: Iterable[str], output: str | None) -> Reports:
        shown: list[str] = []
        files: list[tuple[str, Path]] = []
        for text in texts:
            name, _, file = text.partition("=")
            if name not in REPORTERS:
                raise InputError("--reporter", f'unknown reporter "{name}"; {advice(name, REPORTERS)}')
            if file:
                files.append((name, Path(file)))
            else:
                shown.append(name)
        if len(shown) > 1:
            raise InputError(
                "--reporter", f"expected one on stdout, got {' and '.join(shown)}; write NAME=FILE"
            )
        if output is not None:
            if not shown:
                raise InputError("--output", "expected a --reporter without a file of its own beside it")
            files.append((shown.pop(), Path(output)))
        for name, path in files:
            if path.is_dir() or not path.parent.is_dir():
                raise InputError(name, f"expected a file in a folder that is there, got {path}")
        return cls(shown[0] if shown else ("" if output else _LIVE), tuple(files))

    def check_beside(self, inputs: Iterable[Path]) -> None:
        """Raise InputError for a report that would overwrite a file of the suites."""
        read = {path.resolve() for path in inputs}
        for name, path in self.files:
            if path.resolve() in read:
                raise InputError("--reporter", f"expected {name} in a file of its own, got {path}, a suite's")

    def row(self, row: Row) -> None:
        """Print the row of a test that has ended, if the output is live."""
        if self.shown == _LIVE:
            from faultkit.agents.report.suite_text import row_lines

            first, *others = row_lines(row)
            click.secho(first, fg=None if row.skipped else _COLOURS[row.verdict])
            for line in others:
                click.echo(line)

    def end(self, results: Results) -> None:
        from faultkit.agents.report.reporters import REPORTERS as RENDERERS
        from faultkit.agents.report.suite_text import summary_lines

        if self.shown == _LIVE:
            *others, last = summary_lines(results)
            for line in others:
                click.echo(line)
            click.secho(last, bold=True, fg="green" if results.ok else "red")
        elif self.shown:
            click.echo(RENDERERS[self.shown].render(results), nl=False)
        for name, path in self.files:
            try:
                path.write_text(RENDERERS[name].render(results), "utf-8")
            except OSError as error:
                raise InputError(str(path), f"cannot be written: {error.strerror}") from None
            click.echo(f"{name}: {path}", err=True)
