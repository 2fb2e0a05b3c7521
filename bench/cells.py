"""The cells of the proxy benchmark without a fault: one small load each, on one relay, with named figures."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench import load
from bench.machine import describe
from bench.processes import cpu_ns, memory_bytes
from bench.relays import Relay
from bench.stats import percentile

_SETTLE_S = 0.05
_SPARE_FILES = 400
_UNEVEN = 1.05
"""The most that a worker's number of connections exceeds its share: the kernel distributes them at random."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The amount of work of each cell."""

    seconds: float
    bulk_bytes: int
    idle_connections: int


FULL = Sizes(seconds=2.0, bulk_bytes=4_000_000_000, idle_connections=10_000)
QUICK = Sizes(seconds=1.0, bulk_bytes=2_000_000_000, idle_connections=10_000)

Measure = Callable[[Relay, Sizes], dict[str, float]]


@dataclass(frozen=True, slots=True)
class Cell:
    name: str
    label: str
    upstream: str
    measure: Measure
    columns: tuple[tuple[str, str], ...]
    """Metrics with their headings, in the order of the table."""
    fresh: bool = False
    """Whether the relay is restarted for this cell: memory from earlier cells would hide its use."""
    needs: tuple[str, ...] = ()
    """Programs that the cell requires."""
    holds: Callable[[Sizes], int] | None = None
    """Connections that the cell keeps open, if they may exceed the limit of one process."""
    repeats: int = 1
    """Turns of each relay within a round: more for figures that vary with the core that a process happens to
    run on."""
    fault: str = ""
    """The name of the fault that acts, in `bench.injections.FAULTS`."""

    def workers(self, sizes: Sizes, open_files: int) -> int:
        """Return the number of processes needed to hold them, at two descriptors a connection."""
        if self.holds is None:
            return 1
        return math.ceil(2 * self.holds(sizes) * _UNEVEN / (open_files - _SPARE_FILES))


class Meter:
    """Measures the CPU time of a relay since its creation."""

    def __init__(self, relay: Relay) -> None:
        self._pids = relay.pids()
        self._start_ns = cpu_ns(self._pids)

    def spent_us(self) -> float:
        # Connections that the load left behind are still being closed.
        time.sleep(_SETTLE_S)
        return (cpu_ns(self._pids) - self._start_ns) / 1e3


def _requests(connections: int) -> Measure:
    def measure(relay: Relay, sizes: Sizes) -> dict[str, float]:
        meter = Meter(relay)
        count = load.requests(relay.ports["http"], sizes.seconds, connections)
        expect_no_failures(count)
        return {"per_s": count.per_second, "cpu_us": meter.spent_us() / count.done}

    return measure


def _connect(close: str) -> Measure:
    def measure(relay: Relay, sizes: Sizes) -> dict[str, float]:
        meter = Meter(relay)
        count = load.connect(relay.ports["echo"], sizes.seconds, 8, close)
        expect_no_failures(count)
        return {"per_s": count.per_second, "cpu_us": meter.spent_us() / count.done}

    return measure


def _bulk(relay: Relay, sizes: Sizes) -> dict[str, float]:
    meter = Meter(relay)
    count = load.bulk(relay.ports["sink"], sizes.bulk_bytes)
    gigabytes = count.done / 1e9
    return {"gb_per_s": gigabytes / count.elapsed_s, "cpu_s_per_gb": meter.spent_us() / 1e6 / gigabytes}


def _round_trips(relay: Relay, sizes: Sizes) -> dict[str, float]:
    rtt_us = load.pace(relay.ports["echo"], connections=10, rate_per_s=1000, seconds=sizes.seconds).rtt_us
    return {
        "p50_us": percentile(rtt_us, 50),
        "p99_us": percentile(rtt_us, 99),
        "p999_us": percentile(rtt_us, 99.9),
    }


def _idle(relay: Relay, sizes: Sizes) -> dict[str, float]:
    # The first connection includes one-time setup of the relay; with so many, each worker gets one.
    time.sleep(_SETTLE_S)
    with load.idle(relay.ports["echo"], 1 if relay.workers == 1 else 16 * relay.workers):
        pids = relay.pids()
    before = memory_bytes(pids)
    with load.idle(relay.ports["echo"], _allowed(relay, sizes.idle_connections)) as opened:
        time.sleep(_SETTLE_S)
        grown = memory_bytes(pids) - before
    if opened == 0:
        raise load.LoadError("idle: no connection came up")
    return {"kb": grown / 1024 / opened, "connections": float(opened), "workers": float(relay.workers)}


def _allowed(relay: Relay, connections: int) -> int:
    """Return how many connections the limits allow: a relay needs two descriptors each, a client one."""
    most = describe().open_files - _SPARE_FILES
    return min(connections, most, relay.workers * most // 2 if relay.roots else most)


def expect_no_failures(count: load.Count) -> None:
    if count.failed or not count.done:
        raise load.LoadError(f"{count.failed} of {count.done + count.failed} failed")


PER_REQUEST = (("per_s", "req/s"), ("cpu_us", "CPU µs/req"))
PER_CONNECTION = (("per_s", "conn/s"), ("cpu_us", "CPU µs/conn"))

PASS_CELLS: tuple[Cell, ...] = (
    *(
        Cell(
            f"requests-{connections}",
            f"HTTP requests, {connections} connection{'s' if connections > 1 else ''}",
            "http",
            _requests(connections),
            PER_REQUEST,
            needs=("wrk", "nginx"),
        )
        for connections in (1, 64, 512)
    ),
    Cell("connect", "New connections, closed by RST", "echo", _connect("rst"), PER_CONNECTION),
    Cell("connect-fin", "New connections, closed in good order", "echo", _connect("fin"), PER_CONNECTION),
    Cell(
        "bulk",
        "Bulk",
        "sink",
        _bulk,
        (("gb_per_s", "GB/s"), ("cpu_s_per_gb", "CPU s/GB")),
        repeats=3,
    ),
    Cell(
        "rtt",
        "Round trips at 1,000/s",
        "echo",
        _round_trips,
        (("p50_us", "p50 µs"), ("p99_us", "p99 µs"), ("p999_us", "p99.9 µs")),
        repeats=3,
    ),
    Cell(
        "idle",
        "Idle connections",
        "echo",
        _idle,
        (("kb", "KB/connection"), ("connections", "held")),
        fresh=True,
        holds=lambda sizes: sizes.idle_connections,
    ),
)
