"""`fault serve` as a user runs it: each call is a row."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from faultkit.audit.filter import Filter
from faultkit.audit.row import AuditRow
from faultkit.audit.store_factory import open_store
from faultkit.base.errors import RunError, TargetError
from faultkit.cli.serve import _writing
from faultkit.mcp.wire.era import CAPABILITIES_KEY, VERSION_KEY

PATIENCE_S = 10.0
META = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}


class Server:
    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url

    def call(self, client: httpx.Client, id: int, name: str, arguments: Any) -> Any:
        """In the modern era, which needs no beginning."""
        params = {"name": name, "arguments": arguments, "_meta": META}
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name}
        message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        accept = {"accept": "application/json, text/event-stream"}
        return client.post(self.url, json=message, headers=headers | accept).json()

    def stop(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=PATIENCE_S)
        return said


@contextmanager
def served(*options: str, **env: str) -> Iterator[Server]:
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
    with served("--store", where) as server, httpx.Client() as client:
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


def test_a_server_whose_rows_were_lost_does_not_end_well(capsys: pytest.CaptureFixture[str]) -> None:
    with open_store("memory:") as store:
        with pytest.raises(RunError, match="the audit log is not complete: rows were lost"):
            with _writing(store, "memory:", "block", None) as writer:
                writer.miss(ValueError("it was odd"))
        assert "audit: 0 rows written to memory:, 1 lost\n" in capsys.readouterr().err
        # What ends a server that never began is not covered by this, and nothing is said of rows.
        with pytest.raises(TargetError), _writing(store, "memory:", "block", None):
            raise TargetError("no port")
        assert capsys.readouterr().err == ""


def test_without_an_audit_log_there_is_none(tmp_path: Path) -> None:
    with served("--no-audit", XDG_STATE_HOME=str(tmp_path)) as server, httpx.Client() as client:
        server.call(client, 1, "echo", {})
        assert "audit" not in server.stop()
    assert list(tmp_path.iterdir()) == []


def test_by_default_the_log_is_in_the_users_folder_for_state(tmp_path: Path) -> None:
    with served(XDG_STATE_HOME=str(tmp_path)) as server, httpx.Client() as client:
        server.call(client, 1, "echo", {})
        server.stop()
    assert len(rows_of(tmp_path / "faultkit" / "audit.db")) == 1


def test_two_servers_share_a_log(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with served("--store", str(path)) as one, served("--store", str(path)) as two, httpx.Client() as client:
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
    with served("--store", str(path)) as server, httpx.Client() as client:
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


def test_a_store_that_cannot_be_had_is_told_at_once(closed_port: int) -> None:
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
