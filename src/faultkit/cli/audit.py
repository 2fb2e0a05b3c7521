"""`fault audit`: list, show, follow, count, export and remove rows of the audit log of `fault serve`."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from faultkit.audit.filter import HAS
from faultkit.audit.row import REFUSAL, AuditRow
from faultkit.base.errors import InputError
from faultkit.base.text import escaped_json, escaped_line
from faultkit.base.times import time_text
from faultkit.cli.command_groups import LazyCommand, lazy_group
from faultkit.cli.shared_options import add_options, durable_store_option, json_option, print_json

if TYPE_CHECKING:
    from faultkit.audit.filter import Filter
    from faultkit.audit.store import Store

F = TypeVar("F", bound=Callable[..., Any])
COMMANDS: dict[str, LazyCommand] = {
    "list": LazyCommand("faultkit.cli.audit:list_command", "List calls, newest first."),
    "show": LazyCommand("faultkit.cli.audit:show_command", "Show one call with its request and response."),
    "tail": LazyCommand("faultkit.cli.audit:tail_command", "Show calls as they are logged."),
    "stats": LazyCommand("faultkit.cli.audit:stats_command", "Show counts, error rates and latencies."),
    "export": LazyCommand(
        "faultkit.cli.audit:export_command", "Write calls as JSON lines or CSV, oldest first."
    ),
    "prune": LazyCommand("faultkit.cli.audit:prune_command", "Remove old calls."),
}

command = lazy_group("audit", "Read the audit log of `fault serve`.", COMMANDS)

_FILTER_NAMES = (
    "tool",
    "user",
    "session",
    "category",
    "source",
    "auth_type",
    "key",
    "from",
    "to",
    "q",
    "limit",
    "offset",
)
_SUCCESS_FLAGS = (("success", "true"), ("failed", "false"))
_PATH_FLAGS = ("param", "response", "header")


def filter_options(command: F) -> F:
    """Add the filter flags to a command, which takes them as `**options` and calls `filter_from`."""
    form = 'A time such as "2026-01-31T12:00:00Z", or how long ago, such as "15m".'
    return add_options(
        command,
        click.option("--tool", metavar="NAME", help="Calls of this tool."),
        click.option("--user", metavar="NAME", help="Calls of this user."),
        click.option("--session", metavar="ID", help="Calls of this session."),
        click.option("--success", is_flag=True, help="Calls that succeeded."),
        click.option("--failed", is_flag=True, help="Calls that failed."),
        click.option("--category", metavar="NAME", help="Calls with an error of this category."),
        click.option(
            "--source",
            metavar="NAME",
            help="Calls from mcp, portal-tryit or portal-replay; door: refused requests.",
        ),
        click.option("--auth-type", metavar="NAME", help="Calls by anonymous, apikey or oidc."),
        click.option("--key", metavar="NAME", help="Calls with the API key of this name."),
        click.option("--from", "from_", metavar="TIME", help=f"Calls that began at TIME or later. {form}"),
        click.option("--to", metavar="TIME", help="Calls that began before TIME."),
        click.option(
            "--text",
            "q",
            metavar="TEXT",
            help="Calls with TEXT in the tool's name, the error or the user's name.",
        ),
        click.option(
            "--param",
            metavar="PATH=VALUE",
            multiple=True,
            help='Calls with this parameter, such as seed=abc or extras.list.0=5; "5" in quotes is a text.',
        ),
        click.option(
            "--response",
            metavar="PATH=VALUE",
            multiple=True,
            help="Calls with this in their result or error, such as isError=true or data.roll=0.5.",
        ),
        click.option(
            "--header",
            metavar="NAME=VALUE",
            multiple=True,
            help="Calls whose request had this header, such as User-Agent=curl/8.",
        ),
        click.option(
            "--has", type=click.Choice(HAS), multiple=True, help="Calls whose log entry holds this part."
        ),
    )


def filter_from(options: dict[str, Any]) -> Filter:
    """Return the filter that the flags describe; raise InputError that names the flag."""
    from faultkit.audit.filter import parse_filter
    from faultkit.base.times import now_us

    values = {"from": options.get("from_"), **options}
    pairs = [(name, values[name]) for name in _FILTER_NAMES if values.get(name) is not None]
    if options.get("success") and options.get("failed"):
        raise InputError("--failed", "expected without --success, got both: no call is both")
    pairs += [("success", text) for name, text in _SUCCESS_FLAGS if options.get(name)]
    pairs += [("has", part) for part in options.get("has", ())]
    for kind in _PATH_FLAGS:
        for each in options.get(kind, ()):
            path, equals, value = each.partition("=")
            if not equals:
                form = "NAME=VALUE" if kind == "header" else "PATH=VALUE"
                raise InputError(f"--{kind}", f'expected {form}, got "{each[:60]}"')
            pairs.append((f"{kind}.{path}", value))
    try:
        return parse_filter(pairs, now_us())
    except InputError as error:
        flag = "text" if error.path == "q" else error.path
        raise error.at(f"--{flag.replace('_', '-')}") from None


def open_existing_store(store: str) -> Store:
    """Open a store to read it; raise an error if it does not exist."""
    from faultkit.audit.log_file import MEMORY
    from faultkit.audit.store_factory import open_store

    if store == MEMORY:
        raise InputError(
            "--store", "expected a file or a URL: only the process that writes memory: can read it"
        )
    return open_store(store, create=False)


def row_line(row: AuditRow) -> str:
    """Return a call as one line of text."""
    state = "ok" if row.success else row.error_category or "error"
    message = f"  {row.error_message}" if row.error_message else ""
    when = time_text(row.at_us)[:23]
    tool = row.tool_name or ("(refused)" if row.source == REFUSAL else "(no name)")
    # A caller chooses some of these texts, and must not control the reader's terminal.
    who = "  ".join(filter(None, (row.user_subject, _chaos_subject(row))))
    return escaped_line(
        f"{row.id}  {when}  {tool:<14} {state:<10} {row.duration_ms:>10.3f} ms  {who}{message}"
    )


def _chaos_subject(row: AuditRow) -> str:
    """Return the experiment or fault of a row of chaos, and what came of it; empty for other rows."""
    from faultkit.chaos.records import GROUP

    if row.tool_group != GROUP or row.parameters is None:
        return ""
    given = json.loads(row.parameters)
    name = next((str(given[key]) for key in ("experiment_name", "fault_name", "undo") if key in given), "")
    result = given.get("outcome") or given.get("fault_type")
    return f"{name} ({result})" if name and result else name


@click.command(
    "list",
    epilog="""\b
