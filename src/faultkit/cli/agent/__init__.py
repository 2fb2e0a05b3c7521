"""`fault agent`: what Faultkit does for coding agents. Each sub-command is imported when it is called."""

from __future__ import annotations

import click

from faultkit.cli.lazy import Entry, LazyGroup
from faultkit.cli.llm import FLAGS, LlmOptions, llm_options

COMMANDS: dict[str, Entry] = {
    "tool": Entry("faultkit.cli.agent.tool", "Serve Faultkit's tools to an MCP client."),
    "install": Entry(
        "faultkit.cli.agent.install", "Show or write the entry with which an MCP client starts it."
    ),
}


@click.group("agent", cls=LazyGroup, entries=COMMANDS)
@llm_options
@click.pass_context
def command(ctx: click.Context, llm: LlmOptions) -> None:
    """Tools for coding agents, over the Model Context Protocol (MCP).

    The flags for a language model may stand before the sub-command or after it. Without a key and without
    flags, the offline rules give advice.
    """
    given = {f"llm_{flag.field}": getattr(llm, flag.field) for flag in FLAGS}
    # What stands before the sub-command is the default of what may stand after it.
    ctx.default_map = {name: {key: value for key, value in given.items() if value} for name in COMMANDS}
