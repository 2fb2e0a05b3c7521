"""`fault gateway`: inject call faults between an MCP client and its server; `wrap`: edit a client config.

`cli.mock` has its subcommand `replay`, `cli.gateway_report` its subcommand `report`."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from faultkit.base.errors import InputError, TargetError
from faultkit.base.text import close_names, count_of
from faultkit.cli.command_groups import CommandWithSubcommands, LazyCommand
from faultkit.cli.mock import (
    EVENTS_HELP,
    FAULT_FORM,
    HTTP_FRONT_FLAGS,
    refuse_unused_flags,
    say_on_stderr,
)
from faultkit.cli.shared_options import (
    CALL_SEED_HELP,
    OPTIONS_FIRST,
    control_api,
    control_options,
    json_option,
    seed_option,
    trust_options,
    verify_of,
)

if TYPE_CHECKING:
    from faultkit.cli.call_plan import WrittenPlan
    from faultkit.plan import Plan

SUBCOMMANDS = {
    "replay": LazyCommand(
        "faultkit.cli.mock:replay_command", "Serve a recording in place of the recorded server."
    ),
    "report": LazyCommand(
        "faultkit.cli.gateway_report:report_command", "Judge what an agent did, from a recording."
    ),
    "wrap": LazyCommand(
        "faultkit.cli.gateway:wrap_command",
        "Put the servers of a client's config behind the gateway, or undo that.",
    ),
}


@click.command(
    cls=CommandWithSubcommands,
    entries=SUBCOMMANDS,
    context_settings=OPTIONS_FIRST,
    epilog="""\b
Examples:
  fault gateway -- python server.py
  fault gateway --fault slow:2000@search -- npx some-server
  fault gateway --upstream http://127.0.0.1:8000/mcp --front http --fault lost_reply%0.1
  fault gateway --record calls.jsonl --record-only -- python server.py
  fault gateway --fault lost_reply@book --report report.html -- python server.py
  fault gateway --control -- python server.py
