"""`python -m bench.load_engines`: the cost of a request for the client, compared with peers in one run."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from bench import machine
from bench.clients import CLIENTS, CONNECTIONS, Client, Job
from bench.load import LoadError
from bench.options import measure, parser, print_medians, progress, setup_from
from bench.origin import start_upstreams
from bench.processes import StartError, cpu_ns, running, with_children
from bench.relays import OURS, Setup
from bench.stats import median
from bench.tables import Table, figure, markdown

ROUNDS = 3
_RATE_RPS = 1000
HEADING = "## HTTP load engines"
METHOD = f"""\
Each client keeps {CONNECTIONS} connections busy at one nginx worker, whose answers of 32 bytes are never the
same. Counted are the requests that nginx saw, and the CPU time of all the client's processes, within one
stretch of the run: what it costs a client to come up is not part of it. wrk and hey run on one core, Faultkit
(`python -m faultkit.load`) with one worker. Lateness is that of Faultkit's own starts in the open model, at
{_RATE_RPS:,} requests a second: from the instant at which a request was due to that at which it went out.
"""

_WARM_REQUESTS = 500
_SETTLE_S = 0.5
_SECONDS, _QUICK_SECONDS = 4.0, 1.5
_SPARE_S = 30
_START_LIMIT_S = 20.0

Figures: TypeAlias = dict[str, dict[str, dict[str, float]]]
"""Cell, then client, then metric: the median over all rounds."""


@dataclass(frozen=True, slots=True)
class Cell:
    name: str
    label: str
    measure: Callable[[Setup, Client, int, float], dict[str, float]]
    """Runs the cell with a client, against the origin's port, for some seconds."""
    columns: tuple[tuple[str, str], ...]
    """Metrics with their headings."""
    takes: Callable[[Client], bool]


@dataclass(frozen=True, slots=True)
class Target:
    label: str
    cell: str
    metric: str
    peer: str | None
    """The figure is ours divided by this client's; None: our figure as it is."""
    limit: float
    at_least: bool = True

    def word(self, reached: float | None) -> str:
        if reached is None:
            return "not measured"
        good = reached >= self.limit if self.at_least else reached <= self.limit
        return "PASS" if good else "MISS"


TARGETS = (
    Target("requests per CPU second, × hey", "kept", "per_cpu_s", "hey", 1.2),
    Target("requests per CPU second, × Locust", "kept", "per_cpu_s", "locust", 8.0),
    Target("CPU per request, × wrk", "kept", "cpu_us", "wrk", 1.3, at_least=False),
    Target("CPU per request on a new connection, × wrk", "afresh", "cpu_us", "wrk", 1.6, at_least=False),
    Target(f"median lateness at {_RATE_RPS:,}/s, ms", "late", "p50_ms", None, 0.15, at_least=False),
)


@dataclass
class Result:
    machine: machine.Machine
    rounds: int
    steal_percent: float = 0.0
    figures: Figures = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def verdicts(self) -> list[tuple[Target, float | None, str]]:
        return [
            (target, reached, target.word(reached))
            for target in TARGETS
            for reached in [reached_by_us(self.figures, target)]
        ]

    def missed(self) -> bool:
        return any(word == "MISS" for _, _, word in self.verdicts())

    def to_json(self) -> dict[str, Any]:
        verdicts = [
            {"label": target.label, "figure": reached, "limit": target.limit, "verdict": word}
            for target, reached, word in self.verdicts()
        ]
        return {**asdict(self), "verdicts": verdicts}


def reached_by_us(figures: Figures, target: Target) -> float | None:
    clients = figures.get(target.cell, {})
    ours = clients.get(OURS, {}).get(target.metric)
    if ours is None or target.peer is None:
        return ours
    peer = clients.get(target.peer, {}).get(target.metric)
    return ours / peer if peer else None


# Measuring


@dataclass(frozen=True, slots=True)
class _Reading:
    at_s: float
    requests: int
    cpu_ns: int


def _read(port: int, pid: int) -> _Reading:
    return _Reading(time.monotonic(), _requests_seen(port), cpu_ns(with_children([pid])))


