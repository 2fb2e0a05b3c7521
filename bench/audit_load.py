"""Calls of `fault serve` at full speed, and checks of its log: complete, in order, intact."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.load import LoadError
from bench.mcp_client import ECHO, HttpClient
from bench.processes import StartError
from faultkit.audit.writer import FLUSH_S

CONNECTIONS = 64
_PATIENCE_S = 60.0
_URL = re.compile(rb"http://127\.0\.0\.1:(\d+)/mcp")


@dataclass(frozen=True, slots=True)
class Log:
    """The content of a log, in the order of writing."""

    numbers: tuple[int, ...]
    """The ids of the calls."""
    ended_us: tuple[int, ...]
    payloads: int

    @property
    def is_in_order(self) -> bool:
        """Whether rows are in the order in which their calls ended; times are whole microseconds."""
        pairs = zip(self.ended_us, self.ended_us[1:], strict=False)
        return all(later - earlier >= -2 for earlier, later in pairs)

    @property
    def is_whole(self) -> bool:
        return self.payloads == len(self.numbers) == len(set(self.numbers))


def log_in(where: str) -> Log:
    from sqlalchemy import func, select

    from faultkit.audit.audit_sql import payloads
    from faultkit.audit.store_factory import open_store

    with open_store(where, create=False) as store:
        rows = tuple(row for row in store.all() if row.tool_name == "echo")
        said = store.read(lambda one: one.execute(select(func.count()).select_from(payloads)).scalar_one())
    numbers = tuple(int(row.request_id) for row in rows)
    return Log(numbers, tuple(row.at_us + round(row.duration_ms * 1000) for row in rows), int(said))


@dataclass(frozen=True, slots=True)
class FillResult:
    calls: int
    per_s: float
    rows_per_s: float
    """Rows a second, up to the last row, which is written after the last call."""
    log: Log

    @property
    def holds(self) -> bool:
        log = self.log
        return log.is_whole and log.is_in_order and set(log.numbers) == set(range(self.calls))


def fill(fault: Sequence[str], where: str, calls: int, folder: Path) -> FillResult:
    """Make so many calls on one server with one log."""
    with serving(fault, where, folder) as (process, port):
        client = HttpClient(port, "legacy", CONNECTIONS, ECHO)
        try:
            begin_s = time.monotonic()
            sample = client.calls(CONNECTIONS, 0, calls)
        finally:
            client.close()
        process.send_signal(signal.SIGTERM)
        process.wait(_PATIENCE_S)
        elapsed_s = time.monotonic() - begin_s
    return FillResult(calls, calls / sample.elapsed_s, calls / elapsed_s, log_in(where))


@dataclass(frozen=True, slots=True)
class KillResult:
    answered: int
    rows: int
    missing: int
    """Calls that were answered and have no row."""
    oldest_missing_s: float
    """Seconds from the answer of the first of these to the kill."""
    owed: int
    """Those of them that were answered before the last write interval."""
    log: Log

    @property
    def is_torn(self) -> bool:
        return not (self.log.is_whole and self.log.is_in_order)


def kill(fault: Sequence[str], where: str, after_s: float, folder: Path) -> KillResult:
    """Kill the server with SIGKILL in the middle of calls at full speed."""
    answered: list[tuple[int, float]] = []
    with serving(fault, where, folder) as (process, port):
        client = HttpClient(port, "legacy", CONNECTIONS, ECHO)
        killed_s: list[float] = []

        def end() -> None:
            process.kill()
            killed_s.append(time.monotonic())

        timer = threading.Timer(after_s, end)
        timer.start()
        try:
            client.calls(CONNECTIONS, _PATIENCE_S, answered=answered)
            raise StartError("the server was not killed in time")
        except (LoadError, OSError):
            pass
        finally:
            timer.join()
            client.close()
        process.wait(_PATIENCE_S)
    log = log_in(where)
    written = set(log.numbers)
    missing = [at_s for number, at_s in answered if number not in written]
    oldest_s = killed_s[0] - min(missing) if missing else 0.0
    owed = sum(killed_s[0] - at_s > FLUSH_S for at_s in missing)
    return KillResult(len(answered), len(written), len(missing), oldest_s, owed, log)


@contextmanager
def serving(fault: Sequence[str], where: str, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    command = [*fault, "serve", "--transport", "http", "--port", "0", "--store", where]
    log = folder / "serve.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stderr=errors, stdin=subprocess.DEVNULL)
    try:
        yield process, _port(process, log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    end_s = time.monotonic() + _PATIENCE_S
    while not (found := _URL.search(log.read_bytes())):
        if process.poll() is not None or time.monotonic() > end_s:
            raise StartError(f"fault serve did not start: {log.read_text('utf-8')[-300:]}")
        time.sleep(0.02)
    return int(found[1])
