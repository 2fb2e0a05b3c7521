"""`fault test init`: a first suite for a server, to begin with."""

from __future__ import annotations

import os
from pathlib import Path

import click

from faultkit.base.errors import InputError, RunError

_LIMIT_S = 60.0


@click.command(
    epilog="""\b
Examples:
  fault test init -- python my_server.py
  fault test init --url http://127.0.0.1:8000/mcp --out suites/mine.suite.yml
  fault test init --tools-from tools.yml
"""
)
@click.argument("argv", metavar="[-- COMMAND …]", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", metavar="URL", help="Of a server over streamable HTTP.")
@click.option("--tools-from", metavar="FILE", help="A manifest or a recording, as `fault mock` serves them.")
@click.option("--out", metavar="FILE", default="first.suite.yml", show_default=True, help="A new file.")
def command(argv: tuple[str, ...], url: str | None, tools_from: str | None, out: str) -> None:
    """Write a first suite for a server: each of its tools against a few faults."""
    from faultkit.agents.execute.servers import list_tools
    from faultkit.agents.first import first_suite
    from faultkit.agents.model import CommandServer, MockServer, Place, Serving, SuiteServer, UrlServer

    if sum((bool(argv), url is not None, tools_from is not None)) != 1:
        raise InputError("", "expected one of -- COMMAND, --url URL and --tools-from FILE")
    path = Path(out)
    if path.exists():
        raise InputError("--out", f"expected a new file, got {out}, which is there; name another by --out")
    if not path.parent.is_dir():
        raise InputError("--out", f"expected a file in a folder that is there, got {out}")
    serving: Serving
    if argv:
        serving = CommandServer(argv)
    elif url is not None:
        serving = UrlServer(url)
    else:
        assert tools_from is not None
        serving = MockServer(os.path.relpath(tools_from, path.parent))
    name = "server"
    reached = MockServer(tools_from) if tools_from is not None else serving
    tools = list_tools(SuiteServer(name, reached, Place(out, 1)), _LIMIT_S)
    if not tools:
        raise InputError("", "expected a server with tools, got one that lists none")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(first_suite(out, name, serving, tools))
    except OSError as error:
        raise RunError(f"{out}: cannot be written: {error.strerror}") from None
    click.echo(f"{out}: a suite for {len(tools)} tools; run it with: fault test {out}")
