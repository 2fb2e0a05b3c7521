"""Runs the load generators (loadgen of this folder, and wrk) and returns their measurements as values."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bench.machine import BENCH, OUT, find_program
from bench.processes import StartError, end_group

_LOADGEN = OUT / "loadgen"
_GRACE_S = 40.0

T = TypeVar("T")


class LoadError(Exception):
    """A load generator failed; its cell has no figures."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Round trips, in the order of their arrival."""

    sent: int
    at_s: list[float]
    rtt_us: list[float]


@dataclass(frozen=True, slots=True)
class Arrivals:
    elapsed_s: float
    at_s: list[float]
    amounts: list[int]


@dataclass(frozen=True, slots=True)
class Count:
    """An amount of work and its duration."""

    done: int
    failed: int
    elapsed_s: float

    @property
    def per_second(self) -> float:
        return self.done / self.elapsed_s


def build() -> None:
    """Compile loadgen if its source is newer than the program."""
    source = BENCH / "loadgen.c"
    OUT.mkdir(exist_ok=True)
    newest = max(file.stat().st_mtime for file in (source, BENCH / "loadgen.h"))
    if _LOADGEN.exists() and _LOADGEN.stat().st_mtime >= newest:
        return
    compiler = find_program("cc")
    if compiler is None:
        raise StartError("no C compiler: apt-get install gcc libc6-dev (or run bench/install.sh)")
    command = [compiler, "-O2", "-Wall", "-Wextra", "-pthread", "-o", str(_LOADGEN), str(source)]
    subprocess.run(command, check=True, timeout=60)


