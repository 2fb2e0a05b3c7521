"""`fault profile`: run an MCP client against every call fault, and report its behaviour."""

from __future__ import annotations

import sys
from typing import Literal

import click

DONE, UNKNOWN = 0, 4

_EPILOG = """\b
The client finds its server by
  {server}          in its command: the command line of a server on stdio
  {url}, {config}   in its command, or FAULT_MCP_URL and FAULT_MCP_CONFIG in its environment:
                    the URL of a server over HTTP, a file with `mcpServers` for either transport
A placeholder that is a word becomes as many words as it takes; within a word it is quoted for a shell.

\b
Exit codes:
  0  the client was profiled, whatever it did
  2  wrong input
  3  the client cannot be started
  4  the control run failed, so that nothing can be said

\b
Examples:
  fault profile -- python client.py {server}
  fault profile --transport http -- python client.py
  fault profile --fault hang --fault http_status:503 --timeout 20s -- python client.py {url}
  fault profile --tools-from tools.yml --report profile.md --json -- node client.js
"""


@click.command(epilog=_EPILOG)
@click.argument("client_command", metavar="-- CLIENT COMMAND…", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    help="How the client speaks to its server; by default stdio if its command has {server}, else http.",
)
@click.option(
    "--era",
    type=click.Choice(["legacy", "modern"]),
    help="The only era that the server speaks; by default both, and the client chooses.",
)
@click.option(
    "--fault",
    "faults",
    metavar="SPEC",
    multiple=True,
    help="This fault in place of all of them, as for `fault mock`. Can be given again.",
)
@click.option(
    "--tools-from",
    metavar="FILE",
    help="Manifest of the server's tools; by default two built-in ones.",
)
@click.option("--timeout", metavar="DURATION", default="30s", show_default=True, help="For each run.")
@click.option(
    "--parallel", type=click.IntRange(1, 64), default=2, show_default=True, help="So many runs at a time."
)
@click.option("--seed", default="0", show_default=True, help="Seed of all chance.")
@click.option("--json", "as_json", is_flag=True, help="Print the profile as JSON.")
@click.option("--report", metavar="FILE.md", help="Write the profile as Markdown.")
def command(
    client_command: tuple[str, ...],
    transport: Literal["stdio", "http"] | None,
    era: Literal["legacy", "modern"] | None,
    faults: tuple[str, ...],
    tools_from: str | None,
    timeout: str,
    parallel: int,
    seed: str,
    as_json: bool,
    report: str | None,
) -> int:
    """Run an MCP client once for each fault that can hit it, and report what it did.

    Each run has a server of its own with one fault. The messages show whether the client survived, retried,
    cancelled or began anew, and what it left open. A run without a fault comes first.
    """
    from faultkit.base.files import check_output_path, write_whole
    from faultkit.base.signals import run_until_signal
    from faultkit.cli.shared_options import seconds_of
    from faultkit.mcp.probe.clients.client_behaviour import ClientBehaviour
    from faultkit.mcp.probe.clients.client_profile import check_job, profile_client
    from faultkit.mcp.probe.clients.client_run import SERVER, ProfileJob
    from faultkit.mcp.probe.clients.profile_report import summary_of, to_json, to_markdown, to_text

    if report is not None:
        check_output_path(report, (".md",))
    on_pipes = any(SERVER in word for word in client_command)
    job = ProfileJob(
        client_command,
        transport or ("stdio" if on_pipes else "http"),
        era,
        tools_from,
        seed,
        seconds_of("--timeout", timeout),
    )
    check_job(job, faults)

    def say(number: int, of: int, conduct: ClientBehaviour) -> None:
        if sys.stderr.isatty():
            click.echo(f"{number}/{of} {conduct.spec}: {conduct.outcome}", err=True)

    found = run_until_signal(profile_client(job, faults, parallel=parallel, on_row=say))
    if as_json:
        click.echo(to_json(found), nl=False)
    else:
        click.echo(to_text(found), nl=False)
        click.echo(summary_of(found))
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
    if report is not None:
        write_whole(report, to_markdown(found))
    return UNKNOWN if found.control.outcome == "inconclusive" else DONE