`fault faults` lists the faults; those of level call can be used here.
""",
)
@click.argument("server_command", metavar="-- COMMAND…", nargs=-1, type=click.UNPROCESSED)
@click.option("--upstream", metavar="URL", default="", help="URL of a server over HTTP, in place of COMMAND.")
@click.option(
    "--fault",
    "faults",
    metavar="SPEC",
    multiple=True,
    help=f"Fault to inject: {FAULT_FORM}",
)
@click.option("--plan", "plan_file", metavar="FILE", help="Plan file with rules, with or without --fault.")
@click.option(
    "--front",
    type=click.Choice(["stdio", "http"]),
    help="Transport that clients use; by default that of the server.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address for --front http.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8766, show_default=True, help="Port for --front http."
)
@click.option("--name", "server_name", default="", help="Name of the server, for rules with match.server.")
@click.option(
    "--shared-plan", is_flag=True, help="Ignore rules for servers other than --name; by default an error."
)
@click.option(
    "--header",
    "headers",
    metavar="NAME: VALUE",
    multiple=True,
    help="Header to send to --upstream, besides the lines of FAULT_GATEWAY_HEADERS. Repeatable.",
)
@click.option(
    "--no-token",
    is_flag=True,
    help="Serve clients over HTTP without a token: all users of this machine can then call the server.",
)
@trust_options
@click.option(
    "--record",
    metavar="FILE",
    help="Write every message and injection to this file (JSONL); a * in its name becomes a number.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing recording.")
@click.option("--record-only", is_flag=True, help="Inject nothing, whatever --fault and --plan name.")
@click.option(
    "--report",
    metavar="FILE",
    help="At the end, write what the client did as HTML (.html), Markdown (.md) or JSON (.json): see "
    "`fault gateway report`.",
)
@seed_option(CALL_SEED_HELP)
@control_options
@json_option(EVENTS_HELP)
def command(
    server_command: tuple[str, ...],
    upstream: str,
    faults: tuple[str, ...],
    plan_file: str | None,
    front: Literal["stdio", "http"] | None,
    host: str,
    port: int,
    server_name: str,
    shared_plan: bool,
    headers: tuple[str, ...],
    no_token: bool,
    insecure: bool,
    cacert: str | None,
    record: str | None,
    overwrite: bool,
    record_only: bool,
    report: str | None,
    seed: str | None,
    control: str | None,
    control_cert: str | None,
    control_key: str | None,
    control_client_ca: str | None,
    as_json: bool,
) -> int:
    """Relay messages between an MCP client and its server, and break the calls that rules name.

    Everything else passes unchanged, byte for byte: progress, cancellation, sampling, subscriptions. The
    client may use stdio and the server HTTP, or the other way round. Options end at the first word that is
    none: what follows is the server's command, with or without -- before it.

    Over HTTP, clients must send a token if the gateway adds headers, starts the server, or is reachable
    from other machines: FAULT_GATEWAY_TOKEN, or a random one that is printed.
    """
    from tempfile import TemporaryDirectory

    from faultkit.base.signals import run_async
    from faultkit.cli.call_plan import call_plan, header_pairs
    from faultkit.cli.gateway_report import check_report_path, write_report
    from faultkit.mcp.gateway.gateway_run import HEADERS_VARIABLE, GatewayJob, check_gateway_job, run_gateway
    from faultkit.plan import Plan

    front = front or ("http" if upstream else "stdio")
    for is_idle, flags, beside in (
        (not upstream, ("--header",), "--upstream URL"),
        (not upstream.lower().startswith("https:"), ("--insecure", "--cacert"), "--upstream https://…"),
        (front == "stdio", (*HTTP_FRONT_FLAGS, "--no-token"), "--front http"),
        (not server_name, ("--shared-plan",), "--name NAME"),
        (record is None, ("--record-only", "--overwrite"), "--record FILE"),
    ):
        if is_idle:
            refuse_unused_flags(flags, beside)
    _check_command(server_command)
    if report is not None:
        check_report_path(report, record)
    written = call_plan(faults, plan_file, seed)
    if shared_plan:
        written = written.for_server(server_name)
    plan = written.plan
    endpoint, control_tls = control_api(click.get_current_context().params)
    given = [line for line in os.environ.get(HEADERS_VARIABLE, "").splitlines() if line.strip()]
    job = GatewayJob(
        command=server_command,
        upstream=upstream,
        front=front,
        host=host,
        port=port,
        plan=Plan(seed=plan.seed) if record_only else plan,
        server=server_name,
        record=record,
        overwrite=overwrite,
        headers=(*header_pairs(given, HEADERS_VARIABLE), *header_pairs(headers)),
        verify=verify_of(insecure, cacert),
        control=None if endpoint is None else (endpoint.host, endpoint.port),
        control_tls=control_tls,
        control_token=os.environ.get("FAULT_CONTROL_TOKEN") or None,
        token=os.environ.get("FAULT_GATEWAY_TOKEN") or None,
        is_open=no_token,
        json_events=as_json,
    )
    with written.naming_places():
        check_gateway_job(job)
    _warn_of_methods(written, job.plan)
    if report is None:
        return run_async(run_gateway(job, say_on_stderr)).code
    with TemporaryDirectory(prefix="faultkit-") as folder:
        recorded = job if record is not None else replace(job, record=f"{folder}/calls.jsonl")
        ended = run_async(run_gateway(recorded, say_on_stderr))
        assert ended.recording is not None
        source = ended.recording if record is not None else "Traffic of this gateway"
        say_on_stderr(write_report(ended.recording, source, report, as_json=as_json))
    return ended.code


def _check_command(words: tuple[str, ...]) -> None:
    """Raise TargetError for a missing program whose name is close to that of a subcommand."""
    import shutil

    close = close_names(words[0], SUBCOMMANDS) if words else []
    if close and words[0] not in SUBCOMMANDS and shutil.which(words[0]) is None:
        raise TargetError(
            f"cannot start {words[0]}: there is no such program; did you mean `fault gateway {close[0]}`?"
        )


def _warn_of_methods(written: WrittenPlan, plan: Plan) -> None:
    """Warn about unknown methods in rules. They are not an error: a server may define methods of its own."""
    from faultkit.mcp.targets import METHODS, Inventory, unmet_targets

    for index, rule in enumerate(plan.rules):
        for mistake in unmet_targets(rule, Inventory(methods=METHODS)):
            click.echo(f"warning: {written.placed(mistake.within(f'rules[{index}]'))}", err=True)


@click.command(
    "wrap",
    epilog="""\b
Examples:
  fault gateway wrap .mcp.json
  fault gateway wrap .mcp.json --fault slow:2000%0.2 --write
  fault gateway wrap .vscode/mcp.json --only github --plan plan.yaml --write
  fault gateway wrap ~/.claude.json --project . --fault hang --write
  fault gateway wrap ~/.codex/config.toml --fault hang --write
  fault gateway wrap .mcp.json --undo --write
