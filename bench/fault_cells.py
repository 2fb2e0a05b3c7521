"""The cells of the proxy benchmark in which a fault acts: the same loads, through relays that inject it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from bench import load
from bench.cells import PER_CONNECTION, PER_REQUEST, Cell, Measure, Meter, Sizes, expect_no_failures
from bench.injections import DELAY_MS, PLENTY_BPS
from bench.processes import memory_bytes
from bench.relays import Relay
from bench.stats import median, percentile

CONNECTIONS = (1, 64, 256, 1000)
_DELAYED = 1000
_DELAYED_PER_S = 5000
_SAMPLE_S = 0.1

_LABELS = {
    "latency": f"Latency of {DELAY_MS:g} ms on each read",
    "jitter": f"Jitter up to {DELAY_MS:g} ms",
    "bandwidth": f"Bandwidth of {PLENTY_BPS // 1_000_000} MB/s, both ways",
    "loss": "Packet loss of 0.1 %",
    "http-delay": f"HTTP delay of {DELAY_MS:g} ms on each request",
    "http-error": "HTTP error for 10 % of the requests",
}
_DELAYING = ("latency", "http-delay")


def _requests(connections: int, fault: str) -> Measure:
    def measure(relay: Relay, sizes: Sizes) -> dict[str, float]:
        meter = Meter(relay)
        timed = load.timed_requests(relay.ports["http"], sizes.seconds, connections)
        if relay.is_pass_through or fault != "http-error":
            expect_no_failures(timed.count)
        elif not timed.count.failed:
            raise load.LoadError("no request was refused: the fault did not act")
        if not relay.is_pass_through and fault in _DELAYING and timed.p50_us < DELAY_MS * 1e3:
            raise load.LoadError(f"the median is {timed.p50_us / 1e3:g} ms: the fault did not act")
        return {
            "per_s": timed.count.per_second,
            "cpu_us": meter.spent_us() / timed.count.done,
            "p50_ms": timed.p50_us / 1e3,
            "p99_ms": timed.p99_us / 1e3,
        }

    return measure


def _connect(relay: Relay, sizes: Sizes) -> dict[str, float]:
    meter = Meter(relay)
    count = load.connect(relay.ports["echo"], sizes.seconds, 64, "rst")
    expect_no_failures(count)
    return {"per_s": count.per_second, "cpu_us": meter.spent_us() / count.done}


def _bulk(amount: int) -> Measure:
    def measure(relay: Relay, sizes: Sizes) -> dict[str, float]:
        meter = Meter(relay)
        count = load.bulk(relay.ports["sink"], amount)
        gigabytes = count.done / 1e9
        return {"gb_per_s": gigabytes / count.elapsed_s, "cpu_s_per_gb": meter.spent_us() / 1e6 / gigabytes}

    return measure


def _paced(connections: int, rate_per_s: float, asked_ms: float, *, with_memory: bool = False) -> Measure:
    """Measure messages that leave at fixed times; `asked_ms` is how much the rule adds to a round trip.

    with_memory: also read the relay's memory meanwhile, which takes time from all"""

    def measure(relay: Relay, sizes: Sizes) -> dict[str, float]:
        delay_us = 0.0 if relay.is_pass_through else asked_ms * 1e3
        meter = Meter(relay)
        with _highest_memory(relay) if with_memory else nullcontext([0.0]) as highest:
            pace = load.pace(relay.ports["echo"], connections, rate_per_s, sizes.seconds)
        if len(pace.rtt_us) < pace.sent:
            raise load.LoadError(f"{pace.sent - len(pace.rtt_us)} of {pace.sent} messages did not come back")
        spent_us = meter.spent_us()
        return {
            "added_us": percentile(pace.rtt_us, 50) - delay_us,
            "p99_us": percentile(pace.rtt_us, 99) - delay_us,
            "cpu_us": spent_us / pace.sent,
            "cores": spent_us / 1e6 / sizes.seconds,
            "drift_us": drift(pace.rtt_us),
            "kb": highest[0] / 1024 / connections,
        }

    return measure


def drift(rtt_us: Sequence[float]) -> float:
    """Return by how much the median of the last quarter exceeds that of the first: a relay that falls behind
    is later and later."""
    quarter = max(len(rtt_us) // 4, 1)
    return median(rtt_us[-quarter:]) - median(rtt_us[:quarter])


@contextmanager
def _highest_memory(relay: Relay) -> Iterator[list[float]]:
    """Yield a list whose one value is, at the end, the most by which the relay's memory has grown."""
    pids = relay.pids()
    before = memory_bytes(pids)
    highest = [0.0]
    over = threading.Event()

    def look() -> None:
        while not over.wait(_SAMPLE_S):
            highest[0] = max(highest[0], memory_bytes(pids) - before)

    watch = threading.Thread(target=look)
    watch.start()
    try:
        yield highest
    finally:
        over.set()
        watch.join()


_MESSAGES = (("added_us", "p50 µs beyond"), ("p99_us", "p99 µs beyond"), ("cpu_us", "CPU µs/message"))
_BULK = (("gb_per_s", "GB/s"), ("cpu_s_per_gb", "CPU s/GB"))

FAULT_CELLS: tuple[Cell, ...] = (
    *(
        Cell(
            f"{fault}-{connections}",
            f"{label}, {connections:,} connection{'s' if connections > 1 else ''}",
            "http",
            _requests(connections, fault),
            (*PER_REQUEST, ("p50_ms", "p50 ms"), ("p99_ms", "p99 ms")),
            needs=("wrk", "nginx"),
            repeats=3 if (fault, connections) == ("latency", 64) else 1,
            fault=fault,
        )
        for fault, label in _LABELS.items()
        for connections in CONNECTIONS
    ),
    Cell(
        "latency-connect",
        f"{_LABELS['latency']}, new connections closed by RST",
        "echo",
        _connect,
        PER_CONNECTION,
        fault="latency",
    ),
    Cell(
        "latency-bulk",
        f"Latency of {DELAY_MS:g} ms both ways, bulk",
        "sink",
        _bulk(1_000_000_000),
        _BULK,
        fault="latency-both",
    ),
    Cell(
        "bandwidth-bulk",
        f"{_LABELS['bandwidth']}, bulk",
        "sink",
        _bulk(600_000_000),
        _BULK,
        fault="bandwidth",
    ),
    Cell(
        "latency-rtt",
        f"{_LABELS['latency']}, round trips at 1,000/s",
        "echo",
        _paced(10, 1000, DELAY_MS),
        _MESSAGES,
        fault="latency",
    ),
    Cell(
        "latency-late",
        f"Latency of {DELAY_MS:g} ms both ways, 100 connections, 800 messages/s",
        "echo",
        _paced(100, 800, 2 * DELAY_MS),
        _MESSAGES,
        fault="latency-both",
    ),
    Cell(
        "latency-held",
        f"Latency of {DELAY_MS:g} ms both ways, {_DELAYED:,} connections, {_DELAYED_PER_S:,} messages/s",
        "echo",
        _paced(_DELAYED, _DELAYED_PER_S, 2 * DELAY_MS, with_memory=True),
        (*_MESSAGES, ("cores", "cores"), ("drift_us", "later at the end, µs"), ("kb", "KB/connection")),
        fresh=True,
        fault="latency-both",
    ),
)
