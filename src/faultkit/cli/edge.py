"""`fault edge`: any MCP server, probed at the edges of what clients send."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

import click

from faultkit.base.errors import InputError

MET, MISSED = 0, 1

_EPILOG = """\b
Exit codes:
  0  no MUST failed (with --strict, no SHOULD either)
  1  one did
  2  wrong input
  3  the server could not be had

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
@click.option("--url", metavar="URL", default="", help="A server over HTTP, in place of COMMAND.")
@click.option(
    "--header", "headers", metavar="NAME: VALUE", multiple=True, help="Sent to the --url. Can be given again."
)
@click.option("--only", metavar="ID", multiple=True, help="This probe only. Can be given again.")
@click.option(
    "--tool",
    "tools",
    metavar="NAME",
    multiple=True,
    help="Call this tool, whatever its annotations say. Can be given again. By default those are called that "
    "say of themselves that they do no harm.",
)
@click.option(
    "--slow",
    metavar="TOOL[={JSON}]",
    help="A call that takes longer than the server's own limit, for EDGE-006. The tool is called with it.",
)
@click.option(
    "--timeout", metavar="DURATION", default="10s", show_default=True, help="How long to wait for an answer."
)
@click.option("--strict", is_flag=True, help="A SHOULD that failed fails the run.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
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
    """Probe an MCP server at the edges: odd and oversized input, calls at once, broken messages.

    Tools are called with arguments that their schemas allow; only a tool that is read-only, or named by
    --tool, gets others once, to see that it refuses them. What was called is told at the end.
    """
    from faultkit.cli.calls import header_pairs
    from faultkit.cli.durations import seconds_of
    from faultkit.cli.serving import refuse_unused
    from faultkit.cli.to_end import finished
    from faultkit.mcp.client import At
    from faultkit.mcp.probe.servers.model import Result, Wish
    from faultkit.mcp.probe.servers.report import lines_of, summary_of, to_json, to_markdown
    from faultkit.mcp.probe.servers.run import check_run, probe_server
    from faultkit.scenario.report.files import check_report_path, write_whole

    if not url:
        refuse_unused(("--header",), "--url URL")
    if report is not None:
        check_report_path(report, (".md",))
    at = At(command=server_command, url=url, headers=dict(header_pairs(headers)))
    wish = Wish(only, tools, None if slow is None else _slow(slow), seconds_of("--timeout", timeout))
    check_run(at, wish)

    def say(result: Result) -> None:
        if not as_json:
            click.echo(lines_of(result))
        elif sys.stderr.isatty():
            click.echo(lines_of(result), err=True)

    found = finished(probe_server(at, wish, say))
    if as_json:
        click.echo(to_json(found), nl=False)
    else:
        for note in found.notes:
            click.echo(f"note: {note}")
        click.echo(summary_of(found))
    if report is not None:
        write_whole(report, to_markdown(found))
    return MET if found.is_met(strict=strict) else MISSED


def _slow(text: str) -> tuple[str, Mapping[str, object] | None]:
    name, equals, given = text.partition("=")
    if not name:
        raise InputError("--slow", f'expected TOOL or TOOL={{JSON}}, got "{text}"')
    if not equals:
        return name, None
    try:
        arguments = json.loads(given)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise InputError("--slow", f'expected a JSON object behind "{name}=", got "{given[:60]}"')
    return name, arguments
