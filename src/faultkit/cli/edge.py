"""`fault edge`: probe an MCP server with edge cases."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

import click

from faultkit.base.errors import InputError
from faultkit.cli.shared_options import json_option

MET, MISSED = 0, 1

_EPILOG = """\b
Exit codes:
  0  no MUST failed (with --strict, no SHOULD either)
  1  a MUST (with --strict, a SHOULD) failed
  2  wrong input
  3  the server could not be started or reached

\b
Examples:
  fault edge -- python server.py
  fault edge --url http://127.0.0.1:8000/mcp --strict
  fault edge --tool search --only EDGE-001 --only EDGE-004 -- python server.py
  fault edge --slow 'sleep={"seconds": 60}' --timeout 30s -- python server.py
  fault edge --json --report edge.md -- python server.py
"""


@click.command(epilog=_EPILOG)
@click.argument("server_command", metavar="-- COMMAND…", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", metavar="URL", default="", help="URL of a server over HTTP, in place of COMMAND.")
@click.option(
    "--header", "headers", metavar="NAME: VALUE", multiple=True, help="Header to send to --url. Repeatable."
)
@click.option("--only", metavar="ID", multiple=True, help="Run only this probe. Repeatable.")
@click.option(
    "--tool",
    "tools",
    metavar="NAME",
    multiple=True,
    help="Call this tool, whatever its annotations say. Repeatable. By default, only tools are called whose "
    "annotations declare them harmless.",
)
@click.option(
    "--slow",
    metavar="TOOL[={JSON}]",
    help="Tool call that takes longer than the server's own time limit, for EDGE-006.",
)
@click.option(
    "--timeout", metavar="DURATION", default="10s", show_default=True, help="How long to wait for a reply."
)
@click.option("--strict", is_flag=True, help="Exit with 1 also if a SHOULD failed.")
@json_option("Print the results as JSON.")
@click.option("--report", metavar="FILE.md", help="Write the results and their evidence as Markdown.")
def command(
    server_command: tuple[str, ...],
    url: str,
    headers: tuple[str, ...],
    only: tuple[str, ...],
    tools: tuple[str, ...],
    slow: str | None,
    timeout: str,
    strict: bool,
    as_json: bool,
    report: str | None,
) -> int:
    """Probe an MCP server with edge cases: odd and oversized input, concurrent calls, broken messages.

    Tools are called with arguments that their schemas allow. Only a tool that is read-only, or named by
    --tool, is also called with wrong ones, to check that it refuses them. The tools that were called are
    listed at the end.
    """
    from faultkit.base.files import check_output_path, write_whole
    from faultkit.base.signals import run_until_signal
    from faultkit.cli.call_plan import header_pairs
    from faultkit.cli.mock import refuse_unused_flags
    from faultkit.cli.shared_options import seconds_of
    from faultkit.mcp.mcp_client import ServerAddress
    from faultkit.mcp.probe.servers.probe_report import lines_of, summary_of, to_json, to_markdown
    from faultkit.mcp.probe.servers.probe_results import ProbeOptions, ProbeResult
    from faultkit.mcp.probe.servers.probe_run import check_run, probe_server

    if not url:
        refuse_unused_flags(("--header",), "--url URL")
    if report is not None:
        check_output_path(report, (".md",))
    address = ServerAddress(command=server_command, url=url, headers=dict(header_pairs(headers)))
    options = ProbeOptions(
        only, tools, None if slow is None else _slow_call(slow), seconds_of("--timeout", timeout)
    )
    check_run(address, options)

    def show(result: ProbeResult) -> None:
        if not as_json:
            click.echo(lines_of(result))
        elif sys.stderr.isatty():
            click.echo(lines_of(result), err=True)

    results = run_until_signal(probe_server(address, options, show))
    if as_json:
        click.echo(to_json(results), nl=False)
    else:
        for note in results.notes:
            click.echo(f"note: {note}")
        click.echo(summary_of(results))
    if report is not None:
        write_whole(report, to_markdown(results))
    return MET if results.is_met(strict=strict) else MISSED


def _slow_call(text: str) -> tuple[str, Mapping[str, object] | None]:
    """Return the tool of --slow and its arguments; None if only the tool is named."""
    name, equals, json_text = text.partition("=")
    if not name:
        raise InputError("--slow", f'expected TOOL or TOOL={{JSON}}, got "{text}"')
    if not equals:
        return name, None
    try:
        arguments = json.loads(json_text)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise InputError("--slow", f'expected a JSON object behind "{name}=", got "{json_text[:60]}"')
    return name, arguments
