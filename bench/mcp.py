"""`python -m bench.mcp`: compares the mock and the failure tools with the SDK's low-level server, and
measures what the gateway adds to a call."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from bench import machine
from bench.load import LoadError
from bench.mcp_cells import CELLS as BARE_CELLS
from bench.mcp_cells import FULL, IN_FLIGHT, QUICK, Cell, Metrics, RunningServers, Target, start_all
from bench.mcp_cells import TARGETS as BARE_TARGETS
from bench.mcp_serve import SERVE_CELL, SERVE_TARGET
from bench.mcp_servers import MOCK, commands_in
from bench.options import measure, print_medians, progress
from bench.processes import StartError, end_on_sigterm
from bench.relays import find_fault
from bench.stats import median
from bench.tables import Table, figure, markdown

CELLS = (*BARE_CELLS, SERVE_CELL)
TARGETS = (*BARE_TARGETS, SERVE_TARGET)
ROUNDS = 3
_OPEN_FILES = 8192
"""Descriptors: 1,000 sessions are 2,000 connections, on both sides of the gateway."""
HEADING = "## MCP"
METHOD = f"""\
One client for all: it writes finished bytes and counts what comes back, and its own CPU time is shown. The
mock serves one tool with a fixed text; beside it stands a low-level server of the official SDK with the same
tool (for HTTP behind uvicorn, with JSON replies). {IN_FLIGHT} in flight are that many lines over stdio, and
that many kept connections over HTTP. What the gateway adds is the difference of two medians: calls directly
and through it, in turns, one at a time. An idle session has a connection for its calls and its event stream
open; memory is the growth of the proportional set size. The failure tools write each call down, into SQLite;
the SDK's server beside them echoes the same and keeps nothing.
"""

Samples = dict[str, dict[str, list[Metrics]]]


@dataclass
class Result:
    targets: ClassVar[tuple[Target, ...]] = TARGETS
    machine: machine.Machine
    rounds: int
    steal_percent: float = 0.0
    figures: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def verdicts(self) -> list[tuple[Target, float | None, str]]:
        reached = [(target, target.reached(self.figures)) for target in self.targets]
        return [(target, figure, target.word(figure)) for target, figure in reached]

    def missed(self) -> bool:
        return any(word == "MISS" for *_, word in self.verdicts())

    def to_json(self) -> dict[str, Any]:
        verdicts = [
            {"label": target.label, "figure": reached, "limit": target.limit, "verdict": word}
            for target, reached, word in self.verdicts()
        ]
        return {**asdict(self), "verdicts": verdicts}


def run(options: argparse.Namespace) -> Result:
    fault = getattr(options, "fault", None) or find_fault()
    if fault is None:
        raise StartError("fault is not installed in this environment")
    only = getattr(options, "cells", None)
    cells = [cell for cell in CELLS if not only or cell.name in only]
    machine.raise_open_files(_OPEN_FILES)
    with tempfile.TemporaryDirectory(prefix="mcp-bench-") as name, end_on_sigterm(), ExitStack() as stack:
        result = Result(machine.describe(), options.rounds)
        progress("starting the servers")
        running = start_all(stack, commands_in(Path(name), fault), Path(name))
        before = machine.cpu_times()
        samples = _measure_all(running, cells, options, result)
        result.steal_percent = machine.steal_percent(before, machine.cpu_times())
        result.figures = medians(samples)
        progress("")
        return result


def _measure_all(
    running: RunningServers, cells: Sequence[Cell], options: argparse.Namespace, result: Result
) -> Samples:
    """Measure in rounds, so that a noisy minute affects all subjects; each round begins with another one."""
    sizes = QUICK if options.quick else FULL
    samples: Samples = {cell.name: {subject: [] for subject in cell.subjects} for cell in cells}
    for number in range(options.rounds):
        for cell in cells:
            if cell.rounds is not None and number >= cell.rounds:
                continue
            shift = number % len(cell.subjects)
            for subject in [*cell.subjects[shift:], *cell.subjects[:shift]]:
                progress(f"round {number + 1}/{options.rounds}: {cell.name}, {subject}")
                try:
                    samples[cell.name][subject].append(cell.measure(running, subject, sizes))
                except (LoadError, StartError, OSError) as error:
                    result.skipped.append(f"{cell.name} of {subject}, round {number + 1}: {error}")
    return samples


def medians(samples: Mapping[str, Mapping[str, Sequence[Metrics]]]) -> dict[str, dict[str, dict[str, float]]]:
    return {
        cell: {
            subject: {metric: median([one[metric] for one in rounds]) for metric in rounds[0]}
            for subject, rounds in subjects.items()
            if rounds
        }
        for cell, subjects in samples.items()
    }


# Output


def figure_table(result: Result, cell: Cell) -> Table:
    """Return a row for each subject; speeds also as a multiple of the last row's."""
    subjects = result.figures[cell.name]
    is_ratio = cell.columns[0][0] == "per_s" and len(subjects) == len(cell.subjects)
    head = [cell.label, *(heading for _, heading in cell.columns), *(["×"] if is_ratio else [])]
    rows = []
    for subject, metrics in subjects.items():
        row = [subject, *(figure(metrics[metric]) for metric, _ in cell.columns)]
        if is_ratio:
            row.append(figure(metrics["per_s"] / subjects[cell.subjects[-1]]["per_s"]))
        rows.append(row)
    return head, rows


def verdict_table(result: Result) -> Table:
    rows = [
        [target.label, f"{'≥' if target.at_least else '≤'} {target.limit:g}", figure(reached), word]
        for target, reached, word in result.verdicts()
    ]
    return ["target", "limit", MOCK, "verdict"], rows


def tables(result: Result) -> list[Table]:
    measured = [figure_table(result, cell) for cell in CELLS if result.figures.get(cell.name)]
    return [verdict_table(result), *measured]


def section(result: Result) -> str:
    """Return this benchmark's section of the document."""
    parts = [HEADING, f"{METHOD}Medians of {result.rounds} rounds.", *(markdown(*t) for t in tables(result))]
    return "\n\n".join(part.strip() for part in parts)


def print_result(result: Result) -> None:
    print_medians(result, tables(result))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mcp", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter cells: a first impression")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures here")
    parser.add_argument("--fault", metavar="PATH", help="the fault command (default: of this environment)")
    parser.add_argument(
        "--only", dest="cells", action="append", choices=[cell.name for cell in CELLS], help="repeatable"
    )
    parser.add_argument("--document", action="store_true", help="also renew this section of the document")
    options = parser.parse_args(arguments)
    began_s = time.monotonic()

    def show(result: Result) -> None:
        print_result(result)
        print(f"\n{time.monotonic() - began_s:.0f} s in all")

    problems = (StartError, LoadError)
    return measure(options, run, show, Result.missed, section=section, problems=problems)


if __name__ == "__main__":
    sys.exit(main())
