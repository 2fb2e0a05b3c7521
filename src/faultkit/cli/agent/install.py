"""`fault agent install`: the entry that makes an MCP host start our server, shown or written to its file."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from faultkit.base.errors import InputError
from faultkit.cli.llm import FLAGS, LlmOptions, llm_options
from faultkit.cli.rewrite import replace_file
from faultkit.mcp.hosts.clients import (
    NAME,
    Host,
    Places,
    Scope,
    check_name,
    config_path,
    entry_of,
    fragment,
    host_named,
    with_entry,
    without_entry,
)

BACKUP = ".before-fault"


@dataclass(frozen=True, slots=True)
class _Config:
    path: str
    data: bytes | None
    """None if there is no such file."""
    text: str


@click.command(
    epilog="""\b
Examples:
  fault agent install cursor
  fault agent install claude --scope project --command fault --write
  fault agent install codex --llm-client openai --env OPENAI_API_KEY --write
"""
)
@click.argument("client", metavar="CLIENT")
@click.option(
    "--scope",
    type=click.Choice(("user", "project")),
    default="user",
    show_default=True,
    help="For all your projects, or for the one in the current folder.",
)
@click.option("--path", metavar="FILE", help="Another file than the one where CLIENT looks.")
@click.option(
    "--name", metavar="NAME", default=NAME, show_default=True, help="What the server is called there."
)
@click.option("--command", "program", metavar="PATH", help="The program to start, if not this very one.")
@click.option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="A variable for the server; without a value, CLIENT looks it up when it starts the server.",
)
@click.option("--write", is_flag=True, help="Put the entry into the file; otherwise it is only shown.")
@click.option("--remove", is_flag=True, help="Take the entry out of the file.")
@llm_options
def command(
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
    """Show or write the entry with which CLIENT starts `fault agent tool`.

    CLIENT is one of cursor, claude, claude-desktop, vscode, windsurf, zed, codex, gemini, kiro, copilot.
    With --write, all that is in the file already stays as it is, comments too; how it was before is kept
    beside it, in a file that ends in .before-fault.
    """
    if write and remove:
        raise InputError("--remove", "expected either --write or --remove, got both")
    host = host_named(client)
    entry = entry_of(host, [*_program(program), *_server(llm)], _environment(variables))
    file = path or config_path(host, scope, Places(sys.platform, str(Path.home()), os.environ), os.getcwd())
    if remove:
        _change(host, file, check_name(name), None)
    elif write:
        _change(host, file, check_name(name), entry)
    else:
        click.echo(fragment(host, check_name(name), entry), nl=False)
        _explain(host, scope, file, name, entry)


def _program(given: str | None) -> list[str]:
    """How to start what runs now, from anywhere: a host has another folder, and often another PATH."""
    if given is not None:
        if not given.strip():
            raise InputError("--command", "expected the program to start, got nothing")
        return [given]
    started = Path(sys.argv[0])
    beside = Path(sys.executable).with_name("fault")
    for each in (started, beside):
        if each.name in ("fault", "fault.exe") and each.is_file():
            return [os.path.abspath(each)]
    found = shutil.which("fault")
    return [os.path.abspath(found)] if found else [sys.executable, "-m", "faultkit"]


def _server(llm: LlmOptions) -> list[str]:
    given = [(flag.option, getattr(llm, flag.field)) for flag in FLAGS]
    return [
        "agent",
        *(word for option, value in given if value is not None for word in (option, value)),
        "tool",
    ]


def _environment(variables: tuple[str, ...]) -> dict[str, str | None]:
    pairs = (each.partition("=") for each in variables)
    return {name: value if has_value else None for name, has_value, value in pairs}


def _explain(host: Host, scope: Scope, file: str, name: str, entry: Mapping[str, Any]) -> None:
    click.echo(f"for {host.title}: belongs in {file}; --write puts it there", err=True)
    if host.adds_by is not None and not entry.get("env"):
        words = [*shlex.split(host.adds_by.format(scope=scope)), name, "--", entry["command"], *entry["args"]]
        click.echo(f"or run: {shlex.join(words)}", err=True)


def _change(host: Host, file: str, name: str, entry: Mapping[str, Any] | None) -> None:
    """With an entry it is put in, without one it is taken out."""
    config = _read(file)
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
    replace_file(file, new.encode("utf-8"), config.data, backup=BACKUP)
    done = f"{name} was taken out" if entry is None else f"{name} was put in"
    kept = "" if config.data is None else f"; as it was before: {file}{BACKUP}"
    click.echo(f"{file}: {done}{kept}")
    if entry is not None:
        click.echo(f"{host.title}: {host.then}", err=True)


def _read(file: str) -> _Config:
    try:
        data = Path(file).read_bytes()
        text = data.decode("utf-8")
    except FileNotFoundError:
        return _Config(file, None, "")
    except OSError as error:
        raise InputError(file, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            file, f"expected UTF-8 text, got byte {data[error.start]:#04x} on line {line}"
        ) from None
    return _Config(file, data, text)
