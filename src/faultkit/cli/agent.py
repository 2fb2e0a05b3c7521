"""`fault agent`: tools for coding agents, and their registration with MCP clients.

Also holds what every MCP server on stdio needs at its start; `fault chaos serve` uses that, too.
"""

from __future__ import annotations

import gc
import logging
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from faultkit.base.errors import InputError
from faultkit.cli.chaos_options import EXPERIMENTS, chaos_settings, options_from_environment, read_limits
from faultkit.cli.lazy import LazyCommand, LazyGroup
from faultkit.cli.llm import FLAGS, LlmOptions, llm_options, llm_settings_from
from faultkit.cli.shared_options import INDEX_DIR, optional_seconds, tool_server_options

if TYPE_CHECKING:
    from faultkit.agent_tools.framework.load_limits import LoadLimits

COMMANDS: dict[str, LazyCommand] = {
    "tool": LazyCommand("faultkit.cli.agent:tool_command", "Serve Faultkit's tools to an MCP client."),
    "install": LazyCommand(
        "faultkit.cli.agent_install:install_command",
        "Register the tools with an MCP client.",
    ),
}


@click.group("agent", cls=LazyGroup, entries=COMMANDS)
@llm_options
@click.pass_context
def command(ctx: click.Context, llm: LlmOptions) -> None:
    """Tools for coding agents, over the Model Context Protocol (MCP).

    The flags for a language model may stand before the subcommand or after it. Without an API key and
    without these flags, advice comes from the offline rules.
    """
    values = {f"llm_{flag.field}": getattr(llm, flag.field) for flag in FLAGS}
    # A flag before the subcommand is the default of the same flag after it.
    ctx.default_map = {name: {key: value for key, value in values.items() if value} for name in COMMANDS}


INTERRUPTED = 130
TOKEN_VARIABLE = "FAULT_AGENT_TOKEN"
DEFAULT_PORT = 7437
_LIBRARY_LOGGERS = ("mcp", "uvicorn", "asyncio")
"""Loggers of the libraries that serve MCP."""


@click.command("tool", epilog="For example: fault agent tool --transport http --port 7437")
@tool_server_options(DEFAULT_PORT, TOKEN_VARIABLE)
@INDEX_DIR
@click.option(
    "--allow-target",
    "allow_targets",
    multiple=True,
    metavar="HOST",
    help="Allow impact tools to send load to HOST, HOST:PORT, *.SUFFIX or a network, in addition to this "
    "machine and private addresses. Repeatable.",
)
@click.option("--max-duration", metavar="DURATION", help="Longest load run that a client may ask for. [5m]")
@click.option("--max-clients", type=click.IntRange(1), metavar="N", help="Most load clients of a run. [100]")
@click.option(
    "--max-rps",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="Most requests a second of a run. [500]",
)
@click.option("--max-timeout", metavar="DURATION", help="Longest timeout of a request. [1m]")
@EXPERIMENTS
@llm_options
def tool_command(
    transport: str,
    host: str,
    port: int,
    token: str | None,
    index_dir: str | None,
    allow_targets: tuple[str, ...],
    max_duration: str | None,
    max_clients: int | None,
    max_rps: float | None,
    max_timeout: str | None,
    experiments: str,
    llm: LlmOptions,
) -> int:
    """Serve Faultkit's tools to an MCP client, such as an editor or a coding agent.

    Over stdio the server ends when its client closes stdin. `fault agent install CLIENT` registers it.
    """
    limits = _load_limits(allow_targets, max_duration, max_clients, max_rps, max_timeout)
    settings = llm_settings_from(llm)
    chaos = options_from_environment(os.environ, experiments)
    read_limits(chaos.limits)  # A mistake in them ends the command now, not at the first call of a tool.
    # These imports take about a second and make no garbage: collections would take a tenth of that.
    with without_garbage_collection():
        from faultkit.agent_tools.framework.tool import Services
        from faultkit.agent_tools.framework.tool_runner import ToolRunner
        from faultkit.agent_tools.stdio_server import run_stdio
        from faultkit.agent_tools.tool_table import AGENT_TOOLS

    services = Services(settings, index_dir, limits)
    services.chaos = lambda: chaos_settings(chaos, source="mcp", transport=transport)
    calls = ToolRunner(services)
    redirect_library_logs(is_stdout_ours=transport != "stdio")
    if transport == "http":
        from faultkit.agent_tools.http_server import HttpServer

        # An empty --token is passed on and refused: it may come from a shell variable that is not set, and
        # must not mean that no token is needed.
        required_token = (os.environ.get(TOKEN_VARIABLE) or None) if token is None else token
        server = HttpServer(calls, host, port, required_token, AGENT_TOOLS)
        reason = server.run(lambda url: click.echo(f"MCP over HTTP on {url}", err=True))
    else:
        explain_stdio()
        reason = run_stdio(calls, AGENT_TOOLS)
    logging.getLogger("faultkit.agent_tools").info("the server ended: %s", reason)
    return INTERRUPTED if reason == "interrupt" else 0


def explain_stdio() -> None:
    """Print what an MCP server on stdio is for if a person has started it on a terminal."""
    if sys.stdin.isatty():
        click.echo(
            "this is an MCP server: an MCP client starts it and talks to it over stdin and stdout "
            "(`fault agent install CLIENT` registers it); Ctrl-C ends it",
            err=True,
        )


def _load_limits(
    allow_targets: tuple[str, ...],
    max_duration: str | None,
    max_clients: int | None,
    max_rps: float | None,
    max_timeout: str | None,
) -> LoadLimits:
    from faultkit.agent_tools.framework.load_limits import LoadLimits

    if max_rps is not None and math.isnan(max_rps):
        raise InputError("--max-rps", "expected a number, got nan")
    flags: dict[str, Any] = {
        "max_duration_s": optional_seconds("--max-duration", max_duration),
        "max_clients": max_clients,
        "max_rps_total": max_rps,
        "max_timeout_s": optional_seconds("--max-timeout", max_timeout),
    }
    try:
        return LoadLimits(
            allow_targets=allow_targets, **{key: value for key, value in flags.items() if value is not None}
        )
    except ValueError as error:
        raise InputError("--allow-target", str(error).removeprefix("allow_targets: ")) from None


def redirect_library_logs(*, is_stdout_ours: bool) -> None:
    """Send the log of the MCP libraries to the handlers of our own log.

    is_stdout_ours: False over stdio, where stdout carries MCP messages and the log goes to stderr"""
    own_log = logging.getLogger("faultkit")
    for handler in own_log.handlers:
        if not isinstance(handler, logging.StreamHandler) or is_stdout_ours:
            continue
        if handler.stream is sys.stdout:
            handler.setStream(sys.stderr)
            click.echo("warning: stdout carries MCP messages: the log goes to stderr", err=True)
    for name in _LIBRARY_LOGGERS:
        log = logging.getLogger(name)
        log.handlers[:] = own_log.handlers
        log.setLevel(max(own_log.level, logging.INFO))
        log.propagate = False


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Turn the garbage collector off for a block of imports, and exempt what they made from it afterwards."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # Modules live as long as the process: later collections need not visit them.
        gc.enable()