@contextmanager
def server(kind: str) -> Iterator[int]:
    """Start an echo, sink or source server; return its port."""
    process = subprocess.Popen([str(_LOADGEN), kind], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert process.stdout is not None
        yield int(json.loads(process.stdout.readline())["port"])
    finally:
        end_group(process)
        if process.stdout:
            process.stdout.close()


def connect(port: int, seconds: float, parallel: int, close: str) -> Count:
    answer = _run_loadgen(seconds, "connect", port, seconds, parallel, close)
    return Count(answer["made"], answer["failed"], answer["elapsed_ns"] / 1e9)


def bulk(port: int, amount: int) -> Count:
    answer = _run_loadgen(60, "bulk", port, amount)
    return Count(answer["bytes"], 0, answer["elapsed_ns"] / 1e9)


def pace(port: int, connections: int, rate_per_s: float, seconds: float) -> Pace:
    answer = _run_loadgen(seconds, "pace", port, connections, rate_per_s, seconds)
    return Pace(
        sent=answer["sent"],
        at_s=[ns / 1e9 for ns in answer["at_ns"]],
        rtt_us=[ns / 1e3 for ns in answer["rtt_ns"]],
    )


def receive(port: int, seconds: float) -> Arrivals:
    answer = _run_loadgen(seconds, "rate", port, seconds)
    return Arrivals(answer["elapsed_ns"] / 1e9, [ns / 1e9 for ns in answer["at_ns"]], answer["bytes"])


@contextmanager
def idle(port: int, connections: int) -> Iterator[int]:
    """Hold connections open; yield their number, and fail at the end if one was closed."""
    process = subprocess.Popen(
        [str(_LOADGEN), "idle", str(port), str(connections)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        if not first:
            raise LoadError("idle: the client ended early")
        opened = int(json.loads(first)["opened"])
        yield opened
        answer, _ = process.communicate(timeout=_GRACE_S)
        alive = json.loads(answer)["alive"]
        if alive != opened:
            raise LoadError(f"idle: {opened - alive} of {opened} connections died")
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@dataclass(frozen=True, slots=True)
class Timed:
    """Requests, and how long they took."""

    count: Count
    p50_us: float
    p99_us: float
    least_us: float = 0.0


def requests(port: int, seconds: float, connections: int) -> Count:
    """Send HTTP requests over kept-alive connections, with wrk."""
    return timed_requests(port, seconds, connections).count


def timed_requests(port: int, seconds: float, connections: int) -> Timed:
    """The same, with how long they took."""
    return _timed(_run(_wrk(port, seconds, connections, "http", "wrk.lua"), seconds))


WARM_UP = 2000
"""Requests of kept connections that do not count: until then all have made their handshakes."""


def warm_requests(
    port: int, seconds: float, connections: int, scheme: str, on_ready: Callable[[], T], afresh: bool = False
) -> tuple[Timed, T]:
    """Send HTTP requests with wrk, of which the first do not count. `afresh`: a new connection for each.

    on_ready: called when these are over; its result is returned, too"""
    # Connections that are half made when the count begins then make up for those at its end.
    warm_up = 2 * connections if afresh else WARM_UP
    command = ["env", f"WARM_UP={warm_up}"]
    command += _wrk(port, seconds + 1, connections, scheme, "wrk_warm.lua", afresh)
    answer, elapsed_s, seen = _run_when_ready(command, seconds, on_ready)
    return _timed({**answer, "elapsed_us": elapsed_s * 1e6}), seen


def _wrk(
    port: int, seconds: float, connections: int, scheme: str, script: str, afresh: bool = False
) -> list[str]:
    wrk = find_program("wrk")
    assert wrk is not None
    return [
        wrk,
        "--threads=1",
        f"--connections={connections}",
        # wrk accepts whole seconds only.
        f"--duration={max(1, round(seconds))}s",
        f"--script={BENCH / script}",
        *(["--header=Connection: close"] if afresh else []),
        f"{scheme}://127.0.0.1:{port}/",
    ]


def _timed(answer: Any) -> Timed:
    count = Count(answer["requests"], answer["errors"], answer["elapsed_us"] / 1e6)
    return Timed(count, answer.get("p50_us", 0.0), answer.get("p99_us", 0.0), answer.get("least_us", 0.0))


def tls_requests(
    port: int,
    seconds: float,
    connections: int,
    on_ready: Callable[[], T],
    *,
    tunnel: str | None = None,
    http_2: bool = False,
    afresh: bool = False,
) -> tuple[Timed, T]:
    """Send HTTP requests over TLS, with `bench.tls_client`; `tunnel` is the target of CONNECT.

    on_ready: called when all connections stand, before the requests that are measured; its result is
    returned, too"""
    command = [sys.executable, "-m", "bench.tls_client", str(port), "", f"{seconds:g}", str(connections)]
    command += ["--tunnel", tunnel] if tunnel else []
    command += ["--http-2"] if http_2 else []
    command += ["--afresh"] if afresh else []
    answer, _, seen = _run_when_ready(command, seconds, on_ready)
    return _timed(answer), seen


def grpc_calls(port: int, seconds: float) -> Count:
    """Make unary calls, with grpcio."""
    command = [sys.executable, "-m", "bench.grpc_calls", "call", str(port), f"{seconds:g}"]
    return _timed(_run(command, seconds)).count


def websocket_messages(port: int, seconds: float, on_ready: Callable[[], T]) -> tuple[Timed, T]:
    """Send messages over kept connections, with `bench.websocket_messages`; `on_ready` as in
    `warm_requests`."""
    command = [sys.executable, "-m", "bench.websocket_messages", "send", str(port), f"{seconds:g}"]
    answer, _, seen = _run_when_ready(command, seconds, on_ready)
    return _timed(answer), seen


def http_2_requests(port: int, seconds: float, scheme: str) -> Count:
    """Send HTTP/2 requests, with h2load: 16 connections with 8 streams each."""
    h2load = find_program("h2load")
    assert h2load is not None
    # It counts only in the time after the warm-up.
    command = [h2load, f"--duration={max(1, round(seconds))}", "--clients=16", "--max-concurrent-streams=8"]
    done = _output([*command, f"{scheme}://127.0.0.1:{port}/"], seconds)
    return h2load_count(done)


def h2load_count(text: str) -> Count:
    """Read what h2load prints: requests that were answered, those of them that failed, and the time."""
    finished = re.search(r"^finished in ([0-9.]+)(ms|s),", text, re.MULTILINE)
    codes = re.search(r"^status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text, re.MULTILINE)
    if finished is None or codes is None:
        raise LoadError("h2load: no figures in its output")
    good, *others = map(int, codes.groups())
    elapsed_s = float(finished[1]) / (1000 if finished[2] == "ms" else 1)
    return Count(good + sum(others), sum(others), elapsed_s)


def _run_loadgen(seconds: float, *words: object) -> Any:
    return _run([str(_LOADGEN), *map(str, words)], seconds)


def _run(command: Sequence[str], seconds: float) -> Any:
    """Run a client to its end and parse the JSON on its last line."""
    return json.loads(_output(command, seconds).splitlines()[-1])


def _run_when_ready(
    command: Sequence[str], seconds: float, on_ready: Callable[[], T]
) -> tuple[Any, float, T]:
    """Run a client to its end, and return the JSON on its last line, the seconds since it has printed
    `ready`, and the result of `on_ready`, which is called then. It gets a line after that."""
    name = Path(command[2]).name
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            if not any(line.strip() == b"ready" for line in process.stdout):
                raise LoadError(f"{name}: it ended early")
            seen, began_s = on_ready(), time.monotonic()
            answer, _ = process.communicate(b"\n", timeout=seconds + _GRACE_S)
            elapsed_s = time.monotonic() - began_s
        except subprocess.TimeoutExpired:
            raise LoadError(f"{name}: no end after {seconds + _GRACE_S:g} s") from None
        finally:
            if process.poll() is None:
                process.kill()
    return json.loads(answer.splitlines()[-1]), elapsed_s, seen


def _output(command: Sequence[str], seconds: float) -> str:
    name = f"{Path(command[0]).name} {command[1]}"
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds + _GRACE_S, check=False)
    except subprocess.TimeoutExpired:
        raise LoadError(f"{name}: no end after {seconds + _GRACE_S:g} s") from None
    if done.returncode != 0:
        raise LoadError(f"{name}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode(errors="replace")
