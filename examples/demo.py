"""`make demo`: a real service, a real proxy in front of it, and what each fault does to its clients.

Everything runs on loopback: the service and `fault run` are processes of their own, and this one is
the client. Each row is a fresh `fault run` with the flags that the row shows.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

REQUESTS = 40
CLIENT_TIMEOUT_S = 1.0
SEED = "7"


@dataclass(frozen=True)
class Row:
    title: str
    path: str
    flags: str
    requests: int = REQUESTS


ROWS = (
    Row("no fault", "/", ""),
    Row("latency", "/", "--with-latency --latency-mean 100 --latency-stddev 20 --latency-per-read-write"),
    Row("jitter", "/", "--with-jitter --jitter-amplitude 80 --jitter-frequency 8"),
    Row("bandwidth", "/page", "--with-bandwidth --bandwidth-rate 1 --bandwidth-unit MBps"),
    Row("packet loss", "/page", "--with-packet-loss --packet-loss-rate 0.02"),
    Row(
        "http error",
        "/",
        "--with-http-response --http-response-status 503 --http-response-trigger-probability 0.3",
    ),
    Row("limit data", "/page", "--with-limit-data --limit-data-bytes 20000 --limit-data-probability 0.5"),
    Row("reset", "/", "--with-reset --reset-on data --reset-probability 0.5"),
    Row("blackhole", "/", "--with-blackhole --blackhole-probability 0.5", 6),
)


@dataclass(frozen=True)
class Outcome:
    times_ms: list[float]
    failures: dict[str, int]
    injected: int
    late_us: float


def main() -> None:
    console = Console(width=max(Console().width, 110))
    console.print("[bold]Faultkit[/]: one service, nine links to it. The client gives up after 1 s.\n")
    with running([sys.executable, "-m", "examples.service"]) as service:
        assert service.stdout is not None
        port = int(service.stdout.readline())
        table = Table("fault", "fault run …", "ok", "failed", "p50 ms", "p95 ms", "injected", "late by, p50")
        for row in ROWS:
            with console.status(f"{row.title} …"):
                outcome = measure(row, port)
            table.add_row(*cells(row, outcome))
    console.print(table)
    console.print(
        f"\nEvery delay, loss and hit above is drawn from --seed {SEED}: another run draws the same.\n"
        "Try one yourself:  [bold]python -m examples.service 8080[/] in one terminal, and in another\n"
        '[bold]fault run --with-latency --latency-mean 300 --proxy "34000=http://127.0.0.1:8080"[/], then\n'
        "[bold]curl -w '%{time_total}\\n' http://127.0.0.1:34000/[/]"
    )


def measure(row: Row, port: int) -> Outcome:
    command = [sys.executable, "-m", "faultkit", "run", "--json", "--disable-http-proxy", "--seed", SEED]
    command += ["--proxy", f"0=http://127.0.0.1:{port}", *row.flags.split()]
    with running(command) as proxy:
        assert proxy.stdout is not None
        started = json.loads(proxy.stdout.readline())
        host, _, listen = started["proxies"][0]["listen"].rpartition(":")
        times_ms, failures = call(host, int(listen), row)
        proxy.terminate()
        ended = json.loads(proxy.stdout.read().splitlines()[-1])
    return Outcome(times_ms, failures, sum(ended["injected"].values()), ended["lateness"]["p50_us"])


def call(host: str, port: int, row: Row) -> tuple[list[float], dict[str, int]]:
    """A new connection a request, so that faults which hit a connection hit a request."""
    times_ms: list[float] = []
    failures: dict[str, int] = {}
    for _ in range(row.requests):
        client = http.client.HTTPConnection(host, port, timeout=CLIENT_TIMEOUT_S)
        began = time.perf_counter()
        try:
            client.request("GET", row.path)
            response = client.getresponse()
            response.read()
            problem = "" if response.status == 200 else str(response.status)
        except TimeoutError:
            problem = "timeout"
        except (OSError, http.client.HTTPException) as error:
            problem = "reset" if isinstance(error, ConnectionResetError) else "cut"
        finally:
            client.close()
        times_ms.append((time.perf_counter() - began) * 1000)
        if problem:
            failures[problem] = failures.get(problem, 0) + 1
    return sorted(times_ms), failures


def cells(row: Row, outcome: Outcome) -> tuple[str, ...]:
    failed = sum(outcome.failures.values())
    reasons = ", ".join(f"{count} {name}" for name, count in outcome.failures.items())
    times = outcome.times_ms
    return (
        row.title,
        row.flags or "(nothing)",
        str(len(times) - failed),
        f"[red]{reasons}[/]" if failed else "0",
        f"{times[len(times) // 2]:.1f}",
        f"{times[int(len(times) * 0.95)]:.1f}",
        str(outcome.injected),
        f"{outcome.late_us:.0f} µs" if outcome.late_us else "–",
    )


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that is gone when the block ends, whatever happens in it."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=10)
        assert process.stdout is not None
        process.stdout.close()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
