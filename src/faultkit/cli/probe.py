"""`fault edge` and `fault profile`: probe an MCP server with edge cases, an MCP client with call faults."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Literal

import click

from faultkit.base.errors import InputError
from faultkit.cli.command_groups import CommandWithSubcommands, LazyCommand
from faultkit.cli.shared_options import OPTIONS_FIRST, json_option, seconds_of, seed_option

_MET, _MISSED = 0, 1
_PROFILED, _INCONCLUSIVE = 0, 4

_EDGE_EPILOG = """\b
Exit codes:
  0  every valid request got a valid reply, and no MUST failed (with --strict, no SHOULD either)
  1  it ended or gave no valid reply, a MUST (with --strict, a SHOULD) failed, or an expected failure passed
  2  wrong input
  3  the server could not be started or reached

\b
Examples:
  fault edge -- python server.py
  fault edge --url http://127.0.0.1:8000/mcp --strict
  fault edge --tool search --only EDGE-001 --only EDGE-004 -- python server.py
  fault edge --args 'git_status={"repo_path": "."}' --skip EDGE-102 -- mcp-server-git
  fault edge --slow 'sleep={"seconds": 60}' --timeout 30s -- python server.py
  fault edge --strict --expect-failure EDGE-008 --report edge.xml -- python server.py
"""


@click.command("edge", epilog=_EDGE_EPILOG, context_settings=OPTIONS_FIRST)
@click.argument("server_command", metavar="-- COMMAND…", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", metavar="URL", default="", help="URL of a server over HTTP, in place of COMMAND.")
@click.option(
    "--header", "headers", metavar="NAME: VALUE", multiple=True, help="Header to send to --url. Repeatable."
)
@click.option("--only", metavar="ID", multiple=True, help="Run only this probe. Repeatable.")
@click.option("--skip", metavar="ID", multiple=True, help="Leave out this probe. Repeatable.")
@click.option(
    "--expect-failure",
    "expected_failures",
    metavar="ID",
    multiple=True,
    help="This probe is known to fail: its failure does not count, and the run fails if it passes. "
    "Repeatable.",
)
@click.option(
    "--tool",
    "tools",
    metavar="NAME",
    multiple=True,
    help="Call this tool, whatever its annotations say. Repeatable. By default, only tools are called whose "
    "annotations declare them read-only.",
)
@click.option(
    "--args",
    "arguments",
    metavar="TOOL={JSON}",
    multiple=True,
    help="Arguments that this tool accepts; by default they are made from its schema. Repeatable.",
)
@click.option(
    "--slow",
    metavar="TOOL[={JSON}]",
    help="Tool call that takes longer than the server's own time limit, for EDGE-006.",
)
@click.option(
    "--timeout", metavar="DURATION", default="10s", show_default=True, help="How long to wait for a reply."
)
@click.option(
    "--era",
    type=click.Choice(["legacy", "modern"]),
    help="Protocol era to use; by default legacy, and modern if the server refuses that.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 also if a SHOULD failed.")
@json_option("Print the results as JSON.")
@click.option(
    "--report", metavar="FILE", help="Write the results and their evidence as Markdown (.md) or JUnit (.xml)."
)
def edge_command(
    server_command: tuple[str, ...],
    url: str,
    headers: tuple[str, ...],
    only: tuple[str, ...],
    skip: tuple[str, ...],
    expected_failures: tuple[str, ...],
    tools: tuple[str, ...],
    arguments: tuple[str, ...],
    slow: str | None,
    timeout: str,
    era: Literal["legacy", "modern"] | None,
    strict: bool,
    as_json: bool,
    report: str | None,
) -> int:
    """Probe an MCP server with edge cases: odd and oversized input, concurrent calls, broken messages.

    Tools are called with arguments that their schemas allow. Only a tool that is read-only, or named by
    --tool, is also called with wrong ones, to check that it refuses them. The tools that were called are
    listed at the end.
    """
    from faultkit.base.files import check_output_path, write_output
    from faultkit.base.signals import run_until_signal
    from faultkit.cli.call_plan import header_pairs
    from faultkit.cli.mock import refuse_unused_flags
    from faultkit.mcp.mcp_client import ServerAddress
    from faultkit.mcp.probe.servers.probe_report import (
        lines_of,
        summary_of,
        to_json,
        to_junit,
        to_markdown,
        verdict_of,
    )
    from faultkit.mcp.probe.servers.probe_results import ProbeOptions, ProbeResult
    from faultkit.mcp.probe.servers.probe_run import check_run, probe_server

    if not url:
        refuse_unused_flags(("--header",), "--url URL")
    if report is not None:
        check_output_path(report, (".md", ".xml"))
    address = ServerAddress(command=server_command, url=url, headers=dict(header_pairs(headers)))
    options = ProbeOptions(
        only=only,
        skip=skip,
        expected_failures=expected_failures,
        tools=tools,
        arguments=_arguments_by_tool(arguments),
        slow=None if slow is None else _slow_call(slow),
        wait_s=seconds_of("--timeout", timeout),
        era=era,
    )
    check_run(address, options)

    known = {id.upper() for id in expected_failures}

    def show(result: ProbeResult) -> None:
        if not as_json or sys.stderr.isatty():
            click.echo(lines_of(result, is_expected=result.id in known), err=as_json)

    results = run_until_signal(probe_server(address, options, show, _show_on_stderr))
    if as_json:
        click.echo(to_json(results), nl=False)
    else:
        for note in results.notes:
            click.echo(f"note: {note}")
        click.echo(summary_of(results))
    if why := verdict_of(results, strict=strict):
        click.echo(why, err=as_json)
    if report is not None:
        is_junit = report.lower().endswith(".xml")
        write_output(report, to_junit(results, strict=strict) if is_junit else to_markdown(results))
    return _MET if results.is_met(strict=strict) else _MISSED


def _show_on_stderr(line: str) -> None:
    click.echo(line, err=True)


def _slow_call(text: str) -> tuple[str, Mapping[str, object] | None]:
    """Return the tool of --slow and its arguments; None if only the tool is named."""
    if not text.partition("=")[0]:
        raise InputError("--slow", f'expected TOOL or TOOL={{JSON}}, got "{text}"')
    return _tool_and_arguments("--slow", text) if "=" in text else (text, None)


def _arguments_by_tool(given: tuple[str, ...]) -> dict[str, dict[str, object]]:
    """Return the arguments of each --args by the name of its tool."""
    found: dict[str, dict[str, object]] = {}
    for text in given:
        name, arguments = _tool_and_arguments("--args", text)
        if name in found:
            raise InputError("--args", f"expected each tool once, got {name} twice")
        found[name] = arguments
    return found


def _tool_and_arguments(flag: str, text: str) -> tuple[str, dict[str, object]]:
    name, equals, json_text = text.partition("=")
    if not name or not equals:
        raise InputError(flag, f'expected TOOL={{JSON}}, got "{text}"')
    try:
        arguments = json.loads(json_text)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise InputError(flag, f'expected a JSON object behind "{name}=", got "{json_text[:60]}"')
    return name, arguments


_PROFILE_EPILOG = """\b
The client finds its server by
  {server}          in its command: the command line of a server on stdio
  {url}, {config}   in its command, or FAULT_MCP_URL and FAULT_MCP_CONFIG in its environment:
                    the URL of a server over HTTP, or a file with `mcpServers` for either transport
