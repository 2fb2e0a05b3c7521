"""Measurements of MCP servers, one function a cell; each call is one round of one subject."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from bench.mcp_client import Era, HttpClient, IdleSessions, Sample, StdioClient
from bench.mcp_servers import MOCK, SDK, SERVE, SERVE_ALONE, Commands, http_server, stdio_server
from bench.processes import cpu_ns, memory_bytes, with_children
from bench.stats import median

IN_FLIGHT = 50
GATEWAY = "faultkit gateway"
_WARM_CALLS = 100

Metrics: TypeAlias = dict[str, float]


@dataclass(frozen=True, slots=True)
class Sizes:
    seconds: float
    """Duration of one series of calls."""
    alternations: int
    """Pairs of a direct call and one through the gateway."""
    sessions: int
    idle_s: float


FULL = Sizes(seconds=1.3, alternations=300, sessions=1000, idle_s=1.0)
QUICK = Sizes(seconds=0.4, alternations=80, sessions=1000, idle_s=0.2)


@dataclass(slots=True)
class RunningServers:
    """The servers by name, and those behind a gateway."""

    commands: Commands
    folder: Path
    stdio: dict[str, tuple[int, StdioClient]]
    through_stdio: dict[str, tuple[int, StdioClient]]
    http: dict[str, tuple[int, int]]
    through_http: dict[str, tuple[int, int]]


def start_all(stack: ExitStack, commands: Commands, folder: Path) -> RunningServers:
    found = RunningServers(commands, folder, {}, {}, {}, {})
    for number, name in enumerate((MOCK, SDK)):
        log = folder / f"server-{number}"
        found.stdio[name] = stack.enter_context(stdio_server(commands.stdio(name), log.with_suffix(".stdio")))
        through = stdio_server(commands.gateway_stdio(name), log.with_suffix(".through"))
        found.through_stdio[name] = stack.enter_context(through)
        found.http[name] = stack.enter_context(http_server(commands.http(name), log.with_suffix(".http")))
        gateway = http_server(commands.gateway_http(found.http[name][1]), log.with_suffix(".gateway"))
        found.through_http[name] = stack.enter_context(gateway)
    for number, name in enumerate((SERVE, SERVE_ALONE)):
        log = folder / f"serve-{number}.http"
        found.http[name] = stack.enter_context(http_server(commands.http(name), log))
    return found


@dataclass(frozen=True, slots=True)
class Cell:
    name: str
    label: str
    measure: Callable[[RunningServers, str, Sizes], Metrics]
    subjects: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    """Metrics with their headings."""
    rounds: int | None = None
    """The most rounds; None: as many as requested."""


def speed(pid: int, run: Callable[[], Sample]) -> Metrics:
    before = cpu_ns([pid])
    sample = run()
    server_us = (cpu_ns([pid]) - before) / 1e3
    return {
        "per_s": sample.calls / sample.elapsed_s,
        "cpu_us": server_us / sample.calls,
        "client_us": sample.client_cpu_s * 1e6 / sample.calls,
    }


def _stdio(in_flight: int) -> Callable[[RunningServers, str, Sizes], Metrics]:
    def measure(running: RunningServers, name: str, sizes: Sizes) -> Metrics:
        pid, client = running.stdio[name]
        return speed(pid, lambda: client.calls(in_flight, sizes.seconds))

    return measure


def _http(era: Era, in_flight: int) -> Callable[[RunningServers, str, Sizes], Metrics]:
    def measure(running: RunningServers, name: str, sizes: Sizes) -> Metrics:
        pid, port = running.http[name]
        client = HttpClient(port, era, in_flight)
        try:
            return speed(pid, lambda: client.calls(in_flight, sizes.seconds))
        finally:
            client.close()

    return measure


def _added(direct: Callable[[], float], through: Callable[[], float], sizes: Sizes) -> Metrics:
    """Alternate the two, so that a noisy moment affects both."""
    for _ in range(_WARM_CALLS // 10):
        direct(), through()
    pairs = [(direct(), through()) for _ in range(sizes.alternations)]
    direct_ms = median([pair[0] for pair in pairs]) * 1e3
    through_ms = median([pair[1] for pair in pairs]) * 1e3
    return {"direct_ms": direct_ms, "through_ms": through_ms, "added_ms": through_ms - direct_ms}


def _added_stdio(running: RunningServers, name: str, sizes: Sizes) -> Metrics:
    return _added(running.stdio[name][1].call, running.through_stdio[name][1].call, sizes)


def _added_http(running: RunningServers, name: str, sizes: Sizes) -> Metrics:
    direct = HttpClient(running.http[name][1], "legacy")
    through = HttpClient(running.through_http[name][1], "legacy")
    try:
        return _added(direct.call, through.call, sizes)
    finally:
        direct.close()
        through.close()


def _idle(running: RunningServers, name: str, sizes: Sizes) -> Metrics:
    """Measure with a new server: memory from earlier rounds would hide the size of a session."""
    with ExitStack() as stack:
        log = running.folder / "idle.http"
        pid, port = stack.enter_context(http_server(running.commands.http(MOCK), log))
        if name == GATEWAY:
            command = running.commands.gateway_http(port)
            pid, port = stack.enter_context(http_server(command, log.with_suffix(".gateway")))
        # One-time allocations of the first session are not counted.
        first = IdleSessions(port, 1)
        stack.callback(first.close)
        before = memory_bytes(with_children([pid]))
        held = IdleSessions(port, sizes.sessions)
        stack.callback(held.close)
        time.sleep(sizes.idle_s)
        kb = (memory_bytes(with_children([pid])) - before) / 1024 / sizes.sessions
        return {"kb": kb, "answering": held.answering(), "sessions": sizes.sessions}


SPEED = (("per_s", "calls/s"), ("cpu_us", "CPU µs/call"), ("client_us", "client's CPU µs/call"))
_TIMES = (("direct_ms", "direct ms"), ("through_ms", "through ms"), ("added_ms", "added ms"))
_BOTH = (MOCK, SDK)

CELLS: tuple[Cell, ...] = (
    Cell("stdio-1", "stdio, 1 in flight", _stdio(1), _BOTH, SPEED),
    Cell("stdio-50", f"stdio, {IN_FLIGHT} in flight", _stdio(IN_FLIGHT), _BOTH, SPEED),
    Cell("http-1", "HTTP with a session, 1 in flight", _http("legacy", 1), _BOTH, SPEED),
    Cell("http-50", f"HTTP with a session, {IN_FLIGHT} in flight", _http("legacy", IN_FLIGHT), _BOTH, SPEED),
    Cell("modern-50", f"HTTP of 2026-07-28, {IN_FLIGHT} in flight", _http("modern", IN_FLIGHT), _BOTH, SPEED),
    Cell("added-stdio", "A call over stdio, server behind", _added_stdio, _BOTH, _TIMES),
    Cell("added-http", "A call over HTTP, server behind", _added_http, _BOTH, _TIMES),
    Cell(
        "idle",
        "Idle sessions over HTTP",
        _idle,
        (MOCK, GATEWAY),
        (("sessions", "sessions"), ("answering", "that answer"), ("kb", "KB/session")),
        rounds=1,
    ),
)


Figures: TypeAlias = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Cell, then subject, then metric: the median over all rounds."""


