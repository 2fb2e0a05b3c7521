"""`fault mock`: a server made of a file, as broken as you like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from faultkit.cli.serving import serve, serving_options

if TYPE_CHECKING:
    from faultkit.mcp.mock.model import Manifest
    from faultkit.mcp.mock.recording import Recording

_EXAMPLES = """\b
Examples:
  fault mock --tools-from tools.yml
  fault mock --tools-from tools.yml --fault hang
  fault mock --tools-from tools.yml --fault slow:500@search --fault tool_error%0.2@book
  fault mock --tools-from tools.yml --front http --port 8765 --fault http_status:503
  fault mock --tools-from calls.jsonl
`fault faults` lists the faults; those of level call can be used here."""


class _Command(click.Command):
    """Known by two names: its examples are those of the name that it was called by."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(_EXAMPLES.replace("  fault mock", f"  {ctx.command_path}"))


@click.command(cls=_Command)
@click.option(
    "--tools-from",
    "tools_from",
    metavar="FILE",
    required=True,
    help="Manifest of tools, resources and prompts (YAML or JSON), or a recording of `fault gateway`.",
)
@serving_options(8765)
def command(tools_from: str, **options: Any) -> None:
    """Serve the tools of a file over MCP, both eras of it, and break their calls as told.

    Only tools/call is touched unless a fault is aimed elsewhere: clients connect and see the tools, and then
    meet the fault. A call that hangs ends after ten minutes with an error that says so.
    """

    def load() -> Manifest | Recording:
        from faultkit.mcp.mock.file import load_source

        return load_source(tools_from)

    serve(load, **options)
