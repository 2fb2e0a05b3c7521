"""`fault gateway`: a proxy between any MCP client and any MCP server, which injects call faults."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

import click

from faultkit.base.address import LOOPBACK_NAMES
from faultkit.base.errors import InputError, TargetError
from faultkit.base.text import close_names
from faultkit.cli.lazy import CommandWithSubcommands, LazyCommand
from faultkit.cli.mock import FAULT_FORM, HTTP_FRONT_FLAGS, refuse_unused_flags

if TYPE_CHECKING:
    from faultkit.cli.call_plan import WrittenPlan
    from faultkit.plan import Plan

CONTROL_PORT = 7900
SUBCOMMANDS = {
    "replay": LazyCommand(
        "faultkit.cli.mock:replay_command", "Serve a recording in place of the server it was made of."
    ),
    "wrap": LazyCommand(
        "faultkit.cli.wrap:command", "Put every server of a client's config behind the gateway, or back."
    ),
}


@click.command(
    cls=CommandWithSubcommands,
    entries=SUBCOMMANDS,
    epilog="""\b
Examples:
  fault gateway -- python server.py
  fault gateway --fault slow:2000@search -- npx some-server
  fault gateway --upstream http://127.0.0.1:8000/mcp --front http --fault lost_reply%0.1
  fault gateway --record calls.jsonl --record-only -- python server.py
  fault gateway --control -- python server.py
`fault faults` lists the faults; those of level call can be used here.
""",
)
@click.argument("server_command", metavar="-- COMMAND…", nargs=-1, type=click.UNPROCESSED)
@click.option("--upstream", metavar="URL", default="", help="A server over HTTP, in place of COMMAND.")
@click.option(
    "--fault",
    "faults",
    metavar="SPEC",
    multiple=True,
    help=f"What to break: {FAULT_FORM}",
)
@click.option("--plan", "plan_file", metavar="FILE", help="A plan of rules besides, or in place of, --fault.")
@click.option(
    "--front",
    type=click.Choice(["stdio", "http"]),
    help="How clients speak to it; by default as the server does.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address for --front http.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8766, show_default=True, help="Port for --front http."
)
@click.option("--name", "server_name", default="", help="Name of the server, for rules that say which one.")
@click.option(
    "--shared-plan", is_flag=True, help="Rules for other servers than --name are no mistake; leave them out."
)
@click.option(
    "--header",
    "headers",
    metavar="NAME: VALUE",
    multiple=True,
    help="Sent to the --upstream; so are the lines of FAULT_GATEWAY_HEADERS.",
)
@click.option("--insecure", is_flag=True, help="Do not check the certificate of the --upstream.")
@click.option(
    "--record",
    metavar="FILE",
    help="Write every message and injection to this file (JSONL); a * in its name becomes a number.",
)
@click.option("--overwrite", is_flag=True, help="Replace a recording that is there already.")
@click.option("--record-only", is_flag=True, help="Inject nothing, whatever --fault and --plan say.")
@click.option("--seed", default=None, help="Seed of all chance; that of the plan if not given.")
@click.option(
    "--control",
    metavar="[HOST:PORT]",
    is_flag=False,
    flag_value=f"127.0.0.1:{CONTROL_PORT}",
    envvar="FAULT_CONTROL_ADDRESS",
    help=f"HTTP API to change faults while it runs (127.0.0.1:{CONTROL_PORT}); "
    "its token is FAULT_CONTROL_TOKEN, or one that is shown.",
)
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
    insecure: bool,
    record: str | None,
    overwrite: bool,
    record_only: bool,
    seed: str | None,
    control: str | None,
) -> int:
    """Stand between an MCP client and its server, and break the calls that rules name.

    Everything else passes as it is, byte for byte: progress, cancellation, sampling, subscriptions. The
    client may speak stdio and the server HTTP, or the other way round.
    """
    from faultkit.base.signals import run_async
    from faultkit.cli.call_plan import call_plan, header_pairs
    from faultkit.mcp.gateway.gateway_run import GatewayJob, check_gateway_job, run_gateway
    from faultkit.mcp.hosts.wrapping import HEADERS_VARIABLE
    from faultkit.plan import Plan

    front = front or ("http" if upstream else "stdio")
    for is_idle, flags, beside in (
        (not upstream, ("--header",), "--upstream URL"),
        (not upstream.lower().startswith("https:"), ("--insecure",), "--upstream https://…"),
        (front == "stdio", HTTP_FRONT_FLAGS, "--front http"),
        (not server_name, ("--shared-plan",), "--name NAME"),
        (record is None, ("--record-only", "--overwrite"), "--record FILE"),
    ):
        if is_idle:
            refuse_unused_flags(flags, beside)
    _check_command(server_command)
    written = call_plan(faults, plan_file, seed)
    if shared_plan:
        written = written.for_server(server_name)
    plan = written.plan
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
        verify=not insecure,
        control=_control(control),
        control_token=os.environ.get("FAULT_CONTROL_TOKEN") or None,
    )
    with written.naming_places():
        check_gateway_job(job)
    _warn_of_methods(written, job.plan)
    ended = run_async(run_gateway(job, lambda line: click.echo(line, err=True)))
    return ended.code


def _check_command(words: tuple[str, ...]) -> None:
    """Raise TargetError for a missing program whose name is close to that of a sub-command."""
    import shutil

    close = close_names(words[0], SUBCOMMANDS) if words else []
    if close and words[0] not in SUBCOMMANDS and shutil.which(words[0]) is None:
        raise TargetError(
            f"cannot start {words[0]}: there is no such program; did you mean `fault gateway {close[0]}`?"
        )


def _warn_of_methods(written: WrittenPlan, plan: Plan) -> None:
    """Warn of unknown methods in rules; no error, since a server may have methods of its own."""
    from faultkit.mcp.targets import METHODS, Inventory, unmet_targets

    for index, rule in enumerate(plan.rules):
        for mistake in unmet_targets(rule, Inventory(methods=METHODS)):
            click.echo(f"warning: {written.placed(mistake.within(f'rules[{index}]'))}", err=True)


def _control(text: str | None) -> tuple[str, int] | None:
    if text is None:
        return None
    from faultkit.base.address import parse_endpoint

    endpoint = parse_endpoint(text, CONTROL_PORT, path="--control")
    if endpoint.host not in LOOPBACK_NAMES:
        raise InputError("--control", f"expected a loopback address, got {endpoint}")
    return endpoint.host, endpoint.port