@dataclass(frozen=True, slots=True)
class Target:
    label: str
    cell: str
    subject: str
    metric: str
    peer: str | None
    """The figure is the subject's divided by this one's; None: as it is."""
    limit: float
    at_least: bool = True

    def reached(self, figures: Figures) -> float | None:
        subjects = figures.get(self.cell, {})
        own = subjects.get(self.subject, {}).get(self.metric)
        if own is None or self.peer is None:
            return own
        peer = subjects.get(self.peer, {}).get(self.metric)
        return own / peer if peer else None

    def word(self, reached: float | None) -> str:
        if reached is None:
            return "not measured"
        return "PASS" if (reached >= self.limit if self.at_least else reached <= self.limit) else "MISS"


TARGETS: tuple[Target, ...] = (
    Target("calls/s over stdio, 50 in flight, × SDK", "stdio-50", MOCK, "per_s", SDK, 10),
    Target("calls/s over HTTP, 50 in flight, × SDK", "http-50", MOCK, "per_s", SDK, 5),
    Target("calls/s over HTTP of 2026-07-28, 50 in flight, × SDK", "modern-50", MOCK, "per_s", SDK, 5),
    Target("added to a stdio call, mock behind, ms", "added-stdio", MOCK, "added_ms", None, 0.3, False),
    Target("added to a stdio call, SDK behind, ms", "added-stdio", SDK, "added_ms", None, 0.3, False),
    Target("added to an HTTP call, mock behind, ms", "added-http", MOCK, "added_ms", None, 0.15, False),
    Target("added to an HTTP call, SDK behind, ms", "added-http", SDK, "added_ms", None, 0.15, False),
    Target("idle sessions of the mock that answer", "idle", MOCK, "answering", None, 1000),
    Target("idle sessions of the gateway that answer", "idle", GATEWAY, "answering", None, 1000),
)
