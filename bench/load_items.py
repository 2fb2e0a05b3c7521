"""`python -m bench.load_items`: the cost of an MCP call and of an event, beside plain clients, in one run."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench import machine
from bench.event_server import EVENTS
from bench.item_clients import HTTPX, KINDS, SDK
from bench.load import LoadError
from bench.load_engines import Figures, Target, medians, reached_by_us
from bench.mcp_servers import MOCK, Commands, commands_in, http_server
from bench.options import measure, print_medians, progress, section_parser
from bench.processes import StartError, end_group, end_on_sigterm
from bench.relays import OURS, find_fault
from bench.tables import Table, figure, markdown

ROUNDS = 3
_SESSIONS, _STREAMS = 4, 16
_SECONDS, _QUICK_SECONDS = 3.0, 1.0
_GRACE_S = 60.0
HEADING = "## Load on MCP tools and event streams"
METHOD = f"""\
The load engine of `fault scenario run`, in one process, beside a client that a user would write: on the
official MCP SDK, and on httpx. Over MCP, {_SESSIONS} sessions call a tool of `fault mock` one after the
other; over stdio each has a server process. For event streams, {_STREAMS} clients read streams of {EVENTS}
events, each in a chunk of its own. All take turns at the same servers. Counted is the CPU time of the client
alone; the rates are those of servers in Python on the same machine.
"""
_LABELS = {
    "mcp-stdio": ("MCP over stdio", "calls"),
    "mcp-http": ("MCP over HTTP", "calls"),
    "sse": ("Event streams", "events"),
}
TARGETS = (
    Target("MCP over stdio: calls per CPU second, × SDK client", "mcp-stdio", "per_cpu_s", SDK, 5.0),
    Target("MCP over HTTP: calls per CPU second, × SDK client", "mcp-http", "per_cpu_s", SDK, 10.0),
    Target("event streams: events per CPU second, × httpx", "sse", "per_cpu_s", HTTPX, 2.0),
)


@dataclass
class Result:
    machine: machine.Machine
    rounds: int
    steal_percent: float = 0.0
    figures: Figures = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def verdicts(self) -> list[tuple[Target, float | None, str]]:
        reached = [(target, reached_by_us(self.figures, target)) for target in TARGETS]
        return [(target, figure, target.word(figure)) for target, figure in reached]

    def missed(self) -> bool:
        return any(word == "MISS" for _, _, word in self.verdicts())

    def to_json(self) -> dict[str, Any]:
        verdicts = [
            {"label": target.label, "figure": reached, "limit": target.limit, "verdict": word}
            for target, reached, word in self.verdicts()
        ]
        return {**asdict(self), "verdicts": verdicts}


# Measuring


@contextmanager
def _stdio(commands: Commands, folder: Path) -> Iterator[str | list[str]]:
    yield commands.stdio(MOCK)


@contextmanager
def _http(commands: Commands, folder: Path) -> Iterator[str | list[str]]:
    with http_server(commands.http(MOCK), folder / "mock.log") as (_, port):
        yield f"http://127.0.0.1:{port}/mcp"


@contextmanager
def _events(commands: Commands, folder: Path) -> Iterator[str | list[str]]:
    command = [sys.executable, "-m", "bench.event_server"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True, cwd=machine.PROJECT)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().decode().strip()
        if not port:
            raise StartError("the server of events did not start")
        yield f"http://127.0.0.1:{port}/"
    finally:
        end_group(process)
        if process.stdout:
            process.stdout.close()


SERVERS: dict[str, Callable[[Commands, Path], Any]] = {"mcp-stdio": _stdio, "mcp-http": _http, "sse": _events}


def measure_client(kind: str, client: str, address: str | list[str], seconds: float) -> dict[str, float]:
    """Run one client in a process of its own."""
    clients = _STREAMS if kind == "sse" else _SESSIONS
    job = {"kind": kind, "client": client, "address": address, "seconds": seconds, "clients": clients}
    command = [sys.executable, "-m", "bench.item_clients", json.dumps(job)]
    try:
        ran = subprocess.run(
            command, capture_output=True, timeout=seconds + _GRACE_S, check=False, cwd=machine.PROJECT
        )
    except subprocess.TimeoutExpired:
        raise LoadError(f"no end after {seconds + _GRACE_S:g} s") from None
    if ran.returncode != 0:
        raise LoadError(ran.stderr.decode(errors="replace").strip()[-300:])
    figures = json.loads(ran.stdout.splitlines()[-1])
    done = figures["done"]
    return {
        "per_s": done / figures["elapsed_s"],
        "cpu_us": 1e6 * figures["cpu_s"] / done,
        "per_cpu_s": done / figures["cpu_s"],
    }


def run(options: argparse.Namespace) -> Result:
    fault = find_fault()
    if fault is None:
        raise StartError("fault is not installed in this environment")
    seconds = _QUICK_SECONDS if options.quick else _SECONDS
    result = Result(machine.describe(), options.rounds)
    samples: dict[str, dict[str, list[dict[str, float]]]] = {kind: {} for kind in KINDS}
    before = machine.cpu_times()
    with tempfile.TemporaryDirectory(prefix="item-bench-") as name, end_on_sigterm():
        folder = Path(name)
        commands = commands_in(folder, fault)
        for kind, clients in KINDS.items():
            with SERVERS[kind](commands, folder) as address:
                for number in range(options.rounds):
                    for client in clients if number % 2 == 0 else reversed(clients):
                        progress(f"{kind}, round {number + 1}/{options.rounds}: {client}")
                        try:
                            sample = measure_client(kind, client, address, seconds)
                            samples[kind].setdefault(client, []).append(sample)
                        except LoadError as error:
                            result.skipped.append(f"{kind} of {client}, round {number + 1}: {error}")
    result.steal_percent = machine.steal_percent(before, machine.cpu_times())
    result.figures = medians(samples, [OURS, SDK, HTTPX])
    progress("")
    return result


# Output


def figure_table(result: Result, kind: str) -> Table:
    label, what = _LABELS[kind]
    one = what.removesuffix("s")
    columns = (("per_s", f"{what}/s"), ("cpu_us", f"CPU µs/{one}"), ("per_cpu_s", f"{what}/CPU s"))
    rows = [
        [name, *(figure(metrics[metric]) for metric, _ in columns)]
        for name, metrics in result.figures[kind].items()
    ]
    return [label, *(heading for _, heading in columns)], rows


def verdict_table(result: Result) -> Table:
    rows = [
        [target.label, f"≥ {target.limit:g}", figure(reached), word]
        for target, reached, word in result.verdicts()
    ]
    return ["target", "limit", OURS, "verdict"], rows


def tables(result: Result) -> list[Table]:
    return [
        verdict_table(result),
        *(figure_table(result, kind) for kind in KINDS if result.figures.get(kind)),
    ]


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
    command = section_parser("bench.load_items", __doc__ or "", ROUNDS)
    return measure(command.parse_args(arguments), run, print_result, Result.missed, section=section)


if __name__ == "__main__":
    sys.exit(main())
