"""The sub-commands of `fault test`: coverage, rank, shrink, init and schema."""

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
from faultkit.cli.shared_options import columns

if TYPE_CHECKING:
    from faultkit.agents.suite.definition import AgentTest, Suite
    from faultkit.plan import Rule


@click.command("coverage")
@click.argument("paths", metavar="[PATH]…", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option(
    "--threshold",
    type=click.IntRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 if fewer tools and phases are tested.",
)
def coverage_command(paths: tuple[str, ...], as_json: bool, threshold: int | None) -> int:
    """Show which tools meet which faults on the way there (request) and back (reply), and which meet none.

    Nothing is run. Of servers that are not mocks, only the tools that the suite names are counted.
    """
    from faultkit.agents.coverage import coverage_of
    from faultkit.cli.suites import NOT_MET, find_suites, load_all

    coverage = coverage_of(load_all(find_suites(paths), {}))
    share = coverage.share
    if as_json:
        untested = [dict(zip(("server", "tool", "phase"), each, strict=True)) for each in coverage.untested]
        covered = [asdict(each) for each in coverage.covered]
        click.echo(json.dumps({"share": share, "covered": covered, "untested": untested}, indent=2))
    else:
        rows = [
            (f"{each.server}/{each.tool}", each.phase, each.fault, str(len(each.tests)))
            for each in coverage.covered
        ]
        rows += [(f"{server}/{tool}", phase, "–", "untested") for server, tool, phase in coverage.untested]
        click.echo(columns([("tool", "phase", "fault", "tests"), *sorted(rows)]))
        if share is not None:
            click.echo(f"\n{100 * share:.0f} % of tools and phases meet a fault")
    return NOT_MET if threshold is not None and 100 * (share or 0.0) < threshold else 0


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
@click.option("--seed", metavar="SEED", help="In place of the suites' own.")
@click.option("--repeat", type=click.IntRange(1, 10_000), metavar="N", help="Run each agent so often.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def rank_command(
    paths: tuple[str, ...], vary: str | None, seed: str | None, repeat: int | None, as_json: bool
) -> None:
    """Rank the agents of suites by a figure from 0 to 100, made of all runs that met a fault.

    A run that does not pass its gate scores 0. A run that passes scores 40 for reaching its goal, 20 for a
    truthful answer, 20 for no useless calls, and 20 for no duplicate effects and for waiting when asked to.
    The table lists the best first.
    """
    from faultkit.agents.ranking import agent_name, rank_agents
    from faultkit.agents.selection import Selection, select, tests_of
    from faultkit.agents.suite.definition import AgentTest
    from faultkit.agents.suite.results import Row
    from faultkit.agents.suite.run_options import Options, given_seed
    from faultkit.agents.suite_runner import run_suites_blocking
    from faultkit.cli.suites import find_suites, load_all

    rows: list[tuple[str, Row]] = []
    for variables in _variations(vary):
        suites = load_all(find_suites(paths), variables, "--vary")
        ended = run_suites_blocking(
            select(suites, Selection()), Options(seed=given_seed(seed), repeat=repeat)
        )
        if ended.signal is not None:
            raise click.exceptions.Exit(128 + ended.signal)
        for suite, result in zip(suites, ended.results.suites, strict=True):
            names = {test.name: agent_name(test) for test in tests_of(suite) if isinstance(test, AgentTest)}
            for row in result.rows:
                name = names.get(row.name.removesuffix(" (recovery)"))
                if name is not None and row.runs:
                    rows.append((name, row))
    standings = rank_agents(rows)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in standings], indent=2))
        return
    click.echo(
        f"{'agent':<16}{'score':>7}{'gate':>9}{'goal':>9}{'honest':>9}{'wasted':>9}{'twice':>7}{'early':>7}"
    )
    for one in standings:
        score = "–" if one.score is None else f"{one.score:.1f}"
        passed, goals, honest = (f"{n}/{one.hit}" for n in (one.passed, one.goals, one.honest))
        click.echo(
            f"{one.agent:<16}{score:>7}{passed:>9}{goals:>9}{honest:>9}"
            f"{one.wasted_calls:>9}{one.duplicate_effects:>7}{one.early_calls:>7}"
        )


