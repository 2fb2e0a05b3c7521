"""The flags of whatever serves MCP tools on the official SDK: over which transport, where, and for whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def serving_options(default_port: int, token_variable: str) -> Callable[[F], F]:
    """--transport, --host, --port and --token."""
    options = (
        click.option(
            "--transport",
            type=click.Choice(("stdio", "http")),
            default="stdio",
            show_default=True,
            help="Over stdin and stdout, for a client that starts it; or over HTTP, for several clients.",
        ),
        click.option("--host", default="127.0.0.1", show_default=True, help="Where HTTP is served."),
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
            help="What HTTP clients must send as bearer token; needed if HOST is not this machine alone. "
            f"Other users of this machine can see a flag: better set {token_variable}.",
        ),
    )

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add
