"""The subcommands of `fault test`: validate, coverage, rank, shrink, init and schema."""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faultkit.base.errors import InputError, RunError
from faultkit.base.text import printable_line
from faultkit.cli.shared_options import (
    SUITE_SEED_HELP,
    columns,
    json_option,
    seed_option,
    suite_configs,
    suite_variables,
)

if TYPE_CHECKING:
    from faultkit.agents.suite.definition import AgentTest, Suite
    from faultkit.plan import Rule


@click.command("validate")
@click.argument("paths", metavar="[PATH]…", nargs=-1)
@suite_configs("Suite to check")
@suite_variables
def validate_command(paths: tuple[str, ...], configs: tuple[str, ...], variables: tuple[str, ...]) -> None:
    """Check suites, with their imports and the files of their mocks, and start nothing.

    Prints every mistake with its line, and remarks on what a run will not do. Tools of servers that are not
    mocks are not known yet. Exits with 2 if a suite is wrong.
    """
    from faultkit.agents.suite.definition import AgentTest
    from faultkit.base.text import counted
    from faultkit.cli.suites import find_suites, lane_lines, load_all, parse_variable, place_of

    suites = load_all(find_suites((*paths, *configs)), dict(map(parse_variable, variables)))
    for suite in suites:
        counts = (("test", suite.tests), ("server", suite.servers), ("fault", suite.faults))
        click.echo(f"{suite.file}: valid: {', '.join(counted(len(parts), what) for what, parts in counts)}")
        injected = {name for test in suite.tests for name in test.inject}
        remarks = lane_lines([suite])
        for test in suite.tests:
            if test.asserts_nothing and not test.inject:
                remarks.append(f"{place_of(test)}: asserts nothing, so it cannot pass")
            if isinstance(test, AgentTest) and test.goal is not None and test.goal.is_empty:
                remarks.append(f"{place_of(test)}: its goal holds for every run, so it shows nothing")
            if test.only:
                remarks.append(f"{place_of(test)}: only tests with `only: true` are run")
        for fault in suite.faults:
            if fault.name not in injected:
                remarks.append(f"{place_of(fault)}: no test injects it")
        for remark in remarks:
            click.echo(f"remark: {remark}")


@click.command("coverage")
@click.argument("paths", metavar="[PATH]…", nargs=-1)
@suite_configs("Suite to look at")
@json_option()
@click.option(
    "--threshold",
    type=click.IntRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 if a smaller share of tools and phases has a declared fault; with --run, met one.",
)
@click.option(
    "--run",
    "report",
    metavar="FILE",
    help="JSON report of a run that says which faults were met; by default the last runs in this folder.",
)
def coverage_command(
    paths: tuple[str, ...], configs: tuple[str, ...], as_json: bool, threshold: int | None, report: str | None
) -> int:
    """Show which tools have a declared fault, in their requests and in their replies, and in how many tests a
    call met it.

    Nothing is run. Of servers that are not mocks, only the tools that a suite names are counted.
    """
    from faultkit.agents.coverage import coverage_of, met_faults
    from faultkit.base.text import counted
    from faultkit.cli.suite_cache import last_met, read_report
    from faultkit.cli.suites import NOT_MET, find_suites, load_all

    suites = load_all(find_suites((*paths, *configs)), {})
    coverage = coverage_of(suites, last_met() if report is None else read_report("--run", report, met_faults))
    share, met_share = coverage.share, coverage.met_share
    if as_json:
        untested = [dict(zip(("server", "tool", "phase"), each, strict=True)) for each in coverage.untested]
        covered = [asdict(each) for each in coverage.covered]
        document = {"share": share, "met_share": met_share, "covered": covered, "untested": untested}
        click.echo(json.dumps(document, indent=2))
    else:
        rows = [
            (
                f"{each.server}/{each.tool}",
                each.phase,
                each.fault,
                str(len(each.tests)),
                "?" if each.met is None else str(len(each.met)),
            )
            for each in coverage.covered
        ]
        rows += [(f"{server}/{tool}", phase, "–", "none", "") for server, tool, phase in coverage.untested]
        click.echo(columns([("tool", "phase", "fault", "declared in", "met in"), *sorted(rows)]))
        if share is not None:
            met = "it is unknown which were met: run `fault test`, or name a report by --run"
            if met_share is not None:
                met = f"{100 * met_share:.0f} % met one in {report or 'the last runs'}"
                if coverage.unknown:
                    met += f"; {counted(coverage.unknown, 'row')} unknown (?): no such test was run"
            click.echo(f"\n{100 * share:.0f} % of tools and phases have a declared fault; {met}")
    reached = (share if report is None else met_share) or 0.0
    if threshold is None or 100 * reached >= threshold:
        return 0
    what = "have a declared fault" if report is None else f"met a fault in {report}"
    click.echo(
        f"--threshold {threshold}: {100 * reached:.3g} % of tools and phases {what}, which is less", err=True
    )
    return NOT_MET


