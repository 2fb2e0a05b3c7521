"""What the benchmarks share: options, the setup that follows from them, and from a run to its report."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from bench import load
from bench.machine import PROJECT, Machine, raise_open_files
from bench.processes import StartError, end_on_sigterm
from bench.relays import RELAYS, RelayKind, Setup, find_fault
from bench.tables import Table, aligned_table

DOCUMENT = PROJECT / "docs" / "benchmarks.md"
# 10,000 idle connections are 20,000 descriptors in a relay; haproxy needs as many again for its pipes.
_OPEN_FILES = 65_536


class _Figures(Protocol):
    def to_json(self) -> Any: ...


Result = TypeVar("Result", bound=_Figures)


class Medians(Protocol):
    """The result of a benchmark whose figures are medians of rounds."""

    @property
    def machine(self) -> Machine: ...
    @property
    def rounds(self) -> int: ...
    @property
    def steal_percent(self) -> float: ...
    @property
    def skipped(self) -> Sequence[str]: ...


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


def section_parser(module: str, what: str, rounds: int) -> argparse.ArgumentParser:
    """Return the options of a benchmark that has a section of the document and needs no relay."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=what)
    parser.add_argument("--quick", action="store_true", help="shorter cells: a first impression")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures here")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"default {rounds}")
    parser.add_argument("--document", action="store_true", help="also renew this section of the document")
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


def measure(
    options: argparse.Namespace,
    run: Callable[[argparse.Namespace], Result],
    show: Callable[[Result], None],
    is_missed: Callable[[Result], object],
    *,
    section: Callable[[Result], str] | None = None,
    problems: tuple[type[Exception], ...] = (StartError,),
) -> int:
    """Run a benchmark, show its result, and write what the options ask for; return the exit code.

    problems: what ends the run with a line in place of a traceback"""
    try:
        result = run(options)
    except problems as error:
        print(f"bench: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("bench: interrupted; everything that was started has been ended", file=sys.stderr)
        return 130
    show(result)
    if options.json:
        options.json.write_text(json.dumps(result.to_json(), indent=2) + "\n")
    if section is not None and options.document:
        DOCUMENT.write_text(with_section(DOCUMENT.read_text(), section(result)))
    return 1 if is_missed(result) else 0


def print_medians(result: Medians, tables: Iterable[Table]) -> None:
    """Print the machine, the tables and what was left out."""
    print(f"{result.machine.sentence()}; medians of {result.rounds} rounds", end="; ")
    print(f"steal {result.steal_percent:.1f} %", end="\n\n")
    print("\n\n".join(aligned_table(*table) for table in tables))
    for sentence in result.skipped:
        print(f"note: {sentence}")


def with_section(document: str, section: str) -> str:
    """Return the document with the section replaced; a new section goes before the notes, or to the end."""
    heading = section.strip().partition("\n")[0]
    rest = re.sub(rf"^{heading}\n.*?(?=^## |\Z)", "", document, flags=re.DOTALL | re.MULTILINE)
    body, notes, left_out = rest.partition("## Left out")
    return f"{body.rstrip()}\n\n{section.strip()}\n" + (f"\n{notes}{left_out}" if notes else "")
