"""Options that both benchmarks share, and the setup that follows from them."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import load
from bench.machine import raise_open_files
from bench.processes import end_on_sigterm
from bench.relays import RELAYS, RelayKind, Setup, find_fault

# 10,000 idle connections are 20,000 descriptors in a relay; haproxy needs as many again for its pipes.
_OPEN_FILES = 65_536


def parser(module: str, what: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=what)
    parser.add_argument("--quick", action="store_true", help="shorter cells: a first impression")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures here")
    parser.add_argument("--ours-only", action="store_true", help="leave the peers out")
    parser.add_argument("--pin", action="store_true", help="the relay on CPU 0, all else on the others")
    parser.add_argument("--fault", metavar="PATH", help="the fault command (default: of this environment)")
    parser.add_argument("--toxiproxy", metavar="PATH", help="a toxiproxy-server to measure beside")
    parser.add_argument("--prototype", metavar="PATH", help="a relay script to measure beside")
    return parser


@contextmanager
def setup_from(options: argparse.Namespace) -> Iterator[Setup]:
    """Prepare a temporary folder, compiled load generators, and raised limits."""
    load.build()
    open_files = raise_open_files(_OPEN_FILES)
    if options.pin and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(0, os.sched_getaffinity(0) - {0})
    with tempfile.TemporaryDirectory(prefix="fault-bench-") as folder, end_on_sigterm():
        yield Setup(
            folder=Path(folder),
            open_files=open_files,
            fault=options.fault or find_fault(),
            toxiproxy=options.toxiproxy,
            prototype=options.prototype,
            pin=options.pin,
        )


def chosen_relays(options: argparse.Namespace, setup: Setup, skipped: list[str]) -> list[RelayKind]:
    """Return those that can be measured; add a sentence to `skipped` for each expected one that cannot."""
    chosen = []
    for kind in RELAYS:
        if options.ours_only and kind.name not in ("direct", "faultkit"):
            continue
        why_not = kind.why_not(setup)
        if why_not is None:
            chosen.append(kind)
        elif not kind.optional:
            skipped.append(f"{kind.name} left out: {why_not}")
    return chosen


def progress(text: str) -> None:
    """Print progress on a terminal; print nothing if piped."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