def _requests_seen(port: int) -> int:
    """Return nginx's count of requests since its start: the third number of the third line of its status."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=10) as answer:
        return int(answer.read().decode().splitlines()[2].split()[2])


def _busy(afresh: bool) -> Callable[[Setup, Client, int, float], dict[str, float]]:
    def measure(setup: Setup, client: Client, port: int, seconds: float) -> dict[str, float]:
        job = Job(port, int(seconds) + _SPARE_S, afresh, setup.folder)
        log = setup.folder / f"client-{client.name}.log"
        return counted(client.command(job), client.name, port, log, seconds)

    return measure


def counted(
    command: list[str],
    name: str,
    port: int,
    log: Path,
    seconds: float,
    counters: Callable[[int], Mapping[str, int]] = lambda pid: {},
) -> dict[str, float]:
    """Run a client; return its requests and CPU time within a stretch of `seconds`, once it is busy.

    counters: others, of its process; the result has by how much a request raises each"""
    with running(command, log) as process:
        _wait_until_busy(port, process, name)
        first, before = _read(port, process.pid), counters(process.pid)
        time.sleep(seconds)
        last, after = _read(port, process.pid), counters(process.pid)
        ended = process.poll() is not None
    requests = last.requests - first.requests
    cpu_s = (last.cpu_ns - first.cpu_ns) / 1e9
    if ended or requests <= 0 or cpu_s <= 0:
        raise LoadError(f"{name} ended early")
    return {
        "per_s": requests / (last.at_s - first.at_s),
        "cpu_us": cpu_s * 1e6 / requests,
        "per_cpu_s": requests / cpu_s,
        **{key: (after[key] - before[key]) / requests for key in before},
    }


def _wait_until_busy(port: int, process: subprocess.Popen[bytes], name: str) -> None:
    before = _requests_seen(port)
    end_s = time.monotonic() + _START_LIMIT_S
    while _requests_seen(port) - before < _WARM_REQUESTS:
        if process.poll() is not None or time.monotonic() > end_s:
            raise StartError(f"{name} does not send")
        time.sleep(0.05)
    time.sleep(_SETTLE_S)


def _late(setup: Setup, client: Client, port: int, seconds: float) -> dict[str, float]:
    command = [sys.executable, "-m", "faultkit.load", f"http://127.0.0.1:{port}/", "--json"]
    command += ["--rate", str(_RATE_RPS), "--duration", str(seconds)]
    done = subprocess.run(command, capture_output=True, timeout=seconds + _SPARE_S, check=False)
    if done.returncode != 0:
        raise LoadError(done.stderr.decode(errors="replace").strip())
    figures = json.loads(done.stdout)
    if figures["errors"] or figures["dropped"]:
        raise LoadError(f"{figures['errors']} failed, {figures['dropped']} dropped")
    return {"p50_ms": figures["late_p50_ms"], "p99_ms": figures["late_p99_ms"]}


_COST = (("per_s", "req/s"), ("cpu_us", "CPU µs/req"), ("per_cpu_s", "req/CPU s"))

CELLS: tuple[Cell, ...] = (
    Cell("kept", f"{CONNECTIONS} kept connections", _busy(False), _COST, lambda client: True),
    Cell("afresh", "A new connection each", _busy(True), _COST, lambda client: client.can_afresh),
    Cell(
        "late",
        "Lateness of starts",
        _late,
        (("p50_ms", "p50 ms"), ("p99_ms", "p99 ms")),
        lambda client: client.name == OURS,
    ),
)


def run(options: argparse.Namespace) -> Result:
    with setup_from(options) as setup, ExitStack() as stack:
        result = Result(machine.describe(), options.rounds)
        clients = _possible(options, result)
        port = start_upstreams(stack, setup, ["http"])["http"]
        before = machine.cpu_times()
        samples: dict[str, dict[str, list[dict[str, float]]]] = {cell.name: {} for cell in CELLS}
        for number in range(options.rounds):
            shift = number % len(clients)
            for cell in CELLS:
                for client in filter(cell.takes, [*clients[shift:], *clients[:shift]]):
                    progress(f"round {number + 1}/{options.rounds}: {cell.name}, {client.name}")
                    try:
                        sample = cell.measure(
                            setup, client, port, _QUICK_SECONDS if options.quick else _SECONDS
                        )
                        samples[cell.name].setdefault(client.name, []).append(sample)
                    except (LoadError, StartError) as error:
                        result.skipped.append(f"{cell.name} of {client.name}, round {number + 1}: {error}")
        result.steal_percent = machine.steal_percent(before, machine.cpu_times())
        result.figures = medians(samples, [client.name for client in clients])
        progress("")
        return result


def _possible(options: argparse.Namespace, result: Result) -> list[Client]:
    possible = []
    for client in CLIENTS:
        if options.ours_only and client.name != OURS:
            continue
        why_not = client.why_not()
        if why_not is None:
            possible.append(client)
        else:
            result.skipped.append(f"{client.name} left out: {why_not}")
    return possible


def medians(samples: dict[str, dict[str, list[dict[str, float]]]], names: Sequence[str]) -> Figures:
    """Return the results in the order of the clients, not of the measurements."""
    return {
        cell: {
            name: {metric: median([one[metric] for one in by_client[name]]) for metric in by_client[name][0]}
            for name in names
            if name in by_client
        }
        for cell, by_client in samples.items()
    }


# Output


def figure_table(result: Result, cell: Cell) -> Table:
    head = [cell.label, *(heading for _, heading in cell.columns)]
    rows = [
        [name, *(figure(metrics[metric]) for metric, _ in cell.columns)]
        for name, metrics in result.figures[cell.name].items()
    ]
    return head, rows


def verdict_table(result: Result) -> Table:
    rows = [
        [target.label, f"{'≥' if target.at_least else '≤'} {target.limit:g}", figure(reached), word]
        for target, reached, word in result.verdicts()
    ]
    return ["target", "limit", OURS, "verdict"], rows


def tables(result: Result) -> list[Table]:
    measured = [figure_table(result, cell) for cell in CELLS if result.figures.get(cell.name)]
    return [verdict_table(result), *measured]


def section(result: Result) -> str:
    """Return this benchmark's section of the document."""
    parts = [
        HEADING,
        f"{METHOD}Medians of {result.rounds} rounds.",
        *(markdown(*each) for each in tables(result)),
    ]
    return "\n\n".join(part.strip() for part in parts)


def print_result(result: Result) -> None:
    print_medians(result, tables(result))


def main(arguments: Sequence[str] | None = None) -> int:
    command = parser("bench.load_engines", __doc__ or "")
    command.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    command.add_argument("--document", action="store_true", help="also renew this section of the document")
    options = command.parse_args(arguments)
    return measure(options, run, print_result, Result.missed, section=section)


if __name__ == "__main__":
    sys.exit(main())
