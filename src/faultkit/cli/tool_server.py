"""What `fault agent tool` and `fault chaos serve` share: options, and serving tools over stdio or HTTP."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from faultkit.base.garbage import without_garbage_collection
from faultkit.cli.shared_options import add_options

if TYPE_CHECKING:
    from faultkit.agent_tools.tool import Services, Tool

F = TypeVar("F", bound=Callable[..., Any])
_INTERRUPTED = 130
_LIBRARY_LOGGERS = ("mcp", "uvicorn", "asyncio")
"""Loggers of the libraries that serve MCP."""


@dataclass(frozen=True, slots=True)
class ToolServer:
    """A command that serves tools: its name, its default port, and the variable that may hold its token."""

    command: str
    port: int
    token_variable: str

    def options(self, command: F) -> F:
        """Add --transport, --host, --port, --token and --root to a command."""
        return add_options(
            command,
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
                default=self.port,
                show_default=True,
                help="Port for HTTP; 0 takes any free port.",
            ),
            click.option(
                "--token",
                metavar="TEXT",
                help="Bearer token that HTTP clients must send; by default a random one, which is printed. "
                "Required if HOST is not a loopback address. "
                f"Other users of this machine can see flags: prefer the variable {self.token_variable}.",
            ),
            click.option(
                "--root",
                metavar="DIR",
                type=click.Path(exists=True, file_okay=False),
                help="Refuse paths outside of DIR in arguments, links resolved. By default the working "
                "folder over HTTP; over stdio, where the client acts for the user, any path is allowed.",
            ),
        )

    def serve(
        self,
        services: Services,
        tools: Mapping[str, Tool],
        transport: str,
        host: str,
        port: int,
        token: str | None,
        root: str | None,
        instructions: str | None = None,
    ) -> int:
        """Serve the tools until the client or a signal ends it; return the exit code."""
        services.root = os.getcwd() if root is None and transport == "http" else root
        with without_garbage_collection():
            from faultkit.agent_tools.tool_runner import ToolRunner

            if transport == "http":
                from faultkit.agent_tools.http_server import HttpServer, token_for
            else:
                from faultkit.agent_tools.stdio_server import run_stdio

        gc.freeze()  # Modules live as long as the process: later collections need not visit them.
        calls = ToolRunner(services)
        _redirect_library_logs(is_stdout_ours=transport != "stdio")
        if transport == "http":
            # An empty --token is passed on and refused: it may come from a shell variable that is not set,
            # and must not mean that no token is needed.
            given_token = (os.environ.get(self.token_variable) or None) if token is None else token
            used_token = token_for(host, given_token)
            server = HttpServer(calls, used_token, host, port, tools, instructions, self.command)
            made = "" if given_token is not None else f"\ntoken: {used_token}"
            reason = server.run(lambda url: click.echo(f"MCP over HTTP on {url}{made}", err=True))
        else:
            if sys.stdin.isatty():
                click.echo(
                    "this is an MCP server: an MCP client starts it and talks to it over stdin and stdout "
                    "(`fault agent install CLIENT` registers it); Ctrl-C ends it",
                    err=True,
                )
            reason = run_stdio(calls, tools, instructions)
        logging.getLogger("faultkit.agent_tools").info("the server ended: %s", reason)
        return _INTERRUPTED if reason == "interrupt" else 0


def _redirect_library_logs(*, is_stdout_ours: bool) -> None:
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
