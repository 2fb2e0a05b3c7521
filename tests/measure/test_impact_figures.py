"""Each impact tool compared with independent measurements, cancelled half-way, and run in parallel.

The independent measurement is the app's own: it times each request that it gets and each call that it makes.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest

from faultkit.agent_tools.tool import ToolResult
from faultkit.base.errors import RunError
from tests.agent_tools.impact_app import TOOLS, App, Asked, app, call_of, perform, run
from tests.agent_tools.test_stdio import FAULT, Served, served

PATIENCE_S = 20.0
NEAR_MS = 100.0
"""Tolerance between the times of a client and an app on a busy machine."""
STRENGTHS: dict[str, dict[str, Any]] = {
    "latency": {"latency": 150, "deviation": 30},
    "jitter": {"amplitude": 150, "frequency": 20},
    "bandwidth": {"rate": 10, "unit": "kbps"},
    "packet_loss": {"rate": 0.5},
    "blackhole": {},
    "http_error": {"status_code": 503, "probability": 0.5},
}
"""Settings strong enough to be visible; some act at random, so that requests differ."""

HIT_REQUESTS = ("blackhole", "http_error")
"""Tools whose fault hits requests; the others hit the answers of requests that were delivered."""

each_tool = pytest.mark.parametrize("kind", TOOLS)


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in taken]


def failed(asked: Sequence[Asked]) -> int:
    return sum(each.outgoing_status != 200 for each in asked)


def let_through(kind: str, asked: Sequence[Asked]) -> int:
    """Return how many calls of the app its dependency must have received."""
    return len(asked) - (failed(asked) if kind in HIT_REQUESTS else 0)


def test_every_tool_is_measured_here() -> None:
    assert list(STRENGTHS) == list(TOOLS)


@each_tool
def test_the_figures_are_those_that_the_app_measured_itself(kind: str, closed_port: int) -> None:
    with app() as dependency, app(f"http://127.0.0.1:{closed_port}", outgoing_timeout_s=0.6) as service:
        found = run(
            kind,
            url=service.url,
            duration="1s",
            rps=15,
            proxies=[f"{closed_port}=http://{dependency.endpoint}"],
            slos=["99% < 50ms"],
            **STRENGTHS[kind],
        )
    before, during = service.asked[:15], service.asked[15:]
    check_figures(found["baseline"], before)
    check_figures(found["figures"], during)
    (errors,) = (each for each in found["impact"] if each["name"] == "errors")
    assert errors["fault"] == pytest.approx(100 * failed(during) / 15)
    # The objective is judged by the client's times, which are at least those of the app.
    [slo] = found["slos"]
    slow = sum(each.took_ms >= 50 or each.outgoing_status != 200 for each in during)
    assert (slo["total"], slow <= slo["over"] <= 15) == (15, True)
    assert len(dependency.asked) == len(before) + let_through(kind, during)
    assert found["injected"] >= failed(during)


def check_figures(figures: dict[str, Any], asked: Sequence[Asked]) -> None:
    """Check that a client waits as long as the app, and a little longer."""
    took_ms = sorted(each.took_ms for each in asked)
    assert (figures["requests"], figures["errors"]) == (len(asked), failed(asked))
    for name, measured in (
        ("min_ms", took_ms[0]),
        ("mean_ms", fmean(took_ms)),
        ("p50_ms", median(took_ms)),
        ("max_ms", took_ms[-1]),
    ):
        assert measured <= figures[name] < measured + NEAR_MS, name


def test_a_blackhole_never_releases_its_bytes(closed_port: int) -> None:
    """The bytes are not released when the run is over and the app still waits either."""
    with (
        app() as dependency,
        app(f"http://127.0.0.1:{closed_port}", outgoing_timeout_s=PATIENCE_S) as service,
    ):
        found = run(
            "blackhole",
            url=service.url,
            duration="300ms",
            rps=10,
            timeout=0.3,
            baseline=False,
            proxies=[f"{closed_port}=http://{dependency.endpoint}"],
        )
        until = time.monotonic() + PATIENCE_S / 2
        while len(service.asked) < 3 and time.monotonic() < until:
            time.sleep(0.01)
    # The app noticed the end of the proxy: its own time limit is longer.
    assert [each.outgoing_status for each in service.asked] == [None] * 3
    assert found["figures"]["errors"] == 3
    assert dependency.came_s == []


# Ended half-way


@pytest.mark.parametrize(
    "kind",
    [
        # One that hits requests and one that hits answers: cancelling does not depend on the fault.
        pytest.param(kind, marks=() if kind in ("latency", "blackhole") else pytest.mark.thorough)
        for kind in TOOLS
    ],
)
def test_a_cancelled_run_is_over_within_a_second(kind: str) -> None:
    """Require one of three tries to be fast enough, because a busy machine may delay any of them."""
    assert any(over_after_s(kind) < 1.0 for _ in range(3))


def over_after_s(kind: str) -> float:
    """Return the seconds from the cancellation to the end of the run; check that it left nothing behind."""
    [port] = free_ports(1)
    began, cancelled = threading.Event(), threading.Event()
    with app() as dependency, app(f"http://127.0.0.1:{port}") as service, ThreadPoolExecutor(1) as threads:
        given = {
            "url": service.url,
            "duration": "60s",
            "rps": 20,
            "baseline": False,
            "proxies": [f"{port}=http://{dependency.endpoint}"],
            **STRENGTHS[kind],
        }
        call = call_of(kind, given, cancelled=cancelled)
        call.progress = lambda done, of, message: began.set() if done > 0 else None
        running: Future[ToolResult] = threads.submit(perform, kind, call)
        assert began.wait(PATIENCE_S)
        cancelled.set()
        told_s = time.monotonic()
        with pytest.raises(RunError, match="the run was cancelled"):
            running.result(PATIENCE_S)
        over_s = time.monotonic()
        with socket.create_server(("127.0.0.1", port)):
            pass
        assert children() == set()
    assert service.came_s
    assert max(service.came_s + dependency.came_s) <= over_s
    return over_s - told_s


def test_a_run_that_a_client_cancels_over_stdio_is_over_within_a_second() -> None:
    with served([*FAULT, "agent", "tool"]) as server:
        server.shake_hands()
        assert any(over_after_cancelling_s(server, id) < 1.0 for id in (1, 2, 3))


def over_after_cancelling_s(server: Served, id: int) -> float:
    [port] = free_ports(1)
    with app() as dependency, app(f"http://127.0.0.1:{port}") as service:
        proxies = [f"{port}=http://{dependency.endpoint}"]
        given = {"url": service.url, "duration": "60s", "rps": 20, "baseline": False, "proxies": proxies}
        server.begin(id, "fault_run_latency_impact_scenario", **given)
        while server.receive()["params"]["progress"] == 0:
            pass
        assert children(server.process.pid)
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
        told_s = time.monotonic()
        while children(server.process.pid) and time.monotonic() < told_s + PATIENCE_S:
            time.sleep(0.01)
        over_s = time.monotonic()
        with socket.create_server(("127.0.0.1", port)):
            pass
        server.send({"jsonrpc": "2.0", "id": -id, "method": "ping"})
        while server.receive().get("id") != -id:
            pass  # Progress sent before the cancellation; the call itself gets no answer.
    assert max(service.came_s) <= over_s
    return over_s - told_s


def children(pid: int | str = "self") -> set[str]:
    """Return the child processes that still run, such as a load worker or a proxy."""
    tasks = Path(f"/proc/{pid}/task")
    found = {child for task in tasks.iterdir() for child in (task / "children").read_text().split()}
    return {child for child in found if "faultkit" in command_of(child)}


def command_of(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


# Many at once


def test_ten_runs_at_once_each_have_the_figures_of_their_own_app() -> None:
    kinds = [*TOOLS, *list(TOOLS)[:4]]
    ports = free_ports(len(kinds))
    with ExitStack() as stack, ThreadPoolExecutor(len(kinds)) as threads:
        dependency = stack.enter_context(app())
        services = [stack.enter_context(app(f"http://127.0.0.1:{port}", 0.6)) for port in ports]

        def one(kind: str, port: int, service: App) -> dict[str, Any]:
            proxies = [f"{port}=http://{dependency.endpoint}"]
            given = {"duration": "1s", "rps": 5, "baseline": False, "proxies": proxies}
            return run(kind, url=service.url, **given, **STRENGTHS[kind])

        found = list(threads.map(one, kinds, ports, services))
    for kind, service, each in zip(kinds, services, found, strict=True):
        assert (each["figures"]["requests"], each["figures"]["errors"]) == (5, failed(service.asked)), kind
        took_ms = [asked.took_ms for asked in service.asked]
        assert fmean(took_ms) <= each["figures"]["mean_ms"]
        if kind in ("latency", "jitter", "bandwidth"):
            assert failed(service.asked) == 0, kind
        assert failed(service.asked) == 5 or kind != "blackhole"
        assert each["injected"] >= failed(service.asked)
    heard = sum(let_through(kind, service.asked) for kind, service in zip(kinds, services, strict=True))
    assert len(dependency.asked) == heard
