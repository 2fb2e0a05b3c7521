"""`fault serve --transport http` as a user runs it, and how it ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest

from faultkit.cli.main import invoke
from tests.audit.test_serve import PATIENCE_S, Server, rows_of, served


@contextmanager
def with_a_running_call(
    path: Path, milliseconds: int, *options: str
) -> Iterator[tuple[Server, httpx.Client, Future[Any]]]:
    with served("--store", str(path), *options) as server, httpx.Client(timeout=PATIENCE_S) as client:
        with ThreadPoolExecutor(1) as threads, httpx.Client(timeout=PATIENCE_S) as other:
            call = threads.submit(server.call, other, 1, "slow", {"milliseconds": milliseconds})
            until(lambda: "faultkit_calls_running 1\n" in at(server, client, "/metrics").text)
            yield server, client, call


def at(server: Server, client: httpx.Client, path: str) -> httpx.Response:
    return client.get(server.url.removesuffix("/mcp") + path)


def until(holds: Callable[[], bool]) -> None:
    end_s = monotonic() + PATIENCE_S
    while not holds():
        assert monotonic() < end_s


def test_who_looks_is_told_that_it_stops_while_it_serves_on(tmp_path: Path) -> None:
    with with_a_running_call(tmp_path / "a.db", 60_000, "--linger", "60s") as (server, client, call):
        assert at(server, client, "/readyz").text == "ready"
        server.process.send_signal(signal.SIGTERM)
        until(lambda: at(server, client, "/readyz").status_code == 503)
        assert at(server, client, "/readyz").text == "draining"
        assert at(server, client, "/healthz").text == "ok"
        assert "result" in server.call(client, 2, "echo", {"message": "still here"})
        # Who says it twice does not want to wait.
        server.stop()
        assert server.process.returncode == 0
        assert call.result(PATIENCE_S)["error"]["message"] == "the server is stopping"
    assert [(row.tool_name, row.success) for row in rows_of(tmp_path / "a.db")] == [
        ("echo", True),
        ("slow", False),
    ]


def test_calls_that_run_may_end_and_then_it_stops(tmp_path: Path) -> None:
    with with_a_running_call(tmp_path / "a.db", 500, "--drain", "60s") as (server, _, call):
        server.stop()
        assert call.result(PATIENCE_S)["result"]["structuredContent"]["slept_ms"] >= 500
    assert [row.success for row in rows_of(tmp_path / "a.db")] == [True]


def test_calls_that_take_too_long_are_called_off(tmp_path: Path) -> None:
    with with_a_running_call(tmp_path / "a.db", 60_000, "--drain", "0s") as (server, _, call):
        server.stop()
        assert call.result(PATIENCE_S)["error"]["message"] == "the server is stopping"
    assert [row.error_category for row in rows_of(tmp_path / "a.db")] == ["cancelled"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--drain", "soon"), "error: --drain: expected a duration such as"),
        (("--linger", "-1s"), "error: --linger: expected a duration such as"),
        (("--keep", "x"), "error: --keep: expected a duration such as"),
    ],
)
def test_a_bad_duration_is_told(
    options: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["serve", "--transport", "http", "--port", "0", "--no-audit", *options]) == 2
    assert capsys.readouterr().err.startswith(problem)
