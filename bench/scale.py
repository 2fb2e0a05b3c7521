"""`python -m bench.scale`: what it costs to send a load from several workers, and to merge their results."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from array import array
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from math import nan
from typing import Any

from bench import machine
from bench.clients import Job
from bench.load import LoadError
from bench.load_engines import counted
from bench.options import measure, parser, progress, setup_from
from bench.origin import start_upstreams
from bench.processes import StartError, resident_bytes, thread_cpu_ns, wakeups, with_children
from bench.relays import Setup
from bench.stats import median
from bench.tables import Table, aligned_table, figure, markdown
from faultkit.base.rng import Rng
from faultkit.load.expectation import Expectation
from faultkit.load.fold import Counts, Fold, Folder
from faultkit.load.fold_lines import LineReader, LineWriter
from faultkit.load.load import Load, Target
from faultkit.load.samples import Samples
from faultkit.load.split import LoadPlan, Segment, split
from faultkit.load.tally import Tally

ROUNDS = 3
SEGMENTS = 64
SAMPLES = 1_000_000
_RATE_RPS = 750


@dataclass(frozen=True, slots=True)
class Cell:
    """A load: how many workers send it, and how much of it each."""

    workers: int
    each_rps: int

    @property
    def key(self) -> str:
        return f"{self.workers}x{self.each_rps}"


ONE, MANY, ONE_WITH_ALL = Cell(1, _RATE_RPS), Cell(4, _RATE_RPS), Cell(1, 4 * _RATE_RPS)
CELLS = (ONE, MANY, ONE_WITH_ALL)
_DISTINCT = 2
"""Runs whose samples are drawn; the segments are copies of them, read one by one."""
_RUN_S = 60.0
_EARLY = 8
"""Segments after which memory is read for the first time."""
_SECONDS, _QUICK_SECONDS = 6.0, 2.0
_SPARE_S = 30

HEADING = "## Loads from several workers"
METHOD = f"""\
An open load on kept connections, to one nginx worker, from one worker process and from {MANY.workers} (`--on
local:N`). Counted is the CPU time of all processes, the coordinator among them, within a stretch of the run.
The merge is all that the coordinator does meanwhile, and the threads of the workers that send it their
measurements: folding, sending and merging; the rest sends the requests. At {_RATE_RPS} requests a second of
each worker, each has the same work, whatever their number. One worker with the whole load wakes up less often
for a request, and a request costs it less. That is no overhead of the merge: a worker alone with the rate of
one of many costs as much as they do.
Merging: {SEGMENTS} workers report {SAMPLES:,} requests each, of a run of {_RUN_S:g} s, as lines of text. The
time is the CPU time of reading and merging all of them, in one thread. Memory is that by which the
coordinator grows meanwhile, from segment {_EARLY} to the last: the most of all rounds.
"""


@dataclass(frozen=True, slots=True)
class Limit:
    label: str
    metric: str
    most: float

    def word(self, reached: float | None) -> str:
        if reached is None:
            return "not measured"
        return "PASS" if reached <= self.most else "MISS"


LIMITS = (
    Limit(f"CPU a request of the merge, {MANY.workers} workers, % of the rest", "merge_percent", 5.0),
    Limit(
        f"CPU a request, {MANY.workers} workers beside 1 at the same rate each, % more",
        "overhead_percent",
        5.0,
    ),
    Limit(f"{SEGMENTS} segments of {SAMPLES:,} requests merged, CPU s", "merge_s", 2.0),
    Limit("growth of the coordinator meanwhile, MB", "growth_mb", 1.0),
)


@dataclass
class Result:
    machine: machine.Machine
    rounds: int
    steal_percent: float = 0.0
    figures: dict[str, float] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def verdicts(self) -> list[tuple[Limit, float | None, str]]:
        return [
            (limit, reached, limit.word(reached))
            for limit in LIMITS
            for reached in [self.figures.get(limit.metric)]
        ]

    def missed(self) -> bool:
        return any(word == "MISS" for _, _, word in self.verdicts())

    def to_json(self) -> dict[str, Any]:
        verdicts = [
            {"label": limit.label, "figure": reached, "limit": limit.most, "verdict": word}
            for limit, reached, word in self.verdicts()
        ]
        return {**asdict(self), "verdicts": verdicts}


# Measuring


def _costs(setup: Setup, port: int, cell: Cell, seconds: float) -> dict[str, float]:
    """Return what a request costs: CPU time in microseconds, that of the merge, and wake-ups."""
    job = Job(port, int(seconds) + _SPARE_S, False, setup.folder)
    rate = cell.workers * cell.each_rps
    command = [sys.executable, "-m", "faultkit.load", job.url, "--json", "--rate", str(rate)]
    command += ["--duration", str(job.seconds), "--on", f"local:{cell.workers}"]
    log = setup.folder / f"scale-{cell.key}.log"
    found = counted(command, cell.key, port, log, seconds, _counters)
    return {
        "cpu_us": found["cpu_us"],
        "merge_us": found["merge_ns"] / 1000,
        "wakeups": found["wakeups"],
    }


def _counters(coordinator: int) -> dict[str, int]:
    """Return the CPU time of the merge so far, and how often workers woke up. The first thread of a worker
    sends the requests; the others send what was measured."""
    merge_ns = sum(thread_cpu_ns(coordinator).values())
    woken = 0
    for pid in with_children([coordinator]):
        if pid != coordinator:
            merge_ns += sum(spent for thread, spent in thread_cpu_ns(pid).items() if thread != pid)
            woken += wakeups(pid)
    return {"merge_ns": merge_ns, "wakeups": woken}


def percentages(figures: Mapping[str, float]) -> dict[str, float]:
    """Return what the merge costs with many workers, and what a request costs more than with one."""
    one, many = figures.get(f"cpu_us_{ONE.key}"), figures.get(f"cpu_us_{MANY.key}")
    merge = figures.get(f"merge_us_{MANY.key}")
    found = {}
    if one and many:
        found["overhead_percent"] = 100 * (many / one - 1)
    if many and merge is not None:
        found["merge_percent"] = 100 * merge / (many - merge)
    return found


def samples(seed: int, count: int) -> Samples:
    """Return requests with times as a service has them: spread over three digits."""
    rng = Rng.keyed(seed, "bench.scale")
    intended = array("d", [_RUN_S * number / count for number in range(count)])
    total = array("d", [0.001 + 0.2 * rng.uniform() ** 6 for _ in range(count)])
    absent = array("d", [nan]) * count
    return Samples(
        intended=intended,
        started=array("d", [at + 0.0001 for at in intended]),
        total_s=total,
        first_byte_s=array("d", [0.9 * each for each in total]),
        dns_s=absent,
        connect_s=absent,
        tls_s=absent,
        status=array("H", [200]) * count,
        failure=array("B", [0]) * count,
        received=array("Q", [200]) * count,
    )


def segments_and_lines(count: int, requests: int) -> list[tuple[Segment, str]]:
    """Return segments, and what the worker of each reports at once."""
    plan = LoadPlan(Target("GET", "http://127.0.0.1/"), Load(_RUN_S, 1000.0))
    folds: list[Fold] = []
    for seed in range(_DISTINCT):
        folder = Folder(Expectation(), limit=0)
        folder.add(Counts(requests, 0, 0, 0), samples(seed, requests))
        folds.append(folder.take())
    parts = split(plan, [f"token {number}" for number in range(count)])
    return [(part, LineWriter(part).fold(folds[part.share % _DISTINCT])) for part in parts]


def merge_all(given: Sequence[tuple[Segment, str]], requests: int) -> dict[str, float]:
    """Read and merge all lines; return the seconds that it took, and by how much memory grew."""
    tally, early = Tally(limit=0), 0
    begin_s = time.process_time()
    for number, (segment, line) in enumerate(given, 1):
        message = LineReader(segment).read(line)
        assert isinstance(message, Fold)
        tally.merge(message.tally)
        if number == _EARLY:
            early = _own_bytes()
    took_s = time.process_time() - begin_s
    if tally.requests != len(given) * requests:
        raise LoadError(f"{tally.requests} requests were merged of {len(given) * requests}")
    return {"merge_s": took_s, "growth_mb": max(_own_bytes() - early, 0) / 1e6}


def _own_bytes() -> int:
    return resident_bytes([os.getpid()])


def run(options: argparse.Namespace) -> Result:
    with setup_from(options) as setup, ExitStack() as stack:
        result = Result(machine.describe(), options.rounds)
        before = machine.cpu_times()
        requests = SAMPLES // 10 if options.quick else SAMPLES
        progress("merge")
        lines = segments_and_lines(SEGMENTS, requests)
        merged = [merge_all(lines, requests) for _ in range(options.rounds)]
        result.figures["merge_s"] = median([each["merge_s"] for each in merged])
        result.figures["growth_mb"] = max(each["growth_mb"] for each in merged)
        port = start_upstreams(stack, setup, ["http"])["http"]
        costs: dict[str, list[float]] = {}
        for number in range(options.rounds):
            for cell in CELLS if number % 2 else reversed(CELLS):
                progress(f"round {number + 1}/{options.rounds}: {cell.key}")
                try:
                    found = _costs(setup, port, cell, _QUICK_SECONDS if options.quick else _SECONDS)
                except (LoadError, StartError, subprocess.SubprocessError) as error:
                    result.skipped.append(f"{cell.key}, round {number + 1}: {error}")
                    continue
                for name, value in found.items():
                    costs.setdefault(f"{name}_{cell.key}", []).append(value)
        result.figures |= {name: median(values) for name, values in costs.items()}
        result.figures |= percentages(result.figures)
        result.steal_percent = machine.steal_percent(before, machine.cpu_times())
        progress("")
        return result


# Output


def verdict_table(result: Result) -> Table:
    rows = [
        [limit.label, f"≤ {limit.most:g}", figure(reached), word]
        for limit, reached, word in result.verdicts()
    ]
    return ["target", "limit", "faultkit", "verdict"], rows


def cost_table(result: Result) -> Table:
    rows = [
        [str(cell.workers), str(cell.workers * cell.each_rps)]
        + [figure(result.figures.get(f"{name}_{cell.key}")) for name in ("cpu_us", "merge_us", "wakeups")]
        for cell in CELLS
    ]
    return ["workers", "req/s in all", "CPU µs/req", "of it merge", "wake-ups/req"], rows


def section(result: Result) -> str:
    """Return this benchmark's section of the document."""
    parts = [
        HEADING,
        f"{METHOD}Medians of {result.rounds} rounds.",
        markdown(*verdict_table(result)),
        markdown(*cost_table(result)),
    ]
    return "\n\n".join(part.strip() for part in parts)


def print_result(result: Result) -> None:
    print(f"{result.machine.sentence()}; medians of {result.rounds} rounds", end="; ")
    print(f"steal {result.steal_percent:.1f} %", end="\n\n")
    print("\n\n".join(aligned_table(*table) for table in (verdict_table(result), cost_table(result))))
    for sentence in result.skipped:
        print(f"note: {sentence}")


def main(arguments: Sequence[str] | None = None) -> int:
    command = parser("bench.scale", __doc__ or "")
    command.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    command.add_argument("--document", action="store_true", help="also renew this section of the document")
    options = command.parse_args(arguments)
    return measure(options, run, print_result, Result.missed, section=section)


if __name__ == "__main__":
    sys.exit(main())
