"""`python -m bench.proxy`: the cost of passing bytes through, and of faults at work, compared with peers in
one interleaved run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bench import machine
from bench.cells import FULL, PASS_CELLS, QUICK, Cell, Sizes
from bench.fault_cells import FAULT_CELLS
from bench.injections import FAULTS
from bench.layer_cells import LAYER_CELLS
from bench.load import LoadError
from bench.options import chosen_relays, measure, parser, progress, setup_from
from bench.origin import start_upstreams
from bench.processes import StartError
from bench.relays import OURS, OURS_PLAIN, Relay, RelayKind, Setup
from bench.stats import median
from bench.tables import Table, aligned_table, figure
from bench.targets import Verdict, judge

CELLS = (*PASS_CELLS, *FAULT_CELLS, *LAYER_CELLS)
ROUNDS = 3


@dataclass
class Result:
    machine: machine.Machine
    rounds: int
    steal_percent: float = 0.0
    relays: list[str] = field(default_factory=list)
    figures: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    """Cell, relay, metric: medians."""
    skipped: list[str] = field(default_factory=list)

    def verdicts(self) -> list[Verdict]:
        return judge(self.figures)

    def to_json(self) -> dict[str, Any]:
        verdicts = [
            {"label": v.target.label, "figure": v.figure, "limit": v.target.limit, "verdict": v.word}
            for v in self.verdicts()
        ]
        return {**asdict(self), "verdicts": verdicts}


def run(options: argparse.Namespace) -> Result:
    cells = [cell for cell in CELLS if not options.only or cell.name in options.only]
    with setup_from(options) as setup, ExitStack() as stack:
        result = Result(machine.describe(), options.rounds)
        cells = _possible(cells, result)
        kinds = chosen_relays(options, setup, result.skipped)
        upstreams = start_upstreams(stack, setup, sorted({cell.upstream for cell in cells}))
        relays = {
            fault: _start_all(stack, setup, kinds, upstreams, fault, result)
            for fault in FAULTS
            if any(cell.fault == fault or (not fault and FAULTS[cell.fault].layer is None) for cell in cells)
        }
        before = machine.cpu_times()
        samples = _measure_all(setup, cells, relays, upstreams, options, result)
        result.steal_percent = machine.steal_percent(before, machine.cpu_times())
        result.figures = medians(samples)
        progress("")
        return result


def _possible(cells: Sequence[Cell], result: Result) -> list[Cell]:
    possible = []
    for cell in cells:
        lacking = [why for program in cell.needs if (why := machine.missing(program))]
        if lacking:
            result.skipped.append(f"{cell.name} left out: {'; '.join(lacking)}")
        else:
            possible.append(cell)
    return possible


@dataclass(frozen=True, slots=True)
class Subject:
    """One row of a cell's table."""

    name: str
    kind: RelayKind
    relay: Relay
    fault: str


def _start_all(
    stack: ExitStack,
    setup: Setup,
    kinds: Sequence[RelayKind],
    upstreams: Mapping[str, int],
    fault: str,
    result: Result,
) -> list[Subject]:
    """Start the relays that can inject this fault."""
    subjects = []
    own = replace(setup, folder=setup.folder / (fault or "none"), root=setup.folder)
    own.folder.mkdir()
    for kind in kinds:
        if not kind.can(FAULTS[fault]):
            continue
        try:
            started = kind.start(stack, own, upstreams, FAULTS[fault])
            relay = replace(started, is_pass_through=not fault, upstreams=upstreams)
            subjects.append(Subject(kind.name, kind, relay, fault))
            if kind.name not in result.relays:
                result.relays.append(kind.name)
        except StartError as error:
            result.skipped.append(f"{kind.name} left out{f' under {fault}' if fault else ''}: {error}")
    return subjects


def _subjects(cell: Cell, started: Mapping[str, Sequence[Subject]]) -> list[Subject]:
    """Return the rows of a cell: where a fault acts on bytes, our pass-through is beside it."""
    is_beside = cell.fault and FAULTS[cell.fault].layer is None
    plain = [replace(one, name=OURS_PLAIN) for one in started.get("", ()) if is_beside and one.name == OURS]
    return [*plain, *started[cell.fault]]


Samples = dict[str, dict[str, list[dict[str, float]]]]


