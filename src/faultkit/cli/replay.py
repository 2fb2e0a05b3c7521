"""`fault gateway replay`: a recording in place of the server that it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from faultkit.cli.serving import serve, serving_options

if TYPE_CHECKING:
    from faultkit.mcp.mock.recording import Recording


@click.command(
    epilog="""\b
Examples:
  fault gateway replay calls.jsonl
  fault gateway replay calls.jsonl --fault slow:2000@search
  fault gateway replay calls.jsonl --front http --port 8766
"""
)
@click.argument("file", metavar="FILE")
@serving_options(8766)
def command(file: str, **options: Any) -> None:
    """Serve a recording of `fault gateway --record`: the same requests get the same replies.

    Replies to the same request come in the recorded order, and the last one stays. What was never asked gets
    an error that says so. Faults can be laid over it.
    """

    def load() -> Recording:
        from faultkit.mcp.mock.file import load_recording

        return load_recording(file)

    serve(load, **options)
