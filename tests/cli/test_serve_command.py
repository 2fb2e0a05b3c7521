"""`fault serve` as a process: each call is a row, keys of another process work, and signals end it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest

from faultkit.audit.access.api_keys import all_keys
from faultkit.audit.filter import Filter
from faultkit.audit.row import AuditRow
from faultkit.audit.store_factory import open_store
from faultkit.base.errors import RunError, TargetError
from faultkit.cli.main import invoke
from faultkit.cli.serve import _open_writer
from faultkit.mcp.wire.era import CAPABILITIES_KEY, VERSION_KEY
from tests.web.guarded_tools import INITIALIZE, PATIENCE_S

META = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}


class Server:
    """A running `fault serve` and its URL for MCP."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url

    def call(self, client: httpx.Client, id: int, name: str, arguments: Any) -> Any:
        """Call a tool in the modern era, which needs no `initialize`, and return the reply."""
        params = {"name": name, "arguments": arguments, "_meta": META}
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name}
        message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        accept = {"accept": "application/json, text/event-stream"}
        return client.post(self.url, json=message, headers=headers | accept).json()

    def stop(self) -> str:
        """Send SIGTERM, and return what the process printed to stderr."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=PATIENCE_S)
        return said


@contextmanager
def served(*options: str, **env: str) -> Iterator[Server]:
    """Run `fault serve` over HTTP on a free port; kill it at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "faultkit", "serve", "--transport", "http", "--port", "0", *options],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        match = re.search(r"http://\S+", line)
        assert match is not None, line + process.stderr.read()
        yield Server(process, match[0])
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def rows_of(where: str | Path) -> list[AuditRow]:
    with open_store(where, create=False) as store:
        return list(store.all())


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_each_call_is_a_row_and_what_waits_is_written_at_the_end(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    where = str(tmp_path / "audit.db") if kind == "sqlite" else request.getfixturevalue("postgres").url
    with served("--store", where) as server, httpx.Client(timeout=PATIENCE_S) as client:
        for number in range(300):
            server.call(client, number, "echo", {"message": f"{number}"})
        server.call(client, 300, "error", {"message": "no", "category": "auth"})
        said = server.stop()
    assert re.search(r"audit: 301 rows written to ", said)
    rows = rows_of(where)
    assert [row.request_id for row in rows] == [str(number) for number in range(301)]
    assert rows[-1].error_category == "auth"
    assert re.fullmatch(r"127\.0\.0\.1:\d+", rows[0].remote_addr)
    assert rows[0].user_agent.startswith("python-httpx/")


def test_lost_rows_are_an_error_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    with open_store("memory:") as store:
        with pytest.raises(RunError, match="the audit log is not complete: rows were lost"):
            with _open_writer(store, "memory:", "block", None) as writer:
                writer.miss(ValueError("it was odd"))
        assert "audit: 0 rows written to memory:, 1 lost\n" in capsys.readouterr().err
        # A server that failed to start reports its own error, and nothing about rows.
        with pytest.raises(TargetError), _open_writer(store, "memory:", "block", None):
            raise TargetError("no port")
        assert capsys.readouterr().err == ""


def test_without_an_audit_log_there_is_none(tmp_path: Path) -> None:
    with (
        served("--no-audit", XDG_STATE_HOME=str(tmp_path)) as server,
        httpx.Client(timeout=PATIENCE_S) as client,
    ):
        server.call(client, 1, "echo", {})
        assert "audit" not in server.stop()
    assert list(tmp_path.iterdir()) == []


def test_by_default_the_log_is_in_the_users_folder_for_state(tmp_path: Path) -> None:
    with served(XDG_STATE_HOME=str(tmp_path)) as server, httpx.Client(timeout=PATIENCE_S) as client:
        server.call(client, 1, "echo", {})
        server.stop()
    assert len(rows_of(tmp_path / "faultkit" / "audit.db")) == 1


def test_two_servers_share_a_log(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with (
        served("--store", str(path)) as one,
        served("--store", str(path)) as two,
        httpx.Client(timeout=PATIENCE_S) as client,
    ):
        for number in range(50):
            one.call(client, number, "echo", {"message": "one"})
            two.call(client, number, "chatty", {})
        one.stop()
        two.stop()
    rows = rows_of(path)
    for tool in ("echo", "chatty"):
        assert [row.request_id for row in rows if row.tool_name == tool] == [str(n) for n in range(50)]


def test_a_killed_server_leaves_a_log_without_gaps(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with served("--store", str(path)) as server, httpx.Client(timeout=PATIENCE_S) as client:
        number = 0
        with open_store(path) as store:
            while store.events(Filter(limit=1)).total < 200:
                server.call(client, number, "echo", {"message": "x"})
                number += 1
        server.process.kill()
        server.process.wait(PATIENCE_S)
    found = [int(row.request_id) for row in rows_of(path)]
    assert len(found) >= 200
    assert found == list(range(len(found)))


def test_an_unavailable_store_is_an_error_at_the_start(closed_port: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "faultkit", "serve", "--store", f"postgresql://127.0.0.1:{closed_port}/x"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.startswith("error: store: cannot open postgresql://127.0.0.1")
    assert len(done.stderr.splitlines()) == 1


def test_a_key_works_until_another_process_revokes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ("--store", str(tmp_path / "audit.db"))

    def created(name: str) -> str:
        assert invoke(["keys", "create", name, *store]) == 0
        return capsys.readouterr().out.strip()

    first = created("first")
    accept = {"accept": "application/json, text/event-stream"}
    with served("--require-key", *store) as server, httpx.Client(timeout=PATIENCE_S) as client:
        base = server.url.removesuffix("/mcp")

        def status(key: str | None = None) -> int:
            headers = accept if key is None else accept | {"x-api-key": key}
            return client.post(server.url, json=INITIALIZE, headers=headers).status_code

        assert status() == 401
        assert status(first) == 200
        # A key that is created while the server runs works at once.
        second = created("second")
        assert status(second) == 200
        assert invoke(["keys", "revoke", "first", *store]) == 0
        deadline_s = monotonic() + PATIENCE_S
        while status(first) == 200:
            assert monotonic() < deadline_s
        assert status(first) == 401
        assert status(second) == 200
        assert client.get(f"{base}/healthz").status_code == 200
        about = client.get(f"{base}/.well-known/oauth-protected-resource/mcp")
        assert (about.status_code, about.json()["resource"]) == (200, server.url)
        server.stop()
    with open_store(store[1], create=False) as log:
        refused = [row.error_message for row in log.all() if row.source == "door"]
        used = {key.name: key.used_us is not None for key in all_keys(log)}
    assert refused == [
        "not authenticated: expected an API key or a bearer token",
        "not authenticated: the key was revoked",
        # The first refusal was logged at once; the second followed soon, and was logged at the end.
        "not authenticated: the key was revoked",
    ]
    assert used == {"first": True, "second": True}


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


def test_a_lingering_server_reports_draining_and_still_serves(tmp_path: Path) -> None:
    with with_a_running_call(tmp_path / "a.db", 60_000, "--linger", "60s") as (server, client, call):
        assert at(server, client, "/readyz").text == "ready"
        server.process.send_signal(signal.SIGTERM)
        until(lambda: at(server, client, "/readyz").status_code == 503)
        assert at(server, client, "/readyz").text == "draining"
        assert at(server, client, "/healthz").text == "ok"
        assert "result" in server.call(client, 2, "echo", {"message": "still here"})
        # A second signal ends the running call.
        server.stop()
        assert server.process.returncode == 0
        assert call.result(PATIENCE_S)["error"]["message"] == "the server is stopping"
    assert [(row.tool_name, row.success) for row in rows_of(tmp_path / "a.db")] == [
        ("echo", True),
        ("slow", False),
    ]


def test_running_calls_end_before_the_server_stops(tmp_path: Path) -> None:
    with with_a_running_call(tmp_path / "a.db", 500, "--drain", "60s") as (server, _, call):
        server.stop()
        assert call.result(PATIENCE_S)["result"]["structuredContent"]["slept_ms"] >= 500
    assert [row.success for row in rows_of(tmp_path / "a.db")] == [True]


def test_calls_that_outlast_the_drain_are_cancelled(tmp_path: Path) -> None:
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
def test_a_wrong_duration_is_an_error_that_names_its_flag(
    options: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["serve", "--transport", "http", "--port", "0", "--no-audit", *options]) == 2
    assert capsys.readouterr().err.startswith(problem)
