"""`fault scenario`: the table of its subcommands, and validate, generate, schema and review."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from faultkit.base.errors import InputError
from faultkit.cli.command_groups import LazyCommand, lazy_group
from faultkit.cli.shared_options import json_option, print_json

command = lazy_group(
    "scenario",
    "Send load to a service while its network is broken, and report the results.",
    {
        "run": LazyCommand("faultkit.cli.scenario_run:run_command", "Run scenarios and write reports."),
        "validate": LazyCommand(
            "faultkit.cli.scenario:validate_command", "Check scenario files without running them."
        ),
        "generate": LazyCommand(
            "faultkit.cli.scenario:generate_command", "Generate scenarios from an OpenAPI document."
        ),
        "schema": LazyCommand(
            "faultkit.cli.scenario:schema_command", "Print the JSON Schema of a scenario, for editors."
        ),
        "review": LazyCommand(
            "faultkit.cli.scenario:review_command", "Explain results: what broke, and what to try."
        ),
    },
)


def scenario_path_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--scenario` and the arguments PATH to a command."""
    option = click.option(
        "-s",
        "--scenario",
        "scenarios",
        multiple=True,
        metavar="PATH",
        envvar="FAULT_SCENARIO_PATH",
        help="Scenario file, or folder that is searched for *.yaml and *.yml. Repeatable.",
    )
    argument = click.argument("paths", nargs=-1, metavar="[PATH]...")
    return argument(option(command))


def scenario_paths(paths: tuple[str, ...], scenarios: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths of the flag and the arguments; raise InputError if there are none."""
    wanted = (*scenarios, *paths)
    if not wanted:
        raise InputError("--scenario", "expected a file or a folder, got none")
    return wanted


@click.command("validate", epilog="Exits with 0 if all files are valid, and with 2 otherwise.")
@scenario_path_options
@json_option()
@click.pass_context
def validate_command(
    ctx: click.Context, paths: tuple[str, ...], scenarios: tuple[str, ...], as_json: bool
) -> None:
    """Check scenario files (or folders of them) without running them."""
    from faultkit.base.text import count_of
    from faultkit.scenario.scenario_file import read_scenario_files

    read = [read_scenario_files(path) for path in scenario_paths(paths, scenarios)]
    problems = [problem for _, found in read for problem in found]
    if as_json:
        click.echo(json.dumps({"valid": not problems, "problems": [str(problem) for problem in problems]}))
    elif problems:
        for problem in problems:
            click.echo(f"error: {problem}", err=True)
    else:
        found = [scenario for valid, _ in read for scenario in valid]
        items = sum(len(scenario.items) for scenario in found)
        click.echo(f"valid: {count_of(len(found), 'scenario')}, {count_of(items, 'item')}")
    if problems:
        ctx.exit(2)


@click.command(
    "generate",
    epilog="""\b
Examples:
  fault scenario generate --spec-file openapi.yaml --scenario scenarios/
  fault scenario generate --spec-url http://127.0.0.1:8000/openapi.json --scenario all.yaml
""",
)
@click.option(
    "-s",
    "--scenario",
    "target",
    metavar="PATH",
    default="scenarios",
    show_default=True,
    envvar="FAULT_SCENARIO_PATH",
    help="Where to write: a file (.yaml, .yml) for all scenarios, or a folder with one file per operation.",
)
@click.option(
    "--spec-file",
    metavar="FILE",
    envvar="FAULT_SCENARIO_OPENAPI_V3_SPEC_FILE",
    help="OpenAPI 3.0 or 3.1 document, JSON or YAML.",
)
@click.option(
    "--spec-url", metavar="URL", envvar="FAULT_SCENARIO_OPENAPI_V3_SPEC_URL", help="URL of such a document."
)
@click.option(
    "--operation",
    "operations",
    multiple=True,
    metavar="NAME",
    help='Only this operation: its id, "GET /path" or "/path", or a glob. Repeatable.',
)
@click.option("--server", metavar="URL", help="Base URL of the calls, in place of the document's.")
@click.option(
    "--writes",
    is_flag=True,
    help="Also operations that may change something: POST, PUT, PATCH, DELETE. A run calls each of them "
    "hundreds of times.",
)
@click.option("--force", is_flag=True, help="Replace existing files.")
def generate_command(
    target: str,
    spec_file: str | None,
    spec_url: str | None,
    operations: tuple[str, ...],
    server: str | None,
    writes: bool,
    force: bool,
) -> None:
    """Generate eight scenarios for each operation of an OpenAPI document that only reads.

    Nothing is called. The last line says which servers a run would call, and for how long.
    """
    if (spec_file is None) == (spec_url is None):
        came = "neither" if spec_file is None else "both"
        raise InputError("--spec-file", f"expected either --spec-file or --spec-url, got {came}")

    from faultkit.base.text import count_of
    from faultkit.base.units import format_duration
    from faultkit.scenario.openapi.openapi_document import DocumentSource
    from faultkit.scenario.openapi.scenario_generator import (
        SAFE_METHODS,
        expected_seconds,
        generate,
        hosts_of,
        is_one_file,
        write_generated,
    )

    source = (
        DocumentSource(spec_url, is_url=True) if spec_url is not None else DocumentSource(spec_file or "")
    )
    path = Path(target)
    files = generate(source, operations=operations, server=server, split=not is_one_file(path), writes=writes)
    written = write_generated(files, path, force=force)
    scenarios = sum(file.scenarios for file in files)
    chosen = sum(len(file.operation_ids) for file in files)
    made = f"{count_of(scenarios, 'scenario')} for {count_of(chosen, 'operation')}"
    click.echo(f"{made}: {written[0] if len(written) == 1 else path}")
    writing = sum(each.method not in SAFE_METHODS for file in files for each in file.operations)
    changing = f"; {count_of(writing, 'operation')} may change something" if writing else ""
    takes = format_duration(round(expected_seconds(files)))
    click.echo(f"A run calls {', '.join(hosts_of(files))}{changing}; it takes at least {takes}.", err=True)


@click.command("schema", epilog="For example: fault scenario schema > scenario.schema.json")
def schema_command() -> None:
    """Print the JSON Schema (draft 2020-12) of a scenario, for editors."""
    from faultkit.scenario.scenario_keys import scenario_schema

    print_json(scenario_schema())


@click.command("review", epilog="For example: fault scenario review results.json --report review.md")
@click.argument("results", default="results.json")
@click.option(
    "--report", metavar="PATH", help="Write the review to this file, as Markdown, in place of stdout."
)
@json_option()
def review_command(results: str, report: str | None, as_json: bool) -> None:
    """Explain RESULTS: what broke, how much, the likely cause, and what to try next.

    RESULTS is a file that `fault scenario run` wrote, by default results.json.
    """
    from dataclasses import asdict

    from faultkit.base.files import check_output_path, write_output
    from faultkit.scenario.report.report_files import read_report
    from faultkit.scenario.report.review import render_review, review_report

    path = Path(results)
    if not os.path.exists(path):
        raise InputError("RESULTS", f'expected a file that `fault scenario run` wrote, got "{results}"')
    if report is not None:
        check_output_path(report, (".md",))
    reviewed = review_report(read_report(path))
    if as_json:
        print_json(asdict(reviewed))
    elif report is None:
        click.echo(render_review(reviewed))
    else:
        write_output(report, render_review(reviewed))
