"""`fault mock` and `fault gateway replay`: serve MCP tools from a manifest or from a recording."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

from faultkit.base.errors import InputError
from faultkit.base.garbage import without_garbage_collection
from faultkit.cli.command_groups import CommandWithSubcommands, LazyCommand
from faultkit.cli.shared_options import CALL_SEED_HELP, add_options, json_option, seed_option

if TYPE_CHECKING:
    from faultkit.mcp.mock.mock_model import Manifest
    from faultkit.mcp.mock.mock_recording import Recording

FAULT_FORM = (
    "KIND[:VALUE][,KEY=VALUE…][%PROBABILITY][@TARGET], where TARGET is a tool, a method such as tools/list, "
    "or one of resource:, prompt:, tool:, method:, server: and a glob. Repeatable."
)
EVENTS_HELP = "Write to stderr one JSON event a line: the address, each injection, notes, the end."
HTTP_FRONT_FLAGS = ("--host", "--port")


def mock_options(port: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options of a mock server; `port` is the default port."""
    options = (
        click.option(
            "--fault",
            "faults",
            metavar="SPEC",
            multiple=True,
            help=f"none, hang, wedged, slow:MS, recover-after:N, or any other fault: {FAULT_FORM}",
        ),
        click.option(
            "--plan", "plan_file", metavar="FILE", help="Plan file with rules, with or without --fault."
        ),
        click.option(
            "--front",
            type=click.Choice(["stdio", "http"]),
            default="stdio",
            show_default=True,
            help="Transport that clients use.",
        ),
        click.option("--host", default="127.0.0.1", show_default=True, help="Address for --front http."),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=port,
            show_default=True,
            help="Port for --front http.",
        ),
        seed_option(CALL_SEED_HELP),
        json_option(EVENTS_HELP),
    )
    return lambda command: add_options(command, *options)


def refuse_unused_flags(flags: Iterable[str], beside: str) -> None:
    """Raise InputError for one of these flags on the command line, where it would have no effect."""
    ctx = click.get_current_context()
    for parameter in ctx.command.params:
        source = None if parameter.name is None else ctx.get_parameter_source(parameter.name)
        for flag in parameter.opts:
            if flag in flags and source is ParameterSource.COMMANDLINE:
                raise InputError(flag, f"expected {beside} beside it, without which it does nothing")


def serve_mock(
    load: Callable[[], Manifest | Recording],
    faults: tuple[str, ...],
    plan_file: str | None,
    front: Literal["stdio", "http"],
    host: str,
    port: int,
    seed: str | None,
    as_json: bool,
) -> None:
    """Serve until the client disconnects or a stop signal arrives."""
    if front == "stdio":
        refuse_unused_flags(HTTP_FRONT_FLAGS, "--front http")
    with without_garbage_collection():
        from faultkit.base.signals import run_async
        from faultkit.mcp.mock.mock_server import MockJob, check_mock_job, run_mock
        from faultkit.plan import Plan

        job = MockJob(load(), Plan(), front, host, port, as_json)
        if faults or plan_file is not None:
            from faultkit.cli.call_plan import call_plan

            written = call_plan(faults, plan_file, seed)
            job = replace(job, plan=written.plan)
            with written.naming_places():
                check_mock_job(job)
    gc.freeze()  # Modules and the manifest stay: later collections need not visit them.
    run_async(run_mock(job, say_on_stderr))


def say_on_stderr(line: str) -> None:
    """Write a line to stderr. A client that is gone, and has closed it, must not end the clean-up."""
    with suppress(OSError):
        click.echo(line, err=True)


_EXAMPLES = """\b
Examples:
  fault mock --tools-from tools.yml
  fault mock --tools-from tools.yml --fault hang
  fault mock --tools-from tools.yml --fault slow:500@search --fault tool_error%0.2@book
  fault mock --tools-from tools.yml --front http --port 8765 --fault http_status:503
  fault mock --tools-from calls.jsonl
`fault faults` lists the faults; those of level call can be used here."""


class _MockCommand(CommandWithSubcommands):
    """`fault mock`, also called `mcptest mock`: the examples use the name that it was called by."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(_EXAMPLES.replace("  fault mock", f"  {ctx.command_path}"))


_SUBCOMMANDS = {
    "llm": LazyCommand(
        "faultkit.cli.mock_llm:command", "Serve the APIs of models without a key, with faults."
    ),
}


def _refuse_preset(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    if value is not None:
        raise InputError(
            "--preset",
            "the catalogs of mcptest are not part of Faultkit; expected --tools-from FILE in its place",
        )


@click.command("mock", cls=_MockCommand, entries=_SUBCOMMANDS)
@click.option(
    "--tools-from",
    "tools_from",
    metavar="FILE",
    required=True,
    help="Manifest of tools, resources and prompts (YAML or JSON), or a recording of `fault gateway`.",
)
@click.option("--preset", hidden=True, expose_value=False, is_eager=True, callback=_refuse_preset)
@mock_options(8765)
def mock_command(tools_from: str, **options: Any) -> None:
    """Serve the tools of a file over MCP, in both eras of the protocol, and inject faults into their calls.

    Faults hit only tools/call, unless they name another target: clients connect and list the tools, and then
    meet the fault. A call that hangs ends after ten minutes with an error that says so.
    """

    def load() -> Manifest | Recording:
        from faultkit.mcp.mock.manifest import load_source

        return load_source(tools_from)

    serve_mock(load, **options)


@click.command(
    "replay",
    epilog="""\b
Examples:
  fault gateway replay calls.jsonl
  fault gateway replay calls.jsonl --fault slow:2000@search
  fault gateway replay calls.jsonl --front http --port 8766
""",
)
@click.argument("file", metavar="FILE")
@mock_options(8766)
def replay_command(file: str, **options: Any) -> None:
    """Serve a recording of `fault gateway --record`: the same requests get the same replies.

    Replies to the same request are sent in the recorded order; the last one is repeated. A request that was
    never recorded gets an error that says so. Faults can be added.
    """

    def load() -> Recording:
        from faultkit.mcp.mock.manifest import load_recording

        return load_recording(file)

    serve_mock(load, **options)
