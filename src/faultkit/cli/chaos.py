"""`fault chaos`: the table of its subcommands, and `fault chaos serve`."""

from __future__ import annotations

import os

import click

from faultkit.cli.agent import INTERRUPTED, explain_stdio, redirect_library_logs, without_garbage_collection
from faultkit.cli.chaos_options import ChaosOptions, chaos_options, chaos_settings
from faultkit.cli.lazy import LazyCommand, LazyGroup
from faultkit.cli.shared_options import tool_server_options

_HELP = """Break a dependency of a service, check whether its steady state holds, and always roll back.

A limits file (--limits, FAULT_CHAOS_LIMITS) says what may be broken, where and for how long: environments,
targets, most_duration_s and others. FAULT_ENVIRONMENT names the environment of this machine; production is
refused unless the limits file allows it. No experiment and no tool can raise a limit.
"""

command = LazyGroup(
    "chaos",
    help=_HELP,
    epilog="`fault chaos init` writes a first experiment. docs/chaos.md has the details.",
    entries={
        "init": LazyCommand(
            "faultkit.cli.chaos_files:init_command", "Write a commented experiment for your service."
        ),
        "run": LazyCommand(
            "faultkit.cli.chaos_run:run_command", "Run an experiment, or several as a game day."
        ),
        "validate": LazyCommand(
            "faultkit.cli.chaos_files:validate_command", "Check experiments without running them."
        ),
        "list": LazyCommand("faultkit.cli.chaos_control:list_command", "List experiments and game days."),
        "status": LazyCommand(
            "faultkit.cli.chaos_control:status_command", "Show active faults, and the results of past runs."
        ),
        "stop": LazyCommand(
            "faultkit.cli.chaos_control:stop_command", "Stop all experiments, and let none start."
        ),
        "recover": LazyCommand(
            "faultkit.cli.chaos_control:recover_command", "Undo the faults that a crash has left."
        ),
        "serve": LazyCommand("faultkit.cli.chaos:serve_command", "Serve the chaos tools over MCP."),
    },
)


TOKEN_VARIABLE = "FAULT_CHAOS_TOKEN"
DEFAULT_PORT = 7438
READ_ONLY = ("chaos_status",)


@click.command("serve", epilog="For example: fault chaos serve --transport http --port 7438")
@tool_server_options(DEFAULT_PORT, TOKEN_VARIABLE)
@click.option(
    "--read-only", is_flag=True, help="Serve only chaos_status: clients can look, but break nothing."
)
@chaos_options
def serve_command(
    transport: str, host: str, port: int, token: str | None, read_only: bool, chaos: ChaosOptions
) -> int:
    """Serve chaos_inject_fault, chaos_run_experiment and chaos_status to MCP clients.

    When the server ends, also by a crash, every fault that it started ends.
    """
    settings = chaos_settings(chaos, source="mcp", transport=transport)
    with without_garbage_collection():
        from faultkit.agent_tools.chaos.chaos_tools import CHAOS_TOOLS, INSTRUCTIONS
        from faultkit.agent_tools.framework.tool import Services
        from faultkit.agent_tools.framework.tool_runner import ToolRunner
        from faultkit.agent_tools.stdio_server import run_stdio

    services = Services(chaos=lambda: settings)
    services.chaos_session()  # A store that cannot be opened ends the command now, not at the first call.
    tools = {name: tool for name, tool in CHAOS_TOOLS.items() if not read_only or name in READ_ONLY}
    calls = ToolRunner(services)
    redirect_library_logs(is_stdout_ours=transport != "stdio")
    if transport == "http":
        from faultkit.agent_tools.http_server import HttpServer

        required_token = (os.environ.get(TOKEN_VARIABLE) or None) if token is None else token
        server = HttpServer(calls, host, port, required_token, tools, INSTRUCTIONS, "fault chaos serve")
        reason = server.run(lambda url: click.echo(f"MCP over HTTP on {url}", err=True))
    else:
        explain_stdio()
        reason = run_stdio(calls, tools, INSTRUCTIONS)
    return INTERRUPTED if reason == "interrupt" else 0
