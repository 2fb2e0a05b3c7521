"""`fault agent`: serve tools to coding agents, and register them with MCP clients."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faultkit.base.errors import InputError
from faultkit.base.text import did_you_mean
from faultkit.cli.chaos_options import EXPERIMENTS, chaos_settings, options_from_environment, read_limits
from faultkit.cli.command_groups import LazyCommand, LazyGroup
from faultkit.cli.llm import FLAGS, LlmOptions, llm_options, llm_settings_from
from faultkit.cli.shared_options import INDEX_DIR, optional_seconds
from faultkit.cli.tool_server import ToolServer

if TYPE_CHECKING:
    from faultkit.agent_tools.load_limits import LoadLimits
    from faultkit.agent_tools.tool import Tool
    from faultkit.mcp.hosts.host_configs import Host, Scope

SERVER = ToolServer("fault agent tool", 7437, "FAULT_AGENT_TOKEN")
COMMANDS: dict[str, LazyCommand] = {
    "tool": LazyCommand("faultkit.cli.agent:tool_command", "Serve Faultkit's tools to an MCP client."),
    "install": LazyCommand(
        "faultkit.cli.agent:install_command",
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


@click.command("tool", epilog="For example: fault agent tool --transport http --port 7437")
@SERVER.options
@click.option(
    "--allow-run",
    is_flag=True,
    help="Over HTTP, allow `verify`, which runs the file that a client names. Over stdio it is allowed.",
)
@click.option(
    "--pass-env",
    "passed_variables",
    multiple=True,
    metavar="NAME",
    help="Pass the variable NAME on to code that `verify` runs, although it may be a secret. Repeatable.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="TOOL",
    help="Serve only this tool, or the tools that a pattern such as fault_score_* matches. Repeatable.",
)
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
    root: str | None,
    allow_run: bool,
    passed_variables: tuple[str, ...],
    only: tuple[str, ...],
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
    from faultkit.agent_tools.tool import Services
    from faultkit.agent_tools.tool_catalog import AGENT_TOOLS

    limits = _load_limits(allow_targets, max_duration, max_clients, max_rps, max_timeout)
    settings = llm_settings_from(llm)
    chaos = options_from_environment(os.environ, experiments)
    read_limits(chaos.limits)  # A mistake in them ends the command now, not at the first call of a tool.
    services = Services(settings, index_dir, limits, passed_variables=frozenset(passed_variables))
    services.may_run_code = allow_run or transport == "stdio"
    services.chaos = lambda: chaos_settings(chaos, source="mcp", transport=transport)
    return SERVER.serve(services, _chosen(AGENT_TOOLS, only), transport, host, port, token, root)


def _chosen(tools: Mapping[str, Tool], patterns: tuple[str, ...]) -> Mapping[str, Tool]:
    """Return the tools that a pattern names; all if there is none."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in tools):
            known = ", ".join(tools)
            raise InputError(
                "--only", f'expected some of {known}, got "{pattern}"{did_you_mean(pattern, tools)}'
            )
    if not patterns:
        return tools
    return {name: tool for name, tool in tools.items() if any(fnmatchcase(name, each) for each in patterns)}


def _load_limits(
    allow_targets: tuple[str, ...],
    max_duration: str | None,
    max_clients: int | None,
    max_rps: float | None,
    max_timeout: str | None,
) -> LoadLimits:
    from faultkit.agent_tools.load_limits import LoadLimits

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


