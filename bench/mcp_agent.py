"""`python -m bench.mcp_agent`: start time and speed of `fault agent tool`, compared with a bare SDK server.

Both are started over stdio repeatedly, in turns, and get the first requests of a host: initialize, the list
of tools, and a call. Times count from the start of the process. The bare server has one tool with a fixed
answer; ours has all of its tools, and is called to read a source file. Then both are called for some time,
one call at a time and with many in flight.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.machine import PROJECT, cpu_times, describe, steal_percent
from bench.mcp_client import INITIALIZE, INITIALIZED, TOOL
from bench.options import progress
from bench.processes import StartError, end_on_sigterm
from bench.relays import find_fault
from bench.stats import median
from bench.tables import aligned_table, figure

ROUNDS = 10
SECONDS = 2.0
IN_FLIGHT = 32
MOST_TIMES = 1.3
"""Limit of the time to the first answer, as a multiple of the bare server's."""
OURS, BARE = "fault agent tool", "bare SDK server"
_LIMIT_S = 30.0
_CODE = "def load(url):\n    return fetch(url)\n"


@dataclass(frozen=True, slots=True)
class Subject:
    name: str
    command: tuple[str, ...]
    tool: str
    arguments: dict[str, str]


@dataclass(frozen=True, slots=True)
class Start:
    """Milliseconds from the start to each answer, and CPU milliseconds until the last."""

    initialized_ms: float
    listed_ms: float
    called_ms: float
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Pace:
    one_by_one_per_s: float
    many_per_s: float


class Session:
    """A new server process and its line-based connection."""

    def __init__(self, subject: Subject, errors: int) -> None:
        self._began = time.perf_counter()
        self._process = subprocess.Popen(
            subject.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=PROJECT,
            env={name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self._call = {"name": subject.tool, "arguments": subject.arguments}

    def start(self) -> Start:
        self._ask(INITIALIZE)
        initialized_ms = self._since_ms()
        self._send(INITIALIZED)
        self._ask(_request("list", "tools/list", {}))
        listed_ms = self._since_ms()
        self._ask(_request("first", "tools/call", self._call))
        return Start(initialized_ms, listed_ms, self._since_ms(), _cpu_ms(self._process.pid))

    def pace(self, seconds: float) -> Pace:
        return Pace(self._calls_per_s(1, seconds), self._calls_per_s(IN_FLIGHT, seconds))

    def close(self) -> None:
        self._to.close()
        try:
            self._process.wait(_LIMIT_S)
        finally:
            self._process.kill()
            self._process.wait()
            self._from.close()

    def _calls_per_s(self, in_flight: int, seconds: float) -> float:
        head, _, tail = _request(0, "tools/call", self._call).partition(b'"id": 0')
        began, answered = time.perf_counter(), 0
        for id in range(in_flight):
            self._send(b'%s"id": %d%s' % (head, id, tail))
        while (took_s := time.perf_counter() - began) < seconds:
            _check(self._from.readline())
            self._send(b'%s"id": %d%s' % (head, in_flight + answered, tail))
            answered += 1
        for _ in range(in_flight):
            _check(self._from.readline())
        return answered / took_s

    def _ask(self, line: bytes) -> None:
        self._send(line)
        _check(self._from.readline())

    def _send(self, line: bytes) -> None:
        self._to.write(line + b"\n")
        self._to.flush()

    def _since_ms(self) -> float:
        return 1000 * (time.perf_counter() - self._began)


def _request(id: int | str, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


def _check(line: bytes) -> None:
    if not line:
        raise StartError("a server ended before it had answered")
    result = json.loads(line).get("result")
    if result is None or result.get("isError"):
        raise StartError(f"expected a result, got {line[:200]!r}")


def _cpu_ms(pid: int) -> float:
    """Return the CPU time of a running process; see clock_getcpuclockid(3)."""
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e6


def subjects_in(folder: Path, fault: str) -> tuple[Subject, Subject]:
    file = folder / "code.py"
    file.write_text(_CODE)
    return (
        Subject(OURS, (fault, "agent", "tool"), "fault_list_function_names", {"file": str(file)}),
        Subject(BARE, (sys.executable, "-m", "bench.bare_server"), TOOL, {}),
    )


@contextmanager
def session(subject: Subject) -> Iterator[Session]:
    with open(os.devnull, "wb") as nowhere:
        opened = Session(subject, nowhere.fileno())
        try:
            yield opened
        finally:
            opened.close()


def measure(
    subjects: Sequence[Subject], rounds: int, seconds: float
) -> tuple[dict[str, list[Start]], dict[str, Pace]]:
    starts: dict[str, list[Start]] = {subject.name: [] for subject in subjects}
    # The first run reads files from disk that the others find in memory.
    for number in range(-1, rounds):
        for subject in subjects if number % 2 else reversed(subjects):
            progress(f"round {number + 1}/{rounds}: start of {subject.name}")
            with session(subject) as opened:
                start = opened.start()
            if number >= 0:
                starts[subject.name].append(start)
    paces = {}
    for subject in subjects:
        progress(f"calls of {subject.name}")
        with session(subject) as opened:
            opened.start()
            paces[subject.name] = opened.pace(seconds)
    progress("")
    return starts, paces


_FIGURES: tuple[tuple[str, Callable[[Start], float]], ...] = (
    ("spawn to initialize [ms]", lambda start: start.initialized_ms),
    ("… and tools/list [ms]", lambda start: start.listed_ms),
    ("… and first call [ms]", lambda start: start.called_ms),
    ("CPU until then [ms]", lambda start: start.cpu_ms),
)


def ratio(starts: dict[str, list[Start]], of: Callable[[Start], float]) -> float:
    """Return the median over rounds: a disturbance affects both servers of a round."""
    return median([of(ours) / of(bare) for ours, bare in zip(starts[OURS], starts[BARE], strict=True)])


def rows(starts: dict[str, list[Start]], paces: dict[str, Pace]) -> list[list[str]]:
    found = [
        [
            label,
            *(figure(median([of(start) for start in starts[name]])) for name in (OURS, BARE)),
            f"{ratio(starts, of):.2f} ×",
        ]
        for label, of in _FIGURES
    ]
    for label, many in (("calls/s, one at a time", False), (f"calls/s, {IN_FLIGHT} on the way", True)):
        ours, bare = (
            paces[name].many_per_s if many else paces[name].one_by_one_per_s for name in (OURS, BARE)
        )
        found.append([label, figure(ours), figure(bare), f"{ours / bare:.2f} ×"])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mcp_agent", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long calls are counted")
    parser.add_argument("--fault", metavar="PATH", help="the fault command (default: of this environment)")
    asked = parser.parse_args()
    fault = asked.fault or find_fault()
    if fault is None:
        print("bench: fault is not installed in this environment", file=sys.stderr)
        return 3
    before = cpu_times()
    with tempfile.TemporaryDirectory(prefix="agent-bench-") as folder, end_on_sigterm():
        starts, paces = measure(subjects_in(Path(folder), fault), asked.rounds, asked.seconds)
    print(
        f"{describe().sentence()}; {steal_percent(before, cpu_times()):.1f} % stolen; {asked.rounds} rounds."
    )
    print(aligned_table(["median", OURS, BARE, "ratio"], rows(starts, paces)))
    reached = ratio(starts, lambda start: start.called_ms)
    word = "ok" if reached <= MOST_TIMES else "MISS"
    print(f"start-up to the first call: {reached:.2f} × the bare server, at most {MOST_TIMES} ×: {word}")
    return 0 if reached <= MOST_TIMES else 1


if __name__ == "__main__":
    sys.exit(main())
