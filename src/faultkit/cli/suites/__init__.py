"""`fault test`, and `mcptest run`: suites that score how agents recover."""

from __future__ import annotations

import click

from faultkit.base.errors import InputError
from faultkit.cli.lazy import CommandWithOthers, Entry

REPORTERS = ("pretty", "quiet", "json", "junit", "markdown", "html", "sarif", "tap", "github")
OTHERS = {
    "init": Entry("faultkit.cli.suites.init", "Write a first suite for a server."),
    "coverage": Entry("faultkit.cli.suites.coverage", "Show which tools meet which faults."),
    "shrink": Entry("faultkit.cli.suites.shrink", "Reduce what makes a test fail to the least that does."),
    "rank": Entry("faultkit.cli.suites.rank", "Rank agents by what the same faults make of them."),
    "schema": Entry("faultkit.cli.suites.schema", "Print the JSON schema of suite files."),
}


@click.command(
    cls=CommandWithOthers,
    entries=OTHERS,
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
@click.option("--record", is_flag=True, help="Ask the models, and write what they say to cassettes.")
@click.option("--allow-stub-provider", is_flag=True, help="Without a key, let a stub stand in for a model.")
@click.option("--update-snapshots", is_flag=True, help="Store what comes as what is expected.")
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
    from faultkit.agents.execute.options import Options, given_seed
    from faultkit.agents.select import Selection, parse_shard
    from faultkit.cli.durations import seconds_of
    from faultkit.cli.suites.reporting import Reports
    from faultkit.cli.suites.running import Wanted, run_wanted, watch_wanted

    timeout_s = seconds_of("--timeout", timeout)
    reports = Reports.parse((*reporters, *(["json"] if as_json else [])), output)
    wanted = Wanted(
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
    return (watch_wanted if watch else run_wanted)(wanted, options, reports)


def _variable(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise InputError("--var", f'expected NAME=VALUE, got "{text}"')
    return name, value