def _variations(vary: str | None) -> list[dict[str, str]]:
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
@click.option("--seed", metavar="SEED", help="In place of the suite's own.")
@click.option("--out", metavar="FILE", help="What to write; a new file beside the suite if not given.")
def shrink_command(path: str, name: str, seed: str | None, out: str | None) -> None:
    """Reduce what a failing test injects to the least that still fails in the same way.

    Faults are left out, triggers, schedules and settings are put back to their defaults, counts made smaller,
    as long as the same limits are broken. All of it in virtual time.
    """
    from faultkit.agents.selection import SelectedTests, Selection, select
    from faultkit.agents.shrink import shrink_test
    from faultkit.agents.suite.definition import AgentTest, CommandAgent, ModelAgent
    from faultkit.agents.suite.run_options import Options, given_seed
    from faultkit.agents.suite_runner import run_suites_blocking
    from faultkit.cli.suites import find_suites, load_all

    chosen = select(load_all(find_suites([path]), {}), Selection((name,) if name else ()))
    found = [(each.suite, test) for each in chosen for test in each.tests if isinstance(test, AgentTest)]
    options = Options(seed=given_seed(seed))

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
        raise InputError(test.name, "expected a scripted agent: what others do in a second run is not known")
    smaller, least = shrink_test(suite, test, lambda one, other: broken(one, other) == why)
    file = Path(out) if out else _beside(Path(test.place.file), test.name)
    _write(file, test, least, [fault.rule for fault in smaller.faults])
    for fault in smaller.faults:
        click.echo(f"needed: {_said(_document(fault.rule))}")
    again = f" --seed {shlex.quote(seed)}" if seed is not None else ""
    click.echo(f"repro: fault test {shlex.quote(str(file))}{again}")


def _beside(suite: Path, name: str) -> Path:
    return suite.parent / f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-') or 'test'}.suite.yml"


def _write(file: Path, test: AgentTest, least: AgentTest, rules: list[Rule]) -> None:
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
    kept |= {"faults": [_document(rule) for rule in rules], "agents": [one]}
    head = f"# The least of {Path(test.place.file).name} that still fails, by `fault test shrink`.\n"
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(head + yaml.safe_dump(kept, sort_keys=False, allow_unicode=True))
    except FileExistsError:
        raise InputError("--out", f"expected a new file, got {file}, which is there") from None
    except OSError as error:
        raise RunError(f"{file}: cannot be written: {error.strerror}") from None


def _document(rule: Rule) -> dict[str, Any]:
    """Return a rule as a fault of a suite file, without values that are the default."""
    from dataclasses import MISSING, asdict, fields

    from faultkit.agents.parse.suite_faults import NEEDED, TARGET_KEYS
    from faultkit.plan import Schedule, Trigger

    match = asdict(rule.match)
    target = {key: match[key] for key in TARGET_KEYS if match[key] is not None}
    settings = {
        field.name: getattr(rule.fault, field.name)
        for field in fields(rule.fault)
        if field.default is MISSING
        or getattr(rule.fault, field.name) != field.default
        or NEEDED.get(rule.fault.kind) == field.name
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


def _said(document: dict[str, Any]) -> str:
    rest = {key: value for key, value in document.items() if key not in ("name", "kind")}
    return f"{document['kind']} {', '.join(f'{key} {json.dumps(value)}' for key, value in rest.items())}"


_LIMIT_S = 60.0


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
@click.option("--url", metavar="URL", help="Of a server over streamable HTTP.")
@click.option("--tools-from", metavar="FILE", help="A manifest or a recording, as `fault mock` serves them.")
@click.option("--out", metavar="FILE", default="first.suite.yml", show_default=True, help="A new file.")
def init_command(argv: tuple[str, ...], url: str | None, tools_from: str | None, out: str) -> None:
    """Write a first suite for a server: each of its tools against a few faults."""
    from faultkit.agents.execute.suite_servers import list_tools
    from faultkit.agents.scaffold import scaffold_suite
    from faultkit.agents.suite.definition import (
        CommandServer,
        MockServer,
        Place,
        Serving,
        SuiteServer,
        UrlServer,
    )

    if sum((bool(argv), url is not None, tools_from is not None)) != 1:
        raise InputError("", "expected one of -- COMMAND, --url URL and --tools-from FILE")
    path = Path(out)
    if path.exists():
        raise InputError("--out", f"expected a new file, got {out}, which is there; name another by --out")
    if not path.parent.is_dir():
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
    tools = list_tools(SuiteServer(name, reached, Place(out, 1)), _LIMIT_S)
    if not tools:
        raise InputError("", "expected a server with tools, got one that lists none")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(scaffold_suite(out, name, serving, tools))
    except OSError as error:
        raise RunError(f"{out}: cannot be written: {error.strerror}") from None
    click.echo(f"{out}: a suite for {len(tools)} tools; run it with: fault test {out}")


@click.command("schema")
def schema_command() -> None:
    """Print the JSON schema of suite files."""
    from faultkit.agents.parse.suite_schema import suite_schema

    click.echo(json.dumps(suite_schema(), indent=2))