""",
)
@click.argument("config", metavar="CONFIG")
@click.option(
    "--fault",
    "faults",
    metavar="SPEC",
    multiple=True,
    help="Fault to inject, as for `fault gateway`. Repeatable.",
)
@click.option("--plan", "plan_file", metavar="FILE", help="Plan file with rules, with or without --fault.")
@click.option("--only", metavar="NAME", multiple=True, help="Wrap only this server. Repeatable.")
@click.option(
    "--project", metavar="FOLDER", help="Wrap only the servers that ~/.claude.json has for this project."
)
@seed_option("Seed of all random choices.")
@click.option(
    "--record",
    metavar="FOLDER",
    help="Record the messages of each server to files in FOLDER; --write creates it.",
)
@click.option("--undo", is_flag=True, help="Restore the original entries, byte for byte.")
@click.option("--write", is_flag=True, help="Write to CONFIG; the original is kept as CONFIG.before-fault.")
def wrap_command(
    config: str,
    faults: tuple[str, ...],
    plan_file: str | None,
    only: tuple[str, ...],
    project: str | None,
    seed: str | None,
    record: str | None,
    undo: bool,
    write: bool,
) -> None:
    """Put the servers of a client's config behind the gateway, or undo that.

    CONFIG lists them under "mcpServers" (Claude, Cursor; in ~/.claude.json also those of each project),
    "servers" (VS Code), "context_servers" (Zed), or in tables [mcp_servers.NAME] of a .toml file (Codex).
    The result is printed, or written with --write. Wrapping again replaces the flags of the gateway;
    --undo restores the file.
    """
    from faultkit.base.files import rewrite_file
    from faultkit.cli.call_plan import call_plan
    from faultkit.faults.call_fault import ERAS
    from faultkit.mcp.hosts.host_configs import BACKUP_SUFFIX, format_of
    from faultkit.mcp.hosts.wrapping import (
        Selection,
        Wrapping,
        check_servers,
        errors_in,
        unwrap_servers,
        wrap_servers,
    )
    from faultkit.mcp.injector import check_plan

    if undo and (faults or plan_file or seed or record):
        raise InputError("--undo", "expected no --fault, --plan, --seed or --record with it")
    before = _read(Path(config))
    text, format = before.decode("utf-8"), format_of(config)
    if plan_file is not None:
        plan_file = str(Path(plan_file).absolute())
    written = call_plan(faults, plan_file, seed)
    wrapping = Wrapping(
        _program(),
        faults,
        plan_file,
        written.plan,
        seed,
        None if record is None else str(Path(record).absolute()),
    )
    with written.naming_places():
        # The client talks to the gateway over stdio, also where the server itself is reached over HTTP.
        check_plan(written.plan, "stdio", ERAS)
        with errors_in(config):
            check_servers(text, written.plan, format)
    chosen = Selection(only, None if project is None else os.path.abspath(project))
    with errors_in(config):
        done = unwrap_servers(text, chosen, format) if undo else wrap_servers(text, wrapping, chosen, format)
    for note in done.notes:
        click.echo(note, err=True)
    if record is not None and os.path.exists(record) and not os.path.isdir(record):
        raise InputError("--record", f"expected a folder, got {record}, a file")
    if not write:
        if record is not None and not os.path.isdir(record):
            click.echo(f"note: the folder {record} is not there; --write creates it", err=True)
        click.echo(done.text, nl=False)
        return
    if record is not None:
        _create_folder(record)
    if done.text != text:
        # A file that is wrapped already keeps its first backup, which holds the original.
        backup = BACKUP_SUFFIX if done.was_untouched else None
        rewrite_file(config, done.text.encode("utf-8"), before, backup=backup)
    left = f"nothing ({count_of(len(done.notes), 'server')} left as it is)" if done.notes else "nothing to do"
    names = ", ".join(done.names) or left
    click.echo(f"{config}: {'put back' if undo else 'wrapped'}: {names}", err=True)


def _create_folder(path: str) -> None:
    """Create the folder of recordings, which hold secrets; raise InputError if it cannot be written to.

    A gateway that cannot record does not start, and its client would only say that the server is gone."""
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        problem = f"{path} cannot be created: {(error.strerror or str(error)).lower()}"
        raise InputError("--record", problem) from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError("--record", f"expected a folder that can be written to, got {path}")


def _program() -> tuple[str, ...]:
    """Return the command that starts `fault` from a client, whose PATH may differ from the shell's."""
    beside = Path(sys.executable).parent / "fault"
    return (str(beside),) if beside.exists() else (sys.executable, "-m", "faultkit")


def _read(path: Path) -> bytes:
    """Return the bytes of a config file; raise InputError unless they are UTF-8."""
    try:
        data = path.read_bytes()
        data.decode("utf-8")
        return data
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise InputError(str(path), "expected UTF-8 text, got other bytes") from None
