"""`fault scenario generate`: scenarios from an OpenAPI document, for a start."""

from __future__ import annotations

from pathlib import Path

import click

from faultkit.base.errors import InputError


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
    help="Where to: a file (.yaml, .yml) for all, or a folder with a file for each operation.",
)
@click.option(
    "--spec-file",
    metavar="FILE",
    envvar="FAULT_SCENARIO_OPENAPI_V3_SPEC_FILE",
    help="An OpenAPI 3.0 or 3.1 document, JSON or YAML.",
)
@click.option(
    "--spec-url", metavar="URL", envvar="FAULT_SCENARIO_OPENAPI_V3_SPEC_URL", help="The same, by its address."
)
@click.option(
    "--operation",
    "operations",
    multiple=True,
    metavar="NAME",
    help='Only this one: its id, "GET /path" or "/path"; globs will do. Repeatable.',
)
@click.option("--server", metavar="URL", help="Base URL of the calls, instead of the document's.")
@click.option("--force", is_flag=True, help="Replace files that are there already.")
def command(
    target: str,
    spec_file: str | None,
    spec_url: str | None,
    operations: tuple[str, ...],
    server: str | None,
    force: bool,
) -> None:
    """Make scenarios for every operation of an OpenAPI document: eight for each."""
    if (spec_file is None) == (spec_url is None):
        came = "neither" if spec_file is None else "both"
        raise InputError("--spec-file", f"expected either --spec-file or --spec-url, got {came}")

    from faultkit.scenario.openapi.generate import generate, is_one_file, write_generated
    from faultkit.scenario.openapi.read import Source
    from faultkit.scenario.report.phrases import count_of

    source = Source(spec_url, is_url=True) if spec_url is not None else Source(spec_file or "")
    path = Path(target)
    files = generate(source, operations=operations, server=server, split=not is_one_file(path))
    written = write_generated(files, path, force=force)
    scenarios = sum(file.scenarios for file in files)
    chosen = sum(len(file.operation_ids) for file in files)
    made = f"{count_of(scenarios, 'scenario')} for {count_of(chosen, 'operation')}"
    click.echo(f"{made}: {written[0] if len(written) == 1 else path}")