A placeholder that is a whole word becomes as many words as needed; within a word it is quoted for a shell.

\b
Exit codes:
  0  the client was profiled, whatever it did
  2  wrong input
  3  the client cannot be started
  4  the run without a fault failed, so the others show nothing

\b
Examples:
  fault profile -- python client.py {server}
  fault profile --transport http -- python client.py
  fault profile --fault hang --fault http_status:503 --timeout 20s -- python client.py {url}
  fault profile --tools-from tools.yml --report profile.md --json -- node client.js
"""


_PROFILE_SUBCOMMANDS = {
    "llm": LazyCommand(
        "faultkit.cli.profile_llm:command", "Run an LLM client once for each fault of LLM APIs."
    ),
}


@click.command(
    "profile",
    cls=CommandWithSubcommands,
    entries=_PROFILE_SUBCOMMANDS,
    epilog=_PROFILE_EPILOG,
    context_settings=OPTIONS_FIRST,
)
@click.argument("client_command", metavar="-- CLIENT COMMAND…", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    help="Transport of the server; by default stdio if the client's command has {server}, otherwise http.",
)
@click.option(
    "--era",
    type=click.Choice(["legacy", "modern"]),
    help="The only protocol era that the server supports; by default both, and the client chooses.",
)
@click.option(
    "--fault",
    "faults",
    metavar="SPEC",
    multiple=True,
    help="Run only this fault, written as for `fault mock`. Repeatable; by default all faults.",
)
@click.option(
    "--tools-from",
    metavar="FILE",
    help="Manifest of the server's tools; by default two built-in tools.",
)
@click.option(
    "--timeout", metavar="DURATION", default="30s", show_default=True, help="Time limit of each run."
)
@click.option(
    "--parallel", type=click.IntRange(1, 64), default=2, show_default=True, help="Runs at the same time."
)
@seed_option("Seed of all random choices.", default="0")
@json_option("Print the profile as JSON.")
@click.option("--report", metavar="FILE.md", help="Write the profile as Markdown.")
def profile_command(
    client_command: tuple[str, ...],
    transport: Literal["stdio", "http"] | None,
    era: Literal["legacy", "modern"] | None,
    faults: tuple[str, ...],
    tools_from: str | None,
    timeout: str,
    parallel: int,
    seed: str,
    as_json: bool,
    report: str | None,
) -> int:
    """Run an MCP client once for each fault that can hit it, and report how it behaved.

    Each run has its own server with one fault. The messages show whether the client survived, retried,
    cancelled or reconnected, and which calls it left open. A run without a fault comes first.
    """
    from faultkit.base.files import check_output_path, write_output
    from faultkit.base.signals import run_until_signal
    from faultkit.mcp.probe.clients.client_behaviour import ClientBehaviour
    from faultkit.mcp.probe.clients.client_profile import SERVER, ProfileJob, check_job, profile_client
    from faultkit.mcp.probe.clients.profile_report import summary_of, to_json, to_markdown, to_text

    if report is not None:
        check_output_path(report, (".md",))
    has_stdio_server = any(SERVER in word for word in client_command)
    job = ProfileJob(
        client_command,
        transport or ("stdio" if has_stdio_server else "http"),
        era,
        tools_from,
        seed,
        seconds_of("--timeout", timeout),
    )
    check_job(job, faults)

    def show(number: int, of: int, behaviour: ClientBehaviour) -> None:
        if sys.stderr.isatty():
            click.echo(f"{number}/{of} {behaviour.spec}: {behaviour.outcome}", err=True)

    profile = run_until_signal(profile_client(job, faults, parallel=parallel, on_row=show))
    if as_json:
        click.echo(to_json(profile), nl=False)
    else:
        click.echo(to_text(profile), nl=False)
        click.echo(summary_of(profile))
    for note in profile.notes:
        click.echo(f"note: {note}", err=True)
    if report is not None:
        write_output(report, to_markdown(profile))
    return _INCONCLUSIVE if profile.control.outcome == "inconclusive" else _PROFILED
