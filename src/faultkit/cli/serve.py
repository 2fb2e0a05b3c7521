"""`fault serve`: MCP tools that fail on request, with an audit log of their calls."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from faultkit.base.errors import InputError, RunError, TargetError
from faultkit.base.units import parse_duration
from faultkit.cli.serve_access import AccessRules, access_options, access_rules, build_access
from faultkit.cli.shared_options import store_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faultkit.audit.store import Store
    from faultkit.audit.writer import AuditWriter, Policy
    from faultkit.mcp.failures.failure_run import ServeJob

_Group: TypeAlias = Literal["identity", "data", "failure", "streaming"]
_GROUPS: tuple[_Group, ...] = ("identity", "data", "failure", "streaming")


@click.command(
    epilog="""\b
Examples:
  fault serve
  fault serve --transport http --port 8767
  fault serve --only failure --compat go-sdk
  fault serve --transport http --store postgresql://fault@localhost/audit
  fault serve --transport http --host 0.0.0.0 --require-key --drain 30s --linger 5s
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
@click.option(
    "--drain",
    metavar="DURATION",
    default="5s",
    show_default=True,
    help="Over HTTP, after a stop signal: how long calls may take to end. A second signal ends them at once.",
)
@click.option(
    "--linger",
    metavar="DURATION",
    default="0s",
    show_default=True,
    help="Over HTTP, before that: how long it keeps serving while /readyz reports that it is draining.",
)
@access_options
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
    drain: str,
    linger: str,
    name: str,
    **access: Any,
) -> None:
    """Serve MCP tools whose failures are predictable: error, slow, flaky, and nine that answer.

    For authors of gateways and clients, to point their own tests at. `flaky` with the same seed and call_id
    always gives the same result, on any machine.

    Each call is a row of the audit log, which `fault audit` reads. Rows are written behind the calls, 0.2 s
    after them at the latest: a process that is killed loses no more than these. If others were lost, the
    exit code is 4.

    Over HTTP, the same port has a portal at /portal/, the log at /api/v1/, and /healthz, /readyz and
    /metrics. On loopback addresses all requests are allowed; others need a key or a token.
    """
    from faultkit.mcp.failures.failure_run import ServeJob
    from faultkit.mcp.failures.failure_service import ServeSettings

    settings = ServeSettings(name, groups or _GROUPS, compat == "go-sdk")
    job = ServeJob(
        settings,
        transport,
        host,
        port,
        drain_s=_duration_s("--drain", drain),
        linger_s=_duration_s("--linger", linger),
    )
    keep_s = _duration_s("--keep", keep) or None
    rules = access_rules(access, transport=transport, host=host, where=None if no_audit else store)
    if no_audit:
        _serve(job, rules, None, None)
        return
    with _opened(store) as opened, _writing(opened, store, when_full, keep_s) as writer:
        _serve(job, rules, opened, writer)


def _serve(job: ServeJob, rules: AccessRules, store: Store | None, writer: AuditWriter | None) -> None:
    from dataclasses import replace

    from faultkit.base.signals import run_async
    from faultkit.mcp.failures.failure_run import run_failure_server

    if job.front == "stdio":
        from faultkit.web.call_rows import call_logger

        log = (lambda ended: None) if writer is None else call_logger(writer)
        run_async(run_failure_server(job, _say, log))
        return
    from faultkit.web.request_context import AuditLog
    from faultkit.web.site import serve_site

    settings = rules.settings
    guarded = replace(job, hosts=settings.hosts, origins=settings.origins, limits=settings.limits)
    known = build_access(rules, store, writer, _say)
    audit = None if store is None or writer is None else AuditLog(store, writer)
    run_async(serve_site(guarded, known, audit, _say))


@contextmanager
def _writing(store: Store, where: str, policy: Policy, keep_s: float | None) -> Iterator[AuditWriter]:
    from faultkit.audit.log_file import MEMORY
    from faultkit.audit.row_process import RowProcess
    from faultkit.audit.writer import AuditWriter
    from faultkit.web.call_rows import entry_of_snapshot

    apart = None if where == MEMORY else RowProcess(where, entry_of_snapshot)
    writer = AuditWriter(store, policy=policy, keep_s=keep_s, say=_say, apart=apart)
    has_served = False
    try:
        yield writer
        has_served = True
    finally:
        state = writer.close()
        missing = state.lost + state.waiting
        # A server that failed to start has nothing to report.
        if has_served or state.written or missing:
            rows = "row" if state.written == 1 else "rows"
            lost = f", {missing} lost" if missing else ""
            _say(f"audit: {state.written} {rows} written to {store.name}{lost}")
    if missing:
        raise RunError("the audit log is not complete: rows were lost")


def _opened(store: str) -> Store:
    from faultkit.audit.store_factory import open_store

    try:
        return open_store(store, say=_say)
    except TargetError as error:
        raise TargetError(f"{error} (--store names another place, --no-audit serves without a log)") from None


def _say(line: str) -> None:
    click.echo(line, err=True)


def _duration_s(name: str, text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise InputError(name, str(error)) from None