Examples:
  fault audit list --failed --from 15m
  fault audit list --tool flaky --param seed=abc --json
""",
)
@durable_store_option
@filter_options
@click.option("--limit", metavar="N", default="50", show_default=True, help="Most calls to show.")
@click.option("--offset", metavar="N", default="0", help="Number of newest calls to skip.")
@json_option("Print JSON: events, total, limit, offset.")
def list_command(store: str, as_json: bool, **options: Any) -> None:
    """List the calls that match the filters, newest first."""
    from faultkit.audit.row import row_document

    wanted = filter_from(options)
    with open_existing_store(store) as log:
        page = log.events(wanted)
    if as_json:
        document = {
            "events": [row_document(row) for row in page.rows],
            "total": page.total,
            "limit": wanted.limit,
            "offset": wanted.offset,
        }
        print_json(document)
        return
    for row in page.rows:
        click.echo(row_line(row))
    shown = len(page.rows)
    if shown < page.total:
        click.echo(f"{shown} of {page.total} calls; --limit and --offset show others", err=True)
    elif not shown:
        click.echo("no calls", err=True)


@click.command("show")
@click.argument("id")
@durable_store_option
def show_command(id: str, store: str) -> None:
    """Show the call with this ID as JSON: its row, and its request and response with secrets masked."""
    from faultkit.audit.row import payload_document, row_document

    with open_existing_store(store) as log:
        entry = log.get(id)
    if entry is None:
        raise InputError("ID", f'expected the id of a call, as `fault audit list` shows it, got "{id[:60]}"')
    document = row_document(entry.row)
    if entry.payload is not None:
        document["payload"] = payload_document(entry.payload)
    print_json(document)


_POLL_S = 0.2


@click.command("tail", epilog="For example: fault audit tail --failed --json")
@durable_store_option
@filter_options
@click.option(
    "--lines",
    "-n",
    "count",
    type=click.IntRange(0, 1000),
    default=10,
    show_default=True,
    help="Number of past calls to show first.",
)
@json_option("Print JSON lines.")
def tail_command(store: str, count: int, as_json: bool, **options: Any) -> None:
    """Show the last calls that match the filters, then each new one as it is logged, until Ctrl-C."""
    from dataclasses import replace

    from faultkit.audit.row import row_document

    def show(row: AuditRow) -> None:
        written = json.dumps(row_document(row), ensure_ascii=False)
        click.echo(escaped_json(written) if as_json else row_line(row))

    wanted = filter_from(options)
    with open_existing_store(store) as log:
        seq = log.last_seq()
        latest = log.events(replace(wanted, limit=count)).rows if count else ()
        for row in sorted(latest, key=lambda row: row.seq):
            if row.seq <= seq:
                show(row)
        while True:
            newest = log.last_seq()
            page = log.after(seq, wanted)
            for row in page:
                show(row)
                seq = row.seq
            if not page:
                # Rows that the filter rejects need not be read again.
                seq = max(seq, newest)
                time.sleep(_POLL_S)


@click.command("stats", epilog="For example: fault audit stats --from 1h")
@durable_store_option
@filter_options
@json_option()
def stats_command(store: str, as_json: bool, **options: Any) -> None:
    """Show counts, error rates and latencies of the calls that match the filters, by tool."""
    from faultkit.audit.call_statistics import stats_of

    wanted = filter_from(options)
    with open_existing_store(store) as log:
        stats = stats_of(log, wanted)
    if as_json:
        document = {
            **stats.all.document(),
            "calls_per_s": stats.calls_per_s,
            "refusals": stats.refusals,
            "first": None if stats.first_us is None else time_text(stats.first_us),
            "last": None if stats.last_us is None else time_text(stats.last_us),
            "tools": {each.key: each.document() for each in stats.tools},
        }
        print_json(document)
        return
    click.echo(f"{'tool':<16}{'calls':>9}{'errors':>9}{'rate':>8}{'p50 ms':>12}{'p95 ms':>12}{'p99 ms':>12}")
    for each in (*stats.tools, stats.all):
        click.echo(
            escaped_line(
                f"{each.key[:15] or ('(no name)' if each is not stats.all else 'all'):<16}"
                f"{each.calls:>9}{each.errors:>9}{each.error_rate:>8.1%}"
                f"{each.p50_ms:>12.3f}{each.p95_ms:>12.3f}{each.p99_ms:>12.3f}"
            )
        )
    click.echo(f"{stats.calls_per_s:.1f} calls/s")
    if stats.refusals:
        click.echo(f"{stats.refusals} refused requests, which the figures above do not count")


@click.command("export", epilog="For example: fault audit export --format csv --output calls.csv --from 1d")
@durable_store_option
@filter_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv"]),
    default="jsonl",
    show_default=True,
    help="Output format.",
)
@click.option(
    "--output",
    "-o",
    type=click.File("w", encoding="utf-8", lazy=True),
    default="-",
    metavar="PATH",
    help="File to write; - (the default) for stdout.",
)
def export_command(store: str, form: str, output: IO[str], **options: Any) -> None:
    """Write the calls that match the filters, in the order in which they were logged."""
    from faultkit.audit.row import CSV_COLUMNS, csv_cells, row_document

    wanted = filter_from(options)
    with open_existing_store(store) as log:
        if form == "jsonl":
            for row in log.all(wanted):
                written = json.dumps(row_document(row), ensure_ascii=False, separators=(",", ":"))
                output.write(escaped_json(written) + "\n")
            return
        table = csv.writer(output, lineterminator="\n")
        table.writerow(CSV_COLUMNS)
        table.writerows(csv_cells(row) for row in log.all(wanted))


@click.command("prune", epilog="For example: fault audit prune --older-than 30d")
@durable_store_option
@click.option(
    "--older-than",
    required=True,
    metavar="TIME",
    help='Age, such as "30d", or a time such as "2026-01-31T12:00:00Z".',
)
def prune_command(store: str, older_than: str) -> None:
    """Remove the calls that began before TIME, with their requests and responses."""
    from faultkit.audit.access.management_rows import append_action, log_pruned
    from faultkit.base.times import now_us, parse_time

    try:
        before_us = parse_time(older_than, now_us())
    except ValueError as error:
        raise InputError("--older-than", str(error)) from None
    with open_existing_store(store) as log:
        count = log.prune(before_us)
        if count:
            append_action(log, log_pruned(before_us, count))
    click.echo(f"{count} calls removed")