@click.command(
    "rank",
    epilog="""\b
Example:
  fault test rank examples/suites/battery.yml --vary agent=naive,retrying,verifying
""",
)
@click.argument("paths", metavar="PATH…", nargs=-1, required=True)
@click.option(
    "--vary", metavar="NAME=A,B,…", help="Run the suites once with each of these values of a variable."
)
@seed_option(SUITE_SEED_HELP)
@click.option("--repeat", type=click.IntRange(1, 10_000), metavar="N", help="Number of runs of each agent.")
@json_option()
def rank_command(
    paths: tuple[str, ...], vary: str | None, seed: str | None, repeat: int | None, as_json: bool
) -> None:
    """Rank the agents of suites by a score from 0 to 100, the mean over all runs that met a fault.

    A run that does not pass its gate and the expectations of its test scores 0. A run that passes scores 40
    for reaching its goal, 20 for a truthful answer, 20 for no useless calls, and 20 for no duplicate effects
    and for waiting when asked to. If it is unknown whether a goal was reached or a claim is true, the score
    is a range; a `goal` in the test makes it known. The table lists the best first.
    """
    from faultkit.agents.ranking import agent_name, rank_agents
    from faultkit.agents.suite.definition import AgentTest
    from faultkit.agents.suite.results import RECOVERY_SUFFIX, ResultRow
    from faultkit.agents.suite.run_options import RunOptions, Selection, given_seed, select
    from faultkit.agents.suite_runner import run_suites_blocking
    from faultkit.cli.suites import find_suites, load_all

    rows: list[tuple[str, ResultRow]] = []
    for variables in _variations(vary):
        chosen = select(load_all(find_suites(paths), variables, "--vary"), Selection())
        ended = run_suites_blocking(chosen, RunOptions(seed=given_seed(seed), repeat=repeat))
        if ended.signal is not None:
            raise click.exceptions.Exit(128 + ended.signal)
        for each, result in zip(chosen, ended.results.suites, strict=True):
            names = {
                test.name: _with_variation(agent_name(test), variables)
                for test in each.tests
                if isinstance(test, AgentTest)
            }
            for row in result.rows:
                name = names.get(row.name.removesuffix(RECOVERY_SUFFIX))
                if name is not None and row.runs:
                    rows.append((name, row))
    standings = rank_agents(rows)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in standings], indent=2))
        return
    wide = max([14, *(len(one.agent) for one in standings)]) + 2
    click.echo(
        f"{'agent':<{wide}}{'score':>12}{'passed':>9}{'goal':>9}{'honest':>9}{'wasted':>9}{'twice':>7}{'early':>7}"
    )
    for one in standings:
        score = "–" if one.score is None else f"{one.score:.1f}"
        if one.most != one.score:
            score += f"–{one.most:.1f}"
        goals, honest = (
            f"{number}/{known}" if known else "?"
            for number, known in ((one.goals, one.goals_known), (one.honest, one.honest_known))
        )
        click.echo(
            f"{one.agent:<{wide}}{score:>12}{f'{one.passed}/{one.hit}':>9}{goals:>9}{honest:>9}"
            f"{one.wasted_calls:>9}{one.duplicate_effects:>7}{one.early_calls:>7}"
        )
    if any(one.most != one.score for one in standings):
        click.echo(
            "A range: it is unknown whether goals were reached or claims are true; add `goal` to the tests."
        )


def _with_variation(name: str, variables: dict[str, str]) -> str:
    """Return the name of an agent, with the values that vary unless the name has them."""
    return " ".join([name, *(f"{key}={value}" for key, value in variables.items() if value not in name)])


def _variations(vary: str | None) -> list[dict[str, str]]:
    """Return the variables of each run that --vary asks for."""
    if vary is None:
        return [{}]
    name, sign, values = vary.partition("=")
    if not sign or not name or not all(values.split(",")):
        raise InputError("--vary", f'expected NAME=A,B,…, got "{vary}"')
    return [{name: value} for value in values.split(",")]


