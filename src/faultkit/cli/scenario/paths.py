"""The scenario files of a command line: `-s PATH`, as the original tool has it, or plain arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from faultkit.base.errors import InputError


def takes_scenarios(command: Callable[..., Any]) -> Callable[..., Any]:
    option = click.option(
        "-s",
        "--scenario",
        "scenarios",
        multiple=True,
        metavar="PATH",
        envvar="FAULT_SCENARIO_PATH",
        help="A scenario file, or a folder of them (*.yaml, *.yml, below it too). Repeatable.",
    )
    argument = click.argument("paths", nargs=-1, metavar="[PATH]...")
    return argument(option(command))


def scenario_paths(paths: tuple[str, ...], scenarios: tuple[str, ...]) -> tuple[str, ...]:
    wanted = (*scenarios, *paths)
    if not wanted:
        raise InputError("--scenario", "expected a file or a folder, got none")
    return wanted
