"""Options that several commands share (`--json`, `--seed`, `--store`, durations, those of tool servers), and
how they print JSON documents and tables."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from faultkit.base.errors import InputError
from faultkit.base.units import parse_duration

F = TypeVar("F", bound=Callable[..., Any])


def json_option(help: str = "Print JSON.") -> Callable[[F], F]:
    """Return a decorator that adds `--json`, which the command receives as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=help)


def seed_option(help: str, *, metavar: str = "SEED", variable: str | None = None) -> Callable[[F], F]:
    """Return a decorator that adds `--seed` without a default; `variable` may set it, too."""
    return click.option("--seed", metavar=metavar, envvar=variable, help=help)


CALL_SEED_HELP = "Seed of all random choices; by default that of the plan."
SUITE_SEED_HELP = "Seed to use in place of the suite's own."
INDEX_DIR = click.option(
    "--index-dir",
    metavar="PATH",
    envvar="FAULT_INDEX_DIR",
    help="Folder that holds the indexes; by default in the user's cache folder.",
)


def seconds_of(flag: str, text: str) -> float:
    """Return the seconds of a duration above 0; raise InputError that names the flag."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise InputError(flag, str(error)) from None
    if seconds == 0:
        raise InputError(flag, f'expected more than 0, got "{text}"')
    return seconds


def optional_seconds(flag: str, text: str | None) -> float | None:
    """Return the seconds of a duration, as `seconds_of` does, or None if the flag is absent."""
    return None if text is None else seconds_of(flag, text)


_DEFAULT_STORE_HELP = "By default audit.db in the user's state folder."


def store_option(command: F) -> F:
    """Add `--store` to a command that writes the audit log, and may keep it in memory."""
    return _store_option(
        "The audit log: a file, postgresql://USER@HOST/DATABASE, or memory: to keep it until the process "
        f"ends. {_DEFAULT_STORE_HELP}"
    )(command)


def durable_store_option(command: F) -> F:
    """Add `--store` to a command that reads what another process wrote, so that memory is no choice."""
    return _store_option(f"The audit log: a file, or postgresql://USER@HOST/DATABASE. {_DEFAULT_STORE_HELP}")(
        command
    )


def _store_option(help: str) -> Callable[[F], F]:
    return click.option(
        "--store", metavar="PATH|URL", envvar="FAULT_STORE", default=_default_store, help=help
    )


def _default_store() -> str:
    from faultkit.audit.log_file import default_store

    return str(default_store(os.environ))


def tool_server_options(default_port: int, token_variable: str) -> Callable[[F], F]:
    """Return a decorator that adds --transport, --host, --port and --token."""
    options = (
        click.option(
            "--transport",
            type=click.Choice(("stdio", "http")),
            default="stdio",
            show_default=True,
            help="stdio for one client, which starts the server; http for several clients.",
        ),
        click.option("--host", default="127.0.0.1", show_default=True, help="Address for HTTP."),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=default_port,
            show_default=True,
            help="Port for HTTP; 0 takes any free port.",
        ),
        click.option(
            "--token",
            metavar="TEXT",
            help="Bearer token that HTTP clients must send; required if HOST is not a loopback address. "
            f"Other users of this machine can see flags: prefer the variable {token_variable}.",
        ),
    )

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def print_json(document: object) -> None:
    """Print a document as indented JSON."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as lines, with each column as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
