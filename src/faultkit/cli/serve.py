"""`fault serve`: tools that fail on request."""

from __future__ import annotations

from typing import Literal, TypeAlias

import click

_Group: TypeAlias = Literal["identity", "data", "failure", "streaming"]
_GROUPS: tuple[_Group, ...] = ("identity", "data", "failure", "streaming")


@click.command(
    epilog="""\b
Examples:
  fault serve
  fault serve --transport http --port 8767
  fault serve --only failure --compat go-sdk
"""
)
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="How clients speak to it.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address for --transport http.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8767,
    show_default=True,
    help="Port for --transport http.",
)
@click.option(
    "--only", "groups", type=click.Choice(_GROUPS), multiple=True, help="Only the tools of this group."
)
@click.option(
    "--compat",
    type=click.Choice(["go-sdk"]),
    help="go-sdk: answer as the original really does, where its documents promise otherwise.",
)
@click.option("--name", default="faultkit-serve", show_default=True, help="Name of the server.")
def command(
    transport: Literal["stdio", "http"],
    host: str,
    port: int,
    groups: tuple[_Group, ...],
    compat: str | None,
    name: str,
) -> None:
    """Serve MCP tools whose failures can be foretold: error, slow, flaky, and nine that answer.

    For authors of gateways and clients, to point their own tests at. `flaky` with the same seed and call_id
    always comes to the same, on any machine.
    """
    from faultkit.mcp.failures.run import ServeJob, run_server
    from faultkit.mcp.failures.service import ServeSettings
    from faultkit.mcp.serving import run_to_end

    settings = ServeSettings(name, groups or _GROUPS, compat == "go-sdk")
    job = ServeJob(settings, transport, host, port)
    run_to_end(run_server(job, lambda line: click.echo(line, err=True)))
