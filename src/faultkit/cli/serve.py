"""`fault serve`: tools that fail on request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import click

from faultkit.cli.store import store_option
from faultkit.errors import InputError, TargetError
from faultkit.units import parse_duration

if TYPE_CHECKING:
    from faultkit.store.store import Store

_Group: TypeAlias = Literal["identity", "data", "failure", "streaming"]
_GROUPS: tuple[_Group, ...] = ("identity", "data", "failure", "streaming")


@click.command(
    epilog="""\b
Examples:
  fault serve
  fault serve --transport http --port 8767
  fault serve --only failure --compat go-sdk
  fault serve --transport http --store postgresql://fault@localhost/audit
"""
)
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="How clients speak to it.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address for --transport http.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8767,
    show_default=True,
    help="Port for --transport http.",
)
@click.option(
    "--only", "groups", type=click.Choice(_GROUPS), multiple=True, help="Only the tools of this group."
)
@click.option(
    "--compat",
    type=click.Choice(["go-sdk"]),
    help="go-sdk: answer as the original really does, where its documents promise otherwise.",
)
@store_option
@click.option("--no-audit", is_flag=True, help="Keep no audit log.")
@click.option(
    "--when-full",
    type=click.Choice(["block", "drop"]),
    default="block",
    show_default=True,
    help="If calls come faster than their rows can be written: slow callers, or drop rows and count them.",
)
@click.option(
    "--keep",
    metavar="DURATION",
    default="30d",
    show_default=True,
    help="How long rows are kept; 0 for ever.",
)
@click.option("--name", default="faultkit-serve", show_default=True, help="Name of the server.")
def command(
    transport: Literal["stdio", "http"],
    host: str,
    port: int,
    groups: tuple[_Group, ...],
    compat: str | None,
    store: str,
    no_audit: bool,
    when_full: Literal["block", "drop"],
    keep: str,
    name: str,
) -> None:
    """Serve MCP tools whose failures can be foretold: error, slow, flaky, and nine that answer.

    For authors of gateways and clients, to point their own tests at. `flaky` with the same seed and call_id
    always comes to the same, on any machine.

    Each call is a row of the audit log, which `fault audit` reads. Rows are written behind the calls, 0.2 s
    after them at the latest: a process that is killed loses no more than these.
    """
    from faultkit.mcp.failures.run import ServeJob, run_server
    from faultkit.mcp.failures.service import ServeSettings
    from faultkit.mcp.serving import run_to_end

    settings = ServeSettings(name, groups or _GROUPS, compat == "go-sdk")
    job = ServeJob(settings, transport, host, port)
    keep_s = _keep_s(keep)
    if no_audit:
        run_to_end(run_server(job, _say))
        return
    from faultkit.store.calls import log_to
    from faultkit.store.writer import Writer

    with _opened(store) as opened:
        writer = Writer(opened, policy=when_full, keep_s=keep_s, say=_say)
        try:
            run_to_end(run_server(job, _say, log_to(writer)))
        finally:
            state = writer.close()
            missing = state.lost + state.waiting
            lost = f", {missing} lost" if missing else ""
            _say(f"audit: {state.written} rows written to {opened.name}{lost}")


def _opened(store: str) -> Store:
    from faultkit.store.opening import open_store

    try:
        return open_store(store)
    except TargetError as error:
        raise TargetError(f"{error} (--store names another place, --no-audit serves without a log)") from None


def _say(line: str) -> None:
    click.echo(line, err=True)


def _keep_s(text: str) -> float | None:
    try:
        return parse_duration(text) or None
    except ValueError as error:
        raise InputError("--keep", str(error)) from None
