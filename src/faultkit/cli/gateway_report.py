"""`fault gateway report`: judge what an agent did behind the gateway, from a recording."""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import TYPE_CHECKING

import click

from faultkit.base.errors import InputError
from faultkit.base.text import did_you_mean
from faultkit.cli.shared_options import json_option

if TYPE_CHECKING:
    from faultkit.agents.behaviour.behaviour import Behaviour
    from faultkit.agents.behaviour.checks import CheckName

_ANY = "any"
_PAGE_WIDTH = 110

_EPILOG = """\b
Checks:
  loops                the same calls again and again, with the same results
  repeated-writes      a call with an effect, sent again after its answer was lost
  ignored-retry-after  calls during a wait that an answer asked for
  calls-after-cancel   a call with an effect, sent again after it was cancelled
  wasted-calls         calls of tools that are gone, or that failed in the same way before
  canaries             values that a fault planted, passed on in arguments

\b
Exit codes:
  0  no check of --fail-on found anything, and each fault was met
  1  a check of --fail-on found something
  2  wrong input
  6  a fault was never met, or a check of --fail-on cannot tell

\b
Examples:
  fault gateway report calls.jsonl
  fault gateway report calls.jsonl --report report.html
  fault gateway report calls.jsonl --fail-on loops,repeated-writes
  fault gateway report calls.jsonl --fail-on any --reads 'get_*' --writes book --json
"""


@click.command("report", epilog=_EPILOG)
@click.argument("recording", metavar="RECORDING")
@click.option(
    "--fail-on",
    metavar="CHECK,…|any",
    multiple=True,
    help="Exit with 1 if one of these checks finds something. Repeatable.",
)
@click.option(
    "--reads",
    metavar="GLOB",
    multiple=True,
    help="Tools that may be repeated without a further effect, whatever their annotations say. Repeatable.",
)
@click.option(
    "--writes",
    metavar="GLOB",
    multiple=True,
    help="Tools that have an effect each time, whatever their annotations say. Repeatable.",
)
@click.option(
    "--report", metavar="FILE", help="Write the report as HTML (.html), Markdown (.md) or JSON (.json)."
)
@json_option("Print the report as JSON.")
def report_command(
    recording: str,
    fail_on: tuple[str, ...],
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    report: str | None,
    as_json: bool,
) -> int:
    """Judge what an agent did behind the gateway, from a recording of `fault gateway --record`.

    Shows loops, repeated writes, ignored waits and other findings, and how long the agent took to recover
    from each fault. All sessions of a recording count as one agent. A recording in which a fault was never
    met proves nothing about it.
    """
    from faultkit.agents.behaviour.behaviour import judge
    from faultkit.agents.behaviour.behaviour_report import to_json, to_text
    from faultkit.agents.behaviour.recorded_run import load_recorded_run

    checks = checks_of(fail_on)
    if report is not None:
        check_report_path(report, recording)
    behaviour = judge(load_recorded_run(recording), reads, writes)
    if as_json:
        click.echo(to_json(behaviour), nl=False)
    else:
        width = min(_PAGE_WIDTH, shutil.get_terminal_size((_PAGE_WIDTH, 24)).columns)
        click.echo(to_text(behaviour, width), nl=False)
    if report is not None:
        _write(report, behaviour)
    return behaviour.exit_code(checks)


def checks_of(values: tuple[str, ...]) -> tuple[CheckName, ...]:
    """Return the checks that --fail-on names; raise InputError for an unknown one."""
    from faultkit.agents.behaviour.behaviour import ALL_CHECKS

    words = [word.strip() for value in values for word in value.split(",")]
    for word in words:
        if word != _ANY and word not in ALL_CHECKS:
            known = (*ALL_CHECKS, _ANY)
            expected = f"expected {', '.join(known[:-1])} or {_ANY}"
            raise InputError("--fail-on", f'{expected}, got "{word}"{did_you_mean(word, known)}')
    return tuple(check for check in ALL_CHECKS if _ANY in words or check in words)


def check_report_path(path: str, recording: str | None) -> None:
    """Raise InputError unless a report can be written to this path, and does not replace the recording.

    recording: its path, in which a * stands for a number"""
    from faultkit.agents.behaviour.behaviour_report import WRITERS
    from faultkit.base.files import check_output_path

    check_output_path(path, WRITERS)
    if recording is not None:
        names = re.escape(os.path.realpath(recording)).replace(r"\*", r"\d+")
        if re.fullmatch(names, os.path.realpath(path)):
            raise InputError("--report", f'expected another file than the recording, got "{path}"')


def write_report(recording: str, source: str, path: str, *, as_json: bool) -> str:
    """Judge a recording, write the report, and return a line that says so: text, or a JSON event.

    source: what the report calls the recording"""
    from faultkit.agents.behaviour.behaviour import judge
    from faultkit.agents.behaviour.recorded_run import read_recorded_run
    from faultkit.base.files import read_text

    behaviour = judge(read_recorded_run(read_text(recording), source))
    _write(path, behaviour)
    if as_json:
        return json.dumps({"event": "report", "file": path, "verdict": behaviour.verdict})
    return f"{path}: {behaviour.headline}"


def _write(path: str, behaviour: Behaviour) -> None:
    from pathlib import Path

    from faultkit.agents.behaviour.behaviour_report import WRITERS
    from faultkit.base.files import write_output

    write_output(path, WRITERS[Path(path).suffix.lower()](behaviour))
