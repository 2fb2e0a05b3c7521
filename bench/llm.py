"""`python -m bench.llm`: what the proxy adds to streams of tokens, what it costs, and how true it is."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench import machine
from bench.checks import Check
from bench.load import LoadError
from bench.load_engines import medians
from bench.options import measure, print_medians, progress, section_parser
from bench.processes import (
    StartError,
    cpu_ns,
    end_group,
    end_on_sigterm,
    free_ports,
    running,
    wait_for_ports,
    with_children,
)
from bench.relays import MITMDUMP, OURS, find_fault
from bench.stats import percentile
from bench.tables import Table, figure, markdown
from bench.targets import Figures, Target, Verdict, judge

ROUNDS = 3
DIRECT, RULE, MITMPROXY = "direct", "faultkit, a rule reads", "mitmproxy"
NAMES = (DIRECT, OURS, RULE, MITMPROXY)
_SECONDS, _QUICK_SECONDS = 5.0, 2.0
_GRACE_S = 60.0
HEADING = "## Streams of tokens"
METHOD = """\
A server in the dialect of OpenAI streams tokens, each an event in a chunk of its own, with the instant of its
sending. Faultkit is `fault run` without a rule, and `fault run llm` with a rule that reads every event and
never acts; mitmdump runs as a reverse proxy that streams bodies. One stream has 100 tokens/s; 200 streams
have 50 tokens/s each. *On the way* is from the sending of a token until the client has it; *time × planned*
is that of the slowest stream; CPU is that of the relay's processes. All take turns in each round. The first
token of a stream that a rule delays is compared with that of a server that is late by itself, without a
relay: one stream at a time, by turns.
"""
CELLS = {"one": ("1 stream, 100 tokens/s", 1, 100.0), "many": ("200 streams, 50 tokens/s", 200, 50.0)}
_NEVER = ("--with-token-stall", "--token-stall-after-tokens", "1000000000")
TARGETS = (
    Target("median gap, ms above direct", "one", "gap_ms", DIRECT, 0.3, compare="difference"),
    Target(
        "token on the way, median ms above direct", "one", "transit_ms", DIRECT, 0.3, compare="difference"
    ),
    Target("slowest of 200 streams, time taken × planned", "many", "times_planned", None, 1.05),
    Target("CPU per event, × mitmproxy", "many", "cpu_us", MITMPROXY, 1 / 3),
)
RULE_TARGETS = (
    Target("with a rule, slowest of 200, time taken × planned", "many", "times_planned", None, 1.05),
    Target("with a rule, CPU per event, × mitmproxy", "many", "cpu_us", MITMPROXY, 1 / 3),
)
GROUP = "Streams of tokens"
_FIRST_MS, _RATE = 200.0, 50.0
_FIRSTS = 20
_MOST_ERROR_MS = 1.0


@dataclass
class Result:
    machine: machine.Machine
    rounds: int
    steal_percent: float = 0.0
    figures: Figures = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    """For the fidelity card."""
    skipped: list[str] = field(default_factory=list)

    def verdicts(self) -> list[Verdict]:
        return [*judge(self.figures, TARGETS), *judge(self.figures, RULE_TARGETS, RULE)]

    def missed(self) -> bool:
        words = [*(each.word for each in self.verdicts()), *(check.word for check in self.checks)]
        return "MISS" in words

    def to_json(self) -> dict[str, Any]:
        verdicts = [
            {"label": each.target.label, "figure": each.figure, "verdict": each.word}
            for each in self.verdicts()
        ]
        checks = [check.to_json() for check in self.checks]
        return {**asdict(self), "checks": checks, "verdicts": verdicts}


# Measuring


@contextmanager
def token_server() -> Iterator[int]:
    """Run the server, and yield its port."""
    command = [sys.executable, "-m", "bench.token_streams", "serve"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True, cwd=machine.PROJECT)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().decode().strip()
        if not port:
            raise StartError("the server of tokens did not start")
        yield int(port)
    finally:
        end_group(process)
        if process.stdout:
            process.stdout.close()


def command_of(name: str, fault: str, upstream: int, port: int, folder: Path) -> list[str]:
    """Return the command that starts a relay."""
    origin = f"http://127.0.0.1:{upstream}"
    if name == OURS:
        return [fault, "run", "--no-ui", "--disable-http-proxy", "--proxy", f"{port}={origin}"]
    if name == RULE:
        return [fault, "run", "llm", origin, "--no-ui", "--port", str(port), *_NEVER]
    address = ["--listen-host", "127.0.0.1", "--listen-port", str(port)]
    settings = ["--set", f"confdir={folder / MITMPROXY}", "--set", "stream_large_bodies=1"]
    return [str(MITMDUMP), "--quiet", "--mode", f"reverse:{origin}", *address, *settings]


@contextmanager
def relay(name: str, command: Sequence[str], port: int, folder: Path) -> Iterator[list[int]]:
    """Run a relay, and yield its processes."""
    log = folder / "relay.log"
    with running(command, log) as process:
        wait_for_ports([port], process, name, log)
        yield with_children([process.pid])


def read_streams(port: int, streams: int, tokens: int, rate: float) -> dict[str, Any]:
    """Read streams in a process of its own."""
    return _read({"port": port, "streams": streams, "tokens": tokens, "rate": rate}, tokens)


def read_firsts(direct: int, port: int, times: int) -> tuple[list[float], list[float]]:
    """Return how long first tokens were on their way, by turns: directly, from a server that is late by
    itself, and through a relay that delays them."""
    turns = [(direct, _FIRST_MS / 1000), (port, 0.0)]
    one, other = _read({"turns": turns, "times": times}, times)["firsts_ms"]
    return one, other


def _read(job: dict[str, Any], most_s: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.token_streams", "read", json.dumps(job)]
    try:
        ran = subprocess.run(
            command, capture_output=True, timeout=most_s + _GRACE_S, check=False, cwd=machine.PROJECT
        )
    except subprocess.TimeoutExpired:
        raise LoadError("the streams did not end") from None
    if ran.returncode != 0:
        raise LoadError(ran.stderr.decode(errors="replace").strip()[-300:])
    figures: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return figures


_METRICS = ("transit_ms", "transit_p99_ms", "gap_ms", "gap_p99_ms", "times_planned")


def _sample(cell: str, port: int, pids: Sequence[int], seconds: float) -> dict[str, float]:
    _, streams, rate = CELLS[cell]
    read_streams(port, streams, 2, rate)
    before = cpu_ns(pids)
    got = read_streams(port, streams, int(seconds * rate), rate)
    spent_us = (cpu_ns(pids) - before) / 1000
    return {**{name: got[name] for name in _METRICS}, "cpu_us": spent_us / got["events"]}


def _checks(fault: str, upstream: int, folder: Path) -> list[Check]:
    """Compare the time to the first token, and gaps, with what is asked for."""
    (port,) = free_ports(1)
    common = [fault, "run", "llm", f"http://127.0.0.1:{upstream}", "--no-ui", "--port", str(port)]
    first = [*common, "--with-slow-first-token", "--slow-first-token-delay", str(_FIRST_MS)]
    with relay(OURS, first, port, folder):
        direct, firsts = read_firsts(upstream, port, _FIRSTS)
    (port,) = free_ports(1)
    common[-1] = str(port)
    paced = [*common, "--with-token-rate", "--token-rate-tokens-per-second", str(_RATE)]
    with relay(OURS, paced, port, folder):
        got = read_streams(port, 5, 100, 0.0)
    gap_ms = 1000 / _RATE
    early = [ms - n * gap_ms for stream in got["since_first_ms"] for n, ms in enumerate(stream)]
    return checks_of(firsts, got["gaps_ms"], early, percentile(direct, 50))


def checks_of(
    firsts: Sequence[float], gaps: Sequence[float], beyond: Sequence[float], direct_ms: float
) -> list[Check]:
    """Return the rows of the card. `beyond`: by how much each token came later than its rate allows;
    `direct_ms`: how long the first token of a server that is as late is on its way without a relay."""
    gap_ms = 1000 / _RATE
    asked, rate = f"{_FIRST_MS:g} ms", f"{gap_ms:g} ms"
    errors = [ms - direct_ms - _FIRST_MS for ms in firsts]
    gap_errors = [ms - gap_ms for ms in gaps]
    limits = (-_MOST_ERROR_MS, _MOST_ERROR_MS)
    return [
        _check("first token: nothing early", asked, min(firsts), min(firsts) - _FIRST_MS, (0.0, None)),
        _check("first token: median error", asked, percentile(firsts, 50), percentile(errors, 50), limits),
        _check("tokens: nothing early", rate, min(beyond), min(beyond), (0.0, None)),
        _check("gap of tokens: median error", rate, percentile(gaps, 50), percentile(gap_errors, 50), limits),
    ]


def _check(
    label: str, asked: str, measured: float, error: float, allowed: tuple[float | None, float | None]
) -> Check:
    return Check(GROUP, label, asked, f"{measured:.2f} ms", "ms", error, wanted=0.0, allowed=allowed)


def run(options: argparse.Namespace) -> Result:
    fault = find_fault()
    if fault is None:
        raise StartError("fault is not installed in this environment")
    rounds = getattr(options, "rounds", None) or ROUNDS
    result = Result(machine.describe(), rounds)
    names = [name for name in NAMES if name != MITMPROXY or MITMDUMP.exists()]
    if MITMPROXY not in names:
        result.skipped.append("mitmproxy left out: it is not installed: run bench/install.sh")
    seconds = _QUICK_SECONDS if options.quick else _SECONDS
    samples: dict[str, dict[str, list[dict[str, float]]]] = {cell: {} for cell in CELLS}
    before = machine.cpu_times()
    with tempfile.TemporaryDirectory(prefix="llm-bench-") as made, end_on_sigterm(), token_server() as origin:
        folder = Path(made)
        for number in range(rounds):
            for name in names if number % 2 == 0 else reversed(names):
                progress(f"streams of tokens, round {number + 1}/{rounds}: {name}")
                try:
                    for cell, sample in _measured(name, fault, origin, folder, seconds):
                        samples[cell].setdefault(name, []).append(sample)
                except LoadError as error:
                    result.skipped.append(f"streams of tokens, {name}, round {number + 1}: {error}")
        result.figures = medians(samples, NAMES)
        try:
            result.checks = _checks(fault, origin, folder)
        except LoadError as error:
            result.skipped.append(f"fidelity of streams of tokens: {error}")
    result.steal_percent = machine.steal_percent(before, machine.cpu_times())
    progress("")
    return result


def _measured(
    name: str, fault: str, origin: int, folder: Path, seconds: float
) -> Iterator[tuple[str, dict[str, float]]]:
    if name == DIRECT:
        for cell in CELLS:
            yield cell, _sample(cell, origin, (), seconds)
        return
    (port,) = free_ports(1)
    with relay(name, command_of(name, fault, origin, port, folder), port, folder) as pids:
        for cell in CELLS:
            yield cell, _sample(cell, port, pids, seconds)


# Output

_COLUMNS = (
    ("transit_ms", "on the way, ms p50"),
    ("transit_p99_ms", "p99"),
    ("gap_ms", "gap, ms p50"),
    ("gap_p99_ms", "p99"),
    ("times_planned", "time × planned"),
    ("cpu_us", "CPU µs/event"),
)


def figure_table(result: Result, cell: str) -> Table:
    rows = [
        [
            name,
            *(
                "–" if metric == "cpu_us" and name == DIRECT else figure(found[metric])
                for metric, _ in _COLUMNS
            ),
        ]
        for name, found in result.figures[cell].items()
    ]
    return [CELLS[cell][0], *(heading for _, heading in _COLUMNS)], rows


def verdict_table(result: Result) -> Table:
    rows = [
        [each.target.label, f"≤ {figure(each.target.limit)}", figure(each.figure), each.word]
        for each in result.verdicts()
    ]
    rows += [[check.label, check.allowed_text(), figure(check.value), check.word] for check in result.checks]
    return ["target", "limit", OURS, "verdict"], rows


def tables(result: Result) -> list[Table]:
    return [
        verdict_table(result),
        *(figure_table(result, cell) for cell in CELLS if result.figures.get(cell)),
    ]


def section(result: Result) -> str:
    """Return this benchmark's section of the document."""
    parts = [HEADING, f"{METHOD}Medians of {result.rounds} rounds."]
    return "\n\n".join(part.strip() for part in (*parts, *(markdown(*each) for each in tables(result))))


def print_result(result: Result) -> None:
    print_medians(result, tables(result))


def main(arguments: Sequence[str] | None = None) -> int:
    command = section_parser("bench.llm", __doc__ or "", ROUNDS)
    return measure(command.parse_args(arguments), run, print_result, Result.missed, section=section)


if __name__ == "__main__":
    sys.exit(main())
