"""`fault mock`: a server made of a file, as broken as you like."""

from __future__ import annotations

from typing import Literal

import click


@click.command(
    epilog="""\b
Examples:
  fault mock --tools-from tools.yml
  fault mock --tools-from tools.yml --fault hang
  fault mock --tools-from tools.yml --fault slow:500@search --fault tool_error@book%0.2
  fault mock --tools-from tools.yml --front http --port 8765 --fault http_status:503
`fault faults` lists the faults; those of level call can be used here.
"""
)
@click.option(
    "--tools-from",
    "tools_from",
    metavar="FILE",
    required=True,
    help="Manifest of tools, resources and prompts (YAML or JSON), or a recording of `fault gateway`.",
)
@click.option(
    "--fault",
    "faults",
    metavar="SPEC",
    multiple=True,
    help="none, hang, wedged, slow:MS, recover-after:N, or any other fault, with @TOOL for one tool only.",
)
@click.option("--plan", "plan_file", metavar="FILE", help="A plan of rules besides, or in place of, --fault.")
@click.option(
    "--front",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="How clients speak to it.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address for --front http.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port for --front http."
)
@click.option("--seed", default="0", show_default=True, help="Seed of all chance.")
def command(
    tools_from: str,
    faults: tuple[str, ...],
    plan_file: str | None,
    front: Literal["stdio", "http"],
    host: str,
    port: int,
    seed: str,
) -> None:
    """Serve the tools of a file over MCP, both eras of it, and break their calls as told.

    Only tools/call is touched unless a fault is aimed elsewhere: clients connect and see the tools, and then
    meet the fault. A call that hangs ends after ten minutes with an error that says so.
    """
    from faultkit.cli.calls import call_plan
    from faultkit.mcp.mock.file import load_manifest
    from faultkit.mcp.mock.run import MockJob, check_job, run_mock
    from faultkit.mcp.serving import run_to_end

    job = MockJob(load_manifest(tools_from), call_plan(faults, plan_file, seed), front, host, port)
    check_job(job)
    run_to_end(run_mock(job, lambda line: click.echo(line, err=True)))
