"""`fault serve` with its audit log, compared with a server of the SDK without one: same calls, one client."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from bench.load import LoadError
from bench.mcp_cells import SPEED, Cell, Metrics, RunningServers, Sizes, Target, speed
from bench.mcp_client import ECHO, HttpClient
from bench.mcp_servers import SDK, SERVE, SERVE_ALONE

CONNECTIONS = 64
_PATIENCE_S = 10.0


def _echo(running: RunningServers, name: str, sizes: Sizes) -> Metrics:
    """Measure calls. Each must have a row soon after the last one, otherwise an error is raised."""
    pid, port = running.http[name]
    log = running.commands.log if name == SERVE else None
    before = 0 if log is None else rows_in(log)
    client = HttpClient(port, "legacy", CONNECTIONS, ECHO)
    try:
        figures = speed(pid, lambda: client.calls(CONNECTIONS, sizes.seconds))
        if log is None:
            return {**figures, "behind": 0}
        behind = before + client.asked - rows_in(log)
        _await_rows(log, before + client.asked)
        return {**figures, "behind": behind}
    finally:
        client.close()


def rows_in(log: Path) -> int:
    with closing(sqlite3.connect(log)) as database:
        count: int = database.execute("SELECT count(*) FROM audit_events").fetchone()[0]
        return count


def _await_rows(log: Path, expected: int) -> None:
    end_s = time.monotonic() + _PATIENCE_S
    while (found := rows_in(log)) != expected:
        if time.monotonic() > end_s:
            raise LoadError(f"{expected} calls left {found} rows in the audit log")
        time.sleep(0.02)


SERVE_CELL = Cell(
    "serve-64",
    f"echo over HTTP, {CONNECTIONS} connections",
    _echo,
    (SERVE, SERVE_ALONE, SDK),
    (*SPEED, ("behind", "rows behind")),
)
SERVE_TARGET = Target(
    f"calls/s of echo over HTTP, {CONNECTIONS} connections, audit on, × SDK without",
    SERVE_CELL.name,
    SERVE,
    "per_s",
    SDK,
    6,
)
