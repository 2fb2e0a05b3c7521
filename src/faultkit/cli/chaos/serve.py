"""`fault chaos serve`: the three chaos tools over MCP, and nothing else."""

from __future__ import annotations

import os

import click

from faultkit.cli.agent.tool import INTERRUPTED, collect_log, explain_to_people, without_collection
from faultkit.cli.chaos.options import ChaosOptions, chaos_options, settings_of
from faultkit.cli.serving_tools import serving_options

TOKEN_VARIABLE = "FAULT_CHAOS_TOKEN"
DEFAULT_PORT = 7438
READ_ONLY = ("chaos_status",)


@click.command("serve", epilog="For example: fault chaos serve --transport http --port 7438")
@serving_options(DEFAULT_PORT, TOKEN_VARIABLE)
@click.option(
    "--read-only", is_flag=True, help="Serve chaos_status alone: clients may look, and break nothing."
)
@chaos_options
def command(
    transport: str, host: str, port: int, token: str | None, read_only: bool, chaos: ChaosOptions
) -> int:
    """Serve chaos_inject_fault, chaos_run_experiment and chaos_status to MCP clients.

    When it ends, in whatever way, every fault that it began ends, too.
    """
    settings = settings_of(chaos, source="mcp", transport=transport)
    with without_collection():
        from faultkit.agent_tools.calls import Calls
        from faultkit.agent_tools.chaos_tools import CHAOS_TOOLS, INSTRUCTIONS
        from faultkit.agent_tools.services import Services
        from faultkit.agent_tools.stdio import run_stdio

    services = Services(chaos=lambda: settings)
    services.chaos_session()  # What is wrong with the store is said now, not to the first client.
    tools = {name: tool for name, tool in CHAOS_TOOLS.items() if not read_only or name in READ_ONLY}
    calls = Calls(services)
    collect_log(is_stdout_ours=transport != "stdio")
    if transport == "http":
        from faultkit.agent_tools.http import HttpServer

        known = (os.environ.get(TOKEN_VARIABLE) or None) if token is None else token
        server = HttpServer(calls, host, port, known, tools, INSTRUCTIONS, "fault chaos serve")
        ending = server.run(lambda url: click.echo(f"MCP over HTTP on {url}", err=True))
    else:
        explain_to_people()
        ending = run_stdio(calls, tools, INSTRUCTIONS)
    return INTERRUPTED if ending == "interrupt" else 0
