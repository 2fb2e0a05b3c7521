"""`mcptest`: a second name for the commands of `fault` that suites of that tool are run with."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from faultkit.cli.main import invoke, leave

_USAGE = """\
Usage: mcptest mock OPTIONS     as `fault mock`
       mcptest run OPTIONS      as `fault test`
"""
_WRONG = 2


def invoke_as(args: list[str]) -> int:
    """Run one command line and give its exit code."""
    name = args[0] if args else ""
    if name == "mock":
        return invoke(args, "mcptest")
    if name == "run":
        return invoke(["test", *args[1:]], "mcptest")
    if name in ("-h", "--help"):
        click.echo(_USAGE, nl=False)
        return 0
    if name == "--version":
        return invoke(args)
    if not name:
        click.echo(_USAGE, nl=False, err=True)
    else:
        click.echo(f"error: mcptest {name}: expected mock or run", err=True)
    return _WRONG


def main() -> NoReturn:
    leave(invoke_as(sys.argv[1:]))
