"""`fault agent tool`: the MCP server, over stdio or HTTP."""

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
from faultkit.cli.chaos.options import EXPERIMENTS, limits_from, options_from, settings_of
from faultkit.cli.durations import seconds_if_given
from faultkit.cli.llm import LlmOptions, llm_options, settings_from
from faultkit.cli.serving_tools import serving_options

if TYPE_CHECKING:
    from faultkit.agent_tools.calls import Calls
    from faultkit.agent_tools.limits import Limits
    from faultkit.agent_tools.stopping import Ending

INTERRUPTED = 130
TOKEN_VARIABLE = "FAULT_AGENT_TOKEN"
DEFAULT_PORT = 7437
_OTHERS = ("mcp", "uvicorn", "asyncio")
"""Loggers of libraries that say something about serving."""


@click.command(epilog="For example: fault agent tool --transport http --port 7437")
@serving_options(DEFAULT_PORT, TOKEN_VARIABLE)
@click.option(
    "--index-dir",
    metavar="PATH",
    envvar="FAULT_INDEX_DIR",
    help="Where indexes are kept, if not in the user's cache folder.",
)
@click.option(
    "--allow-target",
    "allow_targets",
    multiple=True,
    metavar="HOST",
    help="Let impact tools send load to HOST, HOST:PORT, *.SUFFIX or a network, beside this machine and "
    "private addresses. May be given again.",
)
@click.option("--max-duration", metavar="DURATION", help="The longest run that a client may ask for. [5m]")
@click.option("--max-clients", type=click.IntRange(1), metavar="N", help="The most clients of a run. [100]")
@click.option(
    "--max-rps",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="Requests a second of a run. [500]",
)
@click.option("--max-timeout", metavar="DURATION", help="The longest wait for an answer. [1m]")
@EXPERIMENTS
@llm_options
def command(
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

    Over stdio it ends when its client closes stdin. `fault agent install CLIENT` registers it.
    """
    limits = _limits(allow_targets, max_duration, max_clients, max_rps, max_timeout)
    settings = settings_from(llm)
    chaos = options_from(os.environ, experiments)
    limits_from(chaos.limits)  # What is wrong with them is said now, not to the first client.
    # A second of imports that make no garbage: to look for it again and again would take a tenth of that.
    with without_collection():
        from faultkit.agent_tools.calls import Calls
        from faultkit.agent_tools.services import Services
        from faultkit.agent_tools.stdio import run_stdio
        from faultkit.agent_tools.table import AGENT_TOOLS

    services = Services(settings, index_dir, limits)
    services.chaos = lambda: settings_of(chaos, source="mcp", transport=transport)
    calls = Calls(services)
    collect_log(is_stdout_ours=transport != "stdio")
    if transport == "http":
        # An empty flag is a mistake, such as a variable that is not set, and no wish for an open door.
        known = (os.environ.get(TOKEN_VARIABLE) or None) if token is None else token
        ending = _over_http(calls, host, port, known)
    else:
        explain_to_people()
        ending = run_stdio(calls, AGENT_TOOLS)
    logging.getLogger("faultkit.agent_tools").info("the server ended: %s", ending)
    return INTERRUPTED if ending == "interrupt" else 0


def _over_http(calls: Calls, host: str, port: int, token: str | None) -> Ending:
    from faultkit.agent_tools.http import HttpServer
    from faultkit.agent_tools.table import AGENT_TOOLS

    server = HttpServer(calls, host, port, token, AGENT_TOOLS)
    return server.run(lambda url: click.echo(f"MCP over HTTP on {url}", err=True))


def explain_to_people() -> None:
    if sys.stdin.isatty():
        click.echo(
            "this is an MCP server: a client starts it and talks to it over stdin and stdout "
            "(`fault agent install CLIENT` registers it); Ctrl-C ends it",
            err=True,
        )


def _limits(
    allow_targets: tuple[str, ...],
    max_duration: str | None,
    max_clients: int | None,
    max_rps: float | None,
    max_timeout: str | None,
) -> Limits:
    from faultkit.agent_tools.limits import Limits

    if max_rps is not None and math.isnan(max_rps):
        raise InputError("--max-rps", "expected a number, got nan")
    given: dict[str, Any] = {
        "max_duration_s": seconds_if_given("--max-duration", max_duration),
        "max_clients": max_clients,
        "max_rps_total": max_rps,
        "max_timeout_s": seconds_if_given("--max-timeout", max_timeout),
    }
    try:
        return Limits(
            allow_targets=allow_targets, **{key: value for key, value in given.items() if value is not None}
        )
    except ValueError as error:
        raise InputError("--allow-target", str(error).removeprefix("allow_targets: ")) from None


def collect_log(*, is_stdout_ours: bool) -> None:
    """What libraries log goes where our own log goes; over stdio, never to stdout."""
    ours = logging.getLogger("faultkit")
    for handler in ours.handlers:
        if not isinstance(handler, logging.StreamHandler) or is_stdout_ours:
            continue
        if handler.stream is sys.stdout:
            handler.setStream(sys.stderr)
            click.echo("warning: stdout belongs to the protocol: the log goes to stderr", err=True)
    for name in _OTHERS:
        log = logging.getLogger(name)
        log.handlers[:] = ours.handlers
        log.setLevel(max(ours.level, logging.INFO))
        log.propagate = False


@contextmanager
def without_collection() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # Modules stay: nobody has to go through them later.
        gc.enable()