_KEPT = ("imports", "variables", "server", "servers", "default_server", "providers", "seed")
"""Keys of a suite file that a test may need, apart from its faults."""


@click.command(
    "shrink",
    epilog="""\b
Example:
  fault test shrink suites/mine.suite.yml --filter 'hung search'
""",
)
@click.argument("path", metavar="PATH")
@click.option("--filter", "name", metavar="TEXT", default="", help="Part of the test's name, or re:REGEX.")
@seed_option(SUITE_SEED_HELP)
@click.option("--out", metavar="FILE", help="File to write; by default a new file beside the suite.")
def shrink_command(path: str, name: str, seed: str | None, out: str | None) -> None:
    """Reduce the faults of a failing test to the fewest and simplest with which it fails in the same way.

    Faults are left out, triggers, schedules and settings are reset to their defaults and counts are lowered,
    as long as the same limits are broken. All runs are in virtual time.
    """
    from faultkit.agents.shrink import shrink_test
    from faultkit.agents.suite.definition import AgentTest, CommandAgent, ModelAgent
    from faultkit.agents.suite.run_options import RunOptions, SelectedTests, Selection, given_seed, select
    from faultkit.agents.suite_runner import run_suites_blocking
    from faultkit.cli.suites import find_suites, load_all

    chosen = select(load_all(find_suites([path]), {}), Selection((name,) if name else ()))
    found = [(each.suite, test) for each in chosen for test in each.tests if isinstance(test, AgentTest)]
    options = RunOptions(seed=given_seed(seed))

    def broken(suite: Suite, test: AgentTest) -> frozenset[tuple[str, str, str]]:
        ended = run_suites_blocking([SelectedTests(suite, (test,))], options)
        if ended.signal is not None:
            raise click.exceptions.Exit(128 + ended.signal)
        return frozenset((row.name, row.verdict, row.limit) for row in ended.results.rows if row.fails)

    failing = [(suite, test, why) for suite, test in found if test.inject and (why := broken(suite, test))]
    if len(failing) != 1:
        names = ", ".join(f'"{test.name}"' for _, test, _ in failing) or "none"
        raise InputError("--filter", f"expected one test of an agent that fails with a fault, got {names}")
    suite, test, why = failing[0]
    if isinstance(test.agent, ModelAgent | CommandAgent):
        raise InputError(test.name, "expected a scripted agent: others may act differently in each run")
    smaller, least = shrink_test(suite, test, lambda one, other: broken(one, other) == why)
    file_name = re.sub(r"[^a-z0-9]+", "-", test.name.lower()).strip("-") or "test"
    file = Path(out) if out else Path(test.place.file).parent / f"{file_name}.suite.yml"
    _write_suite(file, test, least, [fault.rule for fault in smaller.faults])
    for fault in smaller.faults:
        document = _fault_document(fault.rule)
        rest = [f"{key} {json.dumps(document[key])}" for key in document if key not in ("name", "kind")]
        click.echo(f"needed: {document['kind']} {', '.join(rest)}")
    seed_flag = f" --seed {shlex.quote(seed)}" if seed is not None else ""
    click.echo(f"repro: fault test {shlex.quote(str(file))}{seed_flag}")


def _write_suite(file: Path, test: AgentTest, least: AgentTest, rules: list[Rule]) -> None:
    """Write a suite file with only this test and the parts of its own file that it needs."""
    import yaml

    if file.parent.resolve() != Path(test.place.file).parent.resolve():
        raise InputError(
            "--out", f"expected a file beside {test.place.file}, whose paths it keeps, got {file}"
        )
    document = yaml.safe_load(Path(test.place.file).read_text("utf-8"))
    written = next((each for each in document.get("agents", ()) if each.get("name") == test.name), None)
    if written is None:
        raise InputError(test.name, "expected a test that is written out, got one of several `models`")
    kept = {key: value for key, value in document.items() if key in _KEPT}
    one = {**written, "inject": list(least.inject)}
    if least.runs != test.runs:
        one.pop("runs", None)
    one.pop("only", None)
    kept |= {"faults": [_fault_document(rule) for rule in rules], "agents": [one]}
    head = f"# The part of {Path(test.place.file).name} that still fails, by `fault test shrink`.\n"
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(head + yaml.safe_dump(kept, sort_keys=False, allow_unicode=True))
    except FileExistsError:
        raise InputError("--out", f"expected a new file, got {file}, which is there") from None
    except OSError as error:
        raise RunError(f"{file}: cannot be written: {error.strerror}") from None


