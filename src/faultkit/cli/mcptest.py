"""`mcptest`: commands of Faultkit under the names that mcptest's documentation uses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import click

from faultkit import __version__
from faultkit.base.errors import InputError
from faultkit.cli.command_groups import LazyCommand, LazyGroup
from faultkit.cli.main import invoke, log_options, start_command

COMMANDS: dict[str, LazyCommand] = {
    "run": LazyCommand("faultkit.cli.suites:command", "Run suites: `fault test`."),
    "validate": LazyCommand(
        "faultkit.cli.suite_tools:validate_command", "Check suites, and run nothing: `fault test validate`."
    ),
    "init": LazyCommand(
        "faultkit.cli.suite_tools:init_command", "Write a first suite for a server: `fault test init`."
    ),
    "mock": LazyCommand("faultkit.cli.mock:mock_command", "Serve the tools of a file: `fault mock`."),
    "schema": LazyCommand(
        "faultkit.cli.suite_tools:schema_command", "Print the JSON Schema of suites: `fault test schema`."
    ),
    "fault-coverage": LazyCommand(
        "faultkit.cli.suite_tools:coverage_command",
        "Show which tools meet which faults: `fault test coverage`.",
    ),
}
_INSTEAD = {
    "compliance": "`fault edge` probes a server",
    "conformance": "`fault edge` probes a server",
    "coverage": "`mcptest fault-coverage` shows which tools meet which faults",
    "discover": "`mcptest init` lists the tools of a server in a first suite",
    "doctor": "`fault doctor` checks this machine",
    "mcp-server": "`fault agent tool` serves tools to coding agents",
    "model-compat": "`fault test rank --vary` compares models",
    "record": "`fault gateway --record FILE` records the traffic of a server",
    "report": "`mcptest run --reporter NAME=FILE` writes each report at once",
}
"""Commands of mcptest that Faultkit does not have, with what it has for their purpose."""
_FLAGS = ("--debug", "--no-color")
_FLAGS_WITH_VALUE = ("--log-level", "--log-file")


class _McptestGroup(LazyGroup):
    """The group of mcptest's commands."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.entries:
            hint = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
            raise InputError(f"mcptest {name}", f"expected one of {', '.join(COMMANDS)}{hint}")
        return super().get_command(ctx, name)


@click.group(
    "mcptest",
    cls=_McptestGroup,
    entries=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="`mcptest COMMAND --help` explains a command. Options of this group may follow the command, too.",
)
@click.version_option(__version__, prog_name="fault")
@log_options
@click.option("--debug", is_flag=True, help="The same as --log-level debug.")
@click.option("--no-color", is_flag=True, help="Print without colours.")
@click.pass_context
def mcptest(
    ctx: click.Context, log_file: str | None, log_level: str, log_stdout: bool, debug: bool, no_color: bool
) -> None:
    """Test agents and MCP servers by suites, and mock servers."""
    if no_color:
        ctx.color = False
    start_command(ctx, log_file, "debug" if debug else log_level, log_stdout)


def invoke_mcptest(args: Sequence[str]) -> int:
    """Run one command line of `mcptest` and return its exit code."""
    return invoke(_global_options_first(args), "mcptest", mcptest)


def _global_options_first(args: Sequence[str]) -> list[str]:
    """Return the words with the options of the group in front, where click expects them."""
    first: list[str] = []
    others: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--":
            others += [word, *words]
        elif word in _FLAGS or word.startswith(tuple(f"{flag}=" for flag in _FLAGS_WITH_VALUE)):
            first.append(word)
        elif word in _FLAGS_WITH_VALUE:
            first += [word, *islice(words, 1)]
        else:
            others.append(word)
    return first + others