@click.command(
    "install",
    epilog="""\b
Examples:
  fault agent install cursor
  fault agent install claude --scope project --command fault --write
  fault agent install codex --llm-client openai --env OPENAI_API_KEY --write
""",
)
@click.argument("client", metavar="CLIENT")
@click.option(
    "--scope",
    type=click.Choice(("user", "project")),
    default="user",
    show_default=True,
    help="user: for all your projects; project: for the one in the current folder.",
)
@click.option("--path", metavar="FILE", help="Config file to use in place of CLIENT's own.")
@click.option(
    "--name", metavar="NAME", default="fault", show_default=True, help="Name of the server in CLIENT."
)
@click.option("--command", "program", metavar="PATH", help="Program to start; by default this one.")
@click.option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Environment variable for the server; without a value, CLIENT reads it when it starts the server.",
)
@click.option("--write", is_flag=True, help="Write the entry to the file; by default it is only printed.")
@click.option("--remove", is_flag=True, help="Remove the entry from the file.")
@llm_options
def install_command(
    client: str,
    scope: Scope,
    path: str | None,
    name: str,
    program: str | None,
    variables: tuple[str, ...],
    write: bool,
    remove: bool,
    llm: LlmOptions,
) -> None:
    """Print or write the entry with which CLIENT starts `fault agent tool`.

    CLIENT is one of cursor, claude, claude-desktop, vscode, windsurf, zed, codex, gemini, kiro, copilot.
    --write keeps everything else in the file, comments included, and saves the old file with the suffix
    .before-fault beside it.
    """
    from faultkit.mcp.hosts import host_configs

    if write and remove:
        raise InputError("--remove", "expected either --write or --remove, got both")
    host = host_configs.host_named(client)
    llm_flags = [(flag.option, getattr(llm, flag.field)) for flag in FLAGS]
    llm_words = [word for option, value in llm_flags if value is not None for word in (option, value)]
    command_line = [*_program(program), "agent", *llm_words, "tool"]
    entry = host_configs.entry_of(host, command_line, host_configs.variables_of(variables))
    places = host_configs.Places(sys.platform, str(Path.home()), os.environ)
    file = path or host_configs.config_path(host, scope, places, os.getcwd())
    host_configs.check_name(name)
    if program is None and not remove:
        _warn_without_extra()
    if write or remove:
        _change_config(host, file, name, entry if write else None)
        return
    click.echo(host_configs.fragment(host, name, entry), nl=False)
    click.echo(f"for {host.title}: belongs in {file}; --write puts it there", err=True)
    own_way = host_configs.adding_command(host, scope, name, entry)
    if own_way is not None:
        click.echo(f"or run: {own_way}", err=True)


def _warn_without_extra() -> None:
    from faultkit.base.installation import MissingExtra, require_extra

    try:
        require_extra("agent", "fault agent tool")
    except MissingExtra as missing:
        click.echo(f"warning: {missing}", err=True)


def _program(path: str | None) -> list[str]:
    """Return the command that starts `fault`, by an absolute path: a client's folder and PATH may differ.

    path: the value of --command"""
    if path is not None:
        if not path.strip():
            raise InputError("--command", "expected the program to start, got nothing")
        return [path]
    running = Path(sys.argv[0])
    beside_python = Path(sys.executable).with_name("fault")
    for program in (running, beside_python):
        if program.name in ("fault", "fault.exe") and program.is_file():
            return [os.path.abspath(program)]
    on_path = shutil.which("fault")
    return [os.path.abspath(on_path)] if on_path else [sys.executable, "-m", "faultkit"]


def _change_config(host: Host, file: str, name: str, entry: Mapping[str, Any] | None) -> None:
    """Add the entry to the config file, or remove it if `entry` is None."""
    from faultkit.base.files import rewrite_file
    from faultkit.mcp.hosts.host_configs import BACKUP_SUFFIX, with_entry, without_entry

    old = _read_config(file)
    text = "" if old is None else old.decode("utf-8")
    try:
        new = without_entry(host, text, name) if entry is None else with_entry(host, text, name, entry)
    except ValueError as error:
        raise InputError(file, f"cannot be changed, and was not: {error}") from None
    if new == text:
        click.echo(f"{file}: nothing to do, {name} is {'not there' if entry is None else 'there already'}")
        return
    rewrite_file(file, new.encode("utf-8"), old, backup=BACKUP_SUFFIX)
    change = f"{name} was {'removed' if entry is None else 'added'}"
    backup = "" if old is None else f"; the old file is {file}{BACKUP_SUFFIX}"
    click.echo(f"{file}: {change}{backup}")
    if entry is not None:
        click.echo(f"{host.title}: {host.then}", err=True)


def _read_config(file: str) -> bytes | None:
    """Return the content of a config file; None if there is none. Raises InputError unless it is UTF-8."""
    try:
        data = Path(file).read_bytes()
        data.decode("utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(file, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            file, f"expected UTF-8 text, got byte {data[error.start]:#04x} on line {line}"
        ) from None
    return data