def _fault_document(rule: Rule) -> dict[str, Any]:
    """Return a rule as a fault of a suite file, without default values."""
    from dataclasses import MISSING, asdict, fields

    from faultkit.agents.parse.suite_faults import REQUIRED_SETTINGS, TARGET_KEYS
    from faultkit.plan import Schedule, Trigger

    match = asdict(rule.match)
    target = {key: match[key] for key in TARGET_KEYS if match[key] is not None}
    settings = {
        field.name: getattr(rule.fault, field.name)
        for field in fields(rule.fault)
        if field.default is MISSING
        or getattr(rule.fault, field.name) != field.default
        or REQUIRED_SETTINGS.get(rule.fault.kind) == field.name
    }
    trigger = {key: value for key, value in asdict(rule.trigger).items() if value != getattr(Trigger(), key)}
    found: dict[str, Any] = {"name": rule.name, "target": target or {"tool": "*"}, "kind": rule.fault.kind}
    if settings:
        found["with"] = settings
    if trigger:
        found["trigger"] = trigger
    if rule.schedule != Schedule():
        found["schedule"] = str(rule.schedule)
    return found


_LIST_TOOLS_S = 60.0
"""Time limit for listing the tools of the server."""


@click.command(
    "init",
    epilog="""\b
Examples:
  fault test init -- python my_server.py
  fault test init --url http://127.0.0.1:8000/mcp --out suites/mine.suite.yml
  fault test init --tools-from tools.yml
""",
)
@click.argument("argv", metavar="[-- COMMAND …]", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", metavar="URL", help="URL of a server over streamable HTTP.")
@click.option("--tools-from", metavar="FILE", help="Manifest or recording, as for `fault mock`.")
@click.option("--out", metavar="FILE", default="first.suite.yml", show_default=True, help="File to create.")
@click.option(
    "--writes", is_flag=True, help="Call tools of the server that are not declared read-only as well."
)
def init_command(
    argv: tuple[str, ...], url: str | None, tools_from: str | None, out: str, writes: bool
) -> None:
    """Write a first suite for a server, which tests each of its tools against a few faults.

    Tests of tools that may write, or whose arguments the schema does not tell, are skipped until you edit
    them: the suite calls the real server. With --tools-from no server is called, and none is skipped.
    """
    from faultkit.agents.execute.connected_servers import list_tools
    from faultkit.agents.scaffold import scaffold_suite, skip_reason
    from faultkit.agents.suite.definition import (
        CommandServer,
        MockServer,
        Serving,
        SourcePlace,
        SuiteServer,
        UrlServer,
    )

    if sum((bool(argv), url is not None, tools_from is not None)) != 1:
        raise InputError("", "expected one of -- COMMAND, --url URL and --tools-from FILE")
    path = Path(out)
    if os.path.exists(path):
        raise InputError("--out", f"expected a new file, got {out}, which is there; name another by --out")
    if not os.path.isdir(path.parent):
        raise InputError("--out", f"expected a file in a folder that is there, got {out}")
    serving: Serving
    if argv:
        serving = CommandServer(argv)
    elif url is not None:
        serving = UrlServer(url)
    else:
        assert tools_from is not None
        serving = MockServer(os.path.relpath(tools_from, path.parent))
    name = "server"
    reached = MockServer(tools_from) if tools_from is not None else serving
    tools = list_tools(SuiteServer(name, reached, SourcePlace(out, 1)), _LIST_TOOLS_S)
    if not tools:
        raise InputError("", "expected a server with tools, got one that lists none")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(scaffold_suite(out, name, serving, tools, writes=writes))
    except OSError as error:
        raise RunError(f"{out}: cannot be written: {error.strerror}") from None
    click.echo(f"{out}: a suite for {len(tools)} tools; run it with: fault test {out}")
    skipped = [] if tools_from is not None else [t.name for t in tools if skip_reason(t, writes=writes)]
    if skipped:
        click.echo(f"skipped until you edit them: {', '.join(map(printable_line, skipped))}")


@click.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of suite files."""
    from faultkit.agents.parse.suite_contents import suite_schema

    click.echo(json.dumps(suite_schema(), indent=2))
