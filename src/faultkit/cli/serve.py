"""`fault serve`: MCP tools that fail on request, with an audit log of their calls."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from faultkit.base.errors import RunError, TargetError
from faultkit.base.text import count_of
from faultkit.cli.serve_access import AccessRules, access_options, access_rules, build_access
from faultkit.cli.shared_options import seconds_or_zero, store_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faultkit.audit.store import Store
    from faultkit.audit.writer import AuditWriter, Policy
    from faultkit.mcp.failures.failure_run import ServeJob

_ToolGroup: TypeAlias = Literal["identity", "data", "failure", "streaming"]
_TOOL_GROUPS: tuple[_ToolGroup, ...] = ("identity", "data", "failure", "streaming")


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
    help="Transport that clients use.",
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
    "--only",
    "groups",
    type=click.Choice(_TOOL_GROUPS),
    multiple=True,
    help="Serve only the tools of this group. Repeatable.",
)
@click.option(
    "--compat",
    type=click.Choice(["go-sdk"]),
    help="go-sdk: where the original server differs from its documents, answer as it does.",
)
@store_option
@click.option("--no-audit", is_flag=True, help="Write no audit log.")
@click.option(
    "--when-full",
    type=click.Choice(["block", "drop"]),
    default="block",
    show_default=True,
    help="If rows cannot be written as fast as calls arrive: slow callers, or drop rows and count them.",
)
@click.option(
    "--keep",
    metavar="DURATION",
    default="30d",
    show_default=True,
    help="How long rows are kept; 0 keeps them for ever.",
)
@click.option(
    "--drain",
    metavar="DURATION",
    default="5s",
    show_default=True,
    help="Over HTTP: time that running calls have after a stop signal. A second signal ends them at once.",
)
@click.option(
    "--linger",
    metavar="DURATION",
    default="0s",
    show_default=True,
    help="Over HTTP: time before --drain in which calls are still accepted while /readyz reports draining.",
)
@access_options
@click.option("--name", default="faultkit-serve", show_default=True, help="Name of the server.")
def command(
    transport: Literal["stdio", "http"],
    host: str,
    port: int,
    groups: tuple[_ToolGroup, ...],
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
    """Serve MCP tools with predictable failures (error, slow, flaky), and nine tools that succeed.

    Authors of gateways and clients can run their tests against it. `flaky` with the same seed and call_id
    gives the same result on every machine.

    Each call is a row of the audit log, which `fault audit` reads. The write of a row
    begins at most 0.2 s after its call: a process that is killed loses the rows since then and those that the
    database has not accepted yet, at most 2,000. If other rows were lost, the exit code is 4.

    Over HTTP, the same port serves a portal at /portal/, the log at /api/v1/, and /healthz, /readyz and
    /metrics. On loopback addresses requests without a key may read and call; on others they need a key
    or a token.
    """
    from faultkit.mcp.failures.failure_run import ServeJob
    from faultkit.mcp.failures.failure_service import ServeSettings

    settings = ServeSettings(name, groups or _TOOL_GROUPS, compat == "go-sdk")
    job = ServeJob(
        settings,
        transport,
        host,
        port,
        drain_s=seconds_or_zero("--drain", drain),
        linger_s=seconds_or_zero("--linger", linger),
    )
    keep_s = seconds_or_zero("--keep", keep) or None
    rules = access_rules(access, transport=transport, host=host, store=None if no_audit else store)
    if no_audit:
        _serve(job, rules, None, None)
        return
    with _open_store(store) as opened, _open_writer(opened, store, when_full, keep_s) as writer:
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
    from faultkit.base.garbage import undisturbed
    from faultkit.web.request_context import AuditLog
    from faultkit.web.site import serve_site

    settings = rules.settings
    guarded = replace(job, hosts=settings.hosts, origins=settings.origins, limits=settings.limits)
    access = build_access(rules, store, writer, _say)
    audit = None if store is None or writer is None else AuditLog(store, writer)
    with undisturbed():
        run_async(serve_site(guarded, access, audit, _say))


@contextmanager
def _open_writer(store: Store, where: str, policy: Policy, keep_s: float | None) -> Iterator[AuditWriter]:
    """Yield a writer; at the end, write what is pending, and raise RunError if rows were lost."""
    from faultkit.audit.log_file import MEMORY
    from faultkit.audit.row_process import RowProcess
    from faultkit.audit.writer import AuditWriter
    from faultkit.web.call_rows import entry_of_snapshot

    process = None if where == MEMORY else RowProcess(where, entry_of_snapshot)
    writer = AuditWriter(store, policy=policy, keep_s=keep_s, say=_say, process=process)
    has_served = False
    try:
        yield writer
        has_served = True
    finally:
        state = writer.close()
        missing = state.lost + state.waiting
        # A server that failed to start has nothing to report.
        if has_served or state.written or missing:
            lost = f", {missing} lost" if missing else ""
            _say(f"audit: {count_of(state.written, 'row')} written to {store.name}{lost}")
    if missing:
        raise RunError("the audit log is not complete: rows were lost")


def _open_store(store: str) -> Store:
    from faultkit.audit.store_factory import open_store

    try:
        return open_store(store, say=_say)
    except TargetError as error:
        raise TargetError(f"{error} (--store names another place, --no-audit serves without a log)") from None


def _say(line: str) -> None:
    click.echo(line, err=True)