def _measure_all(
    setup: Setup,
    cells: Sequence[Cell],
    started: Mapping[str, Sequence[Subject]],
    upstreams: Mapping[str, int],
    options: argparse.Namespace,
    result: Result,
) -> Samples:
    """Measure in rounds, so that a noisy minute affects all relays; each round begins with another one."""
    sizes = QUICK if options.quick else FULL
    samples: Samples = {cell.name: {} for cell in cells}
    for number in range(options.rounds):
        for cell in cells:
            for subject in _turns(cell, _subjects(cell, started), number):
                progress(f"round {number + 1}/{options.rounds}: {cell.name}, {subject.name}")
                of_subject = samples[cell.name].setdefault(subject.name, [])
                try:
                    of_subject.append(_measure(setup, cell, subject, upstreams, sizes))
                except (LoadError, StartError) as error:
                    result.skipped.append(f"{cell.name} of {subject.name}, round {number + 1}: {error}")
    return samples


def _turns(cell: Cell, subjects: Sequence[Subject], number: int) -> list[Subject]:
    """Return the relays in the order in which a round measures them."""
    turns = []
    for repeat in range(number * cell.repeats, (number + 1) * cell.repeats):
        shift = repeat % max(len(subjects), 1)
        turns += [*subjects[shift:], *subjects[:shift]]
    return turns


def _measure(
    setup: Setup, cell: Cell, subject: Subject, upstreams: Mapping[str, int], sizes: Sizes
) -> dict[str, float]:
    if not cell.fresh:
        return cell.measure(subject.relay, sizes)
    own = replace(setup, workers=cell.workers(sizes, setup.open_files))
    with ExitStack() as stack:
        relay = subject.kind.start(stack, own, upstreams, FAULTS[subject.fault])
        return cell.measure(replace(relay, is_pass_through=not subject.fault), sizes)


def medians(samples: Samples) -> dict[str, dict[str, dict[str, float]]]:
    return {
        cell: {
            relay: {metric: median([one[metric] for one in rounds]) for metric in rounds[0]}
            for relay, rounds in by_relay.items()
            if rounds
        }
        for cell, by_relay in samples.items()
    }


def figure_table(result: Result, cell: Cell) -> Table:
    """Return the table of one cell: a row for each relay. A direct connection has no cost: blank."""
    head = [cell.label, *(heading for _, heading in cell.columns)]
    rows = [
        [_row_label(relay, metrics), *(_shown(relay, metric, metrics) for metric, _ in cell.columns)]
        for relay, metrics in result.figures.get(cell.name, {}).items()
    ]
    return head, rows


def _row_label(relay: str, metrics: Mapping[str, float]) -> str:
    workers = int(metrics.get("workers", 1))
    return f"{relay}, {workers} workers" if workers > 1 else relay


def _shown(relay: str, metric: str, metrics: Mapping[str, float]) -> str:
    if relay == "direct" and metric in ("cpu_us", "cpu_s_per_gb", "kb"):
        return "–"
    return figure(metrics.get(metric))


def verdict_table(result: Result) -> Table:
    """Return our verdicts, and the figures of other relays that inject faults."""
    others = [name for name in ("toxiproxy", "prototype") if name in result.relays]
    columns = [judge(result.figures, subject=name) for name in others]
    rows = [
        [
            ours.target.label,
            f"≤ {ours.target.limit:g}",
            figure(ours.figure),
            ours.word,
            *(figure(column[index].figure) for column in columns),
        ]
        for index, ours in enumerate(result.verdicts())
        if ours.target.cell in result.figures
    ]
    return ["target", "limit", OURS, "verdict", *others], rows


def print_result(result: Result) -> None:
    print(f"{result.machine.sentence()}; medians of {result.rounds} rounds", end="; ")
    print(f"steal {result.steal_percent:.1f} %", end="\n\n")
    for cell in CELLS:
        if cell.name in result.figures:
            print(aligned_table(*figure_table(result, cell)), end="\n\n")
    print(aligned_table(*verdict_table(result)))
    for sentence in result.skipped:
        print(f"note: {sentence}")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")


def main(arguments: Sequence[str] | None = None) -> int:
    command = parser("bench.proxy", __doc__ or "")
    add_options(command)
    command.add_argument("--only", action="append", choices=[cell.name for cell in CELLS], help="repeatable")
    options = command.parse_args(arguments)
    return measure(
        options, run, print_result, lambda result: any(v.word == "MISS" for v in result.verdicts())
    )


if __name__ == "__main__":
    sys.exit(main())
