"""`fault agent install`: print the entry with which an MCP client starts our server, or write its config."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from faultkit.base.errors import InputError
from faultkit.base.files import rewrite_file
from faultkit.cli.llm import FLAGS, LlmOptions, llm_options
from faultkit.mcp.hosts.host_configs import (
    BACKUP_SUFFIX,
    NAME,
    Host,
    Places,
    Scope,
    adding_command,
    check_name,
    config_path,
    entry_of,
    fragment,
    host_named,
    variables_of,
    with_entry,
    without_entry,
)


@dataclass(frozen=True, slots=True)
class _ConfigFile:
    path: str
    data: bytes | None
    """The content; None if the file does not exist."""
    text: str


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
@click.option("--name", metavar="NAME", default=NAME, show_default=True, help="Name of the server in CLIENT.")
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
    if write and remove:
        raise InputError("--remove", "expected either --write or --remove, got both")
    host = host_named(client)
    entry = entry_of(host, [*_program(program), *_server_arguments(llm)], variables_of(variables))
    file = path or config_path(host, scope, Places(sys.platform, str(Path.home()), os.environ), os.getcwd())
    if remove:
        _change_config(host, file, check_name(name), None)
    elif write:
        _change_config(host, file, check_name(name), entry)
    else:
        click.echo(fragment(host, check_name(name), entry), nl=False)
        click.echo(f"for {host.title}: belongs in {file}; --write puts it there", err=True)
        own_way = adding_command(host, scope, name, entry)
        if own_way is not None:
            click.echo(f"or run: {own_way}", err=True)


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


def _server_arguments(llm: LlmOptions) -> list[str]:
    values = [(flag.option, getattr(llm, flag.field)) for flag in FLAGS]
    return [
        "agent",
        *(word for option, value in values if value is not None for word in (option, value)),
        "tool",
    ]


def _change_config(host: Host, file: str, name: str, entry: Mapping[str, Any] | None) -> None:
    """Add the entry to the config file, or remove it if `entry` is None."""
    config = _read_config(file)
    try:
        new = (
            without_entry(host, config.text, name)
            if entry is None
            else with_entry(host, config.text, name, entry)
        )
    except ValueError as error:
        raise InputError(file, f"cannot be changed, and was not: {error}") from None
    if new == config.text:
        click.echo(f"{file}: nothing to do, {name} is {'not there' if entry is None else 'there already'}")
        return
    rewrite_file(file, new.encode("utf-8"), config.data, backup=BACKUP_SUFFIX)
    change = f"{name} was taken out" if entry is None else f"{name} was put in"
    backup = "" if config.data is None else f"; as it was before: {file}{BACKUP_SUFFIX}"
    click.echo(f"{file}: {change}{backup}")
    if entry is not None:
        click.echo(f"{host.title}: {host.then}", err=True)


def _read_config(file: str) -> _ConfigFile:
    try:
        data = Path(file).read_bytes()
        text = data.decode("utf-8")
    except FileNotFoundError:
        return _ConfigFile(file, None, "")
    except OSError as error:
        raise InputError(file, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            file, f"expected UTF-8 text, got byte {data[error.start]:#04x} on line {line}"
        ) from None
    return _ConfigFile(file, data, text)
