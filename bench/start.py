"""`python -m bench.start`: how long commands take until they are ready, and their memory when idle."""

from __future__ import annotations

import argparse
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bench import machine, mcp
from bench.mcp_cells import Metrics, Target
from bench.mcp_servers import stdio_server
from bench.options import measure, progress
from bench.processes import (
    StartError,
    cpu_ns,
    end_on_sigterm,
    free_ports,
    memory_bytes,
    resident_bytes,
    running,
    wait_for_ports,
    with_children,
)
from bench.relays import find_fault
from bench.tables import Table, aligned_table, figure, markdown

ROUNDS = 3
_STARTS, _QUICK_STARTS = 5, 1
"""How often each command is started in a round."""
_IDLE_S = 0.5
_MB = 1e6
_TOOLS = machine.PROJECT / "examples" / "tools.yml"

BARE, HELP, RUN, MOCK = "python -c pass", "fault --help", "fault run", "fault mock"
READY, MEMORY = "ready", "memory"
"""The two tables of figures."""
HEADING = "## Start-up and memory"
METHOD = f"""\
Each command is started anew, {_STARTS} times a round, in turns with the others and with a bare interpreter;
byte code is there. `fault --help` counts to its end; `fault run`, with a TCP map and its HTTP forward proxy,
until both ports accept a connection; `fault mock` over stdio, with the tools of `examples/tools.yml`, until
`initialize` is answered. CPU time is beside it, because a busy machine does not change it much. Memory is
that of the same processes, idle for {_IDLE_S:g} s: the resident set (RSS) counts pages that other programs
share in full, the proportional set (PSS) in part. Limits are for the RSS.
"""
TARGETS: tuple[Target, ...] = (
    Target("`fault --help`, × a bare interpreter", READY, HELP, "seconds", BARE, 6, False),
    Target("`fault run` accepts a connection, s", READY, RUN, "seconds", None, 0.35, False),
    Target("`fault mock` answers `initialize`, s", READY, MOCK, "seconds", None, 0.3, False),
    Target("`fault run` idle, MB", MEMORY, RUN, "rss_mb", None, 40, False),
    Target("`fault mock` idle, MB", MEMORY, MOCK, "rss_mb", None, 40, False),
)


@dataclass
class Result(mcp.Result):
    targets: ClassVar[tuple[Target, ...]] = TARGETS


@dataclass(frozen=True, slots=True)
class Programs:
    """The command that is measured, the interpreter beside it, and a folder for logs."""

    fault: str
    python: str
    folder: Path


def _once(command: Sequence[str]) -> Metrics:
    before_s, began_s = _children_cpu_s(), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return {"seconds": time.perf_counter() - began_s, "cpu_s": _children_cpu_s() - before_s}


def _children_cpu_s() -> float:
    """Return the CPU time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _idle(began_s: float, pid: int) -> Metrics:
    """Return the time until now, and the memory a moment later."""
    seconds, cpu_s = time.perf_counter() - began_s, cpu_ns([pid]) / 1e9
    time.sleep(_IDLE_S)
    pids = with_children([pid])
    return {
        "seconds": seconds,
        "cpu_s": cpu_s,
        "rss_mb": resident_bytes(pids) / _MB,
        "pss_mb": memory_bytes(pids) / _MB,
    }


def _bare(programs: Programs) -> Metrics:
    return _once([programs.python, "-c", "pass"])


def _help(programs: Programs) -> Metrics:
    return _once([programs.fault, "--help"])


def _run(programs: Programs) -> Metrics:
    log = programs.folder / "run.log"
    ports = free_ports(2)
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        proxy = f"{ports[0]}=127.0.0.1:{upstream.getsockname()[1]}"
        command = [programs.fault, "run", "--proxy", proxy, "--proxy-address", f"127.0.0.1:{ports[1]}"]
        began_s = time.perf_counter()
        with running(command, log) as process:
            wait_for_ports(ports, process, RUN, log)
            return _idle(began_s, process.pid)


def _mock(programs: Programs) -> Metrics:
    began_s = time.perf_counter()
    command = [programs.fault, "mock", "--tools-from", str(_TOOLS)]
    with stdio_server(command, programs.folder / "mock.log") as (pid, _):
        return _idle(began_s, pid)


SUBJECTS: dict[str, Callable[[Programs], Metrics]] = {BARE: _bare, HELP: _help, RUN: _run, MOCK: _mock}


def run(options: argparse.Namespace) -> Result:
    fault = options.fault or find_fault()
    if fault is None:
        raise StartError("fault is not installed in this environment")
    # Without byte code each start would compile all that it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    beside = Path(fault).with_name("python")
    result = Result(machine.describe(), options.rounds)
    with tempfile.TemporaryDirectory(prefix="start-bench-") as name, end_on_sigterm():
        programs = Programs(fault, str(beside) if beside.exists() else sys.executable, Path(name))
        for measure in SUBJECTS.values():
            measure(programs)  # Writes the byte code.
        before = machine.cpu_times()
        samples = _measure_all(programs, options)
        result.steal_percent = machine.steal_percent(before, machine.cpu_times())
    result.figures = mcp.medians({READY: samples})
    result.figures[MEMORY] = {name: result.figures[READY][name] for name in (RUN, MOCK)}
    progress("")
    return result


def _measure_all(programs: Programs, options: argparse.Namespace) -> dict[str, list[Metrics]]:
    """Start the commands in turns, so that a noisy moment affects all; each turn begins with another one."""
    samples: dict[str, list[Metrics]] = {name: [] for name in SUBJECTS}
    names = list(SUBJECTS)
    for number in range(options.rounds * (_QUICK_STARTS if options.quick else _STARTS)):
        shift = number % len(names)
        for name in [*names[shift:], *names[:shift]]:
            progress(f"start {number + 1}: {name}")
            samples[name].append(SUBJECTS[name](programs))
    return samples


# Output


def ready_table(result: Result) -> Table:
    ready = result.figures[READY]
    rows = [
        [
            name,
            *(f"{metrics[metric]:.3f}" for metric in ("seconds", "cpu_s")),
            figure(metrics["seconds"] / ready[BARE]["seconds"]),
        ]
        for name, metrics in ready.items()
    ]
    return ["Until it is ready", "s", "CPU s", "× bare"], rows


def memory_table(result: Result) -> Table:
    rows = [
        [name, figure(metrics["rss_mb"]), figure(metrics["pss_mb"])]
        for name, metrics in result.figures[MEMORY].items()
    ]
    return ["Idle memory", "RSS MB", "PSS MB"], rows


def tables(result: Result) -> list[Table]:
    return [mcp.verdict_table(result), ready_table(result), memory_table(result)]


def section(result: Result) -> str:
    """Return this benchmark's section of the document."""
    parts = [HEADING, f"{METHOD}Medians of {result.rounds} rounds.", *(markdown(*t) for t in tables(result))]
    return "\n\n".join(part.strip() for part in parts)


def print_result(result: Result) -> None:
    print(f"{result.machine.sentence()}; medians of {result.rounds} rounds", end="; ")
    print(f"steal {result.steal_percent:.1f} %", end="\n\n")
    print("\n\n".join(aligned_table(*table) for table in tables(result)))


def main(arguments: Sequence[str] | None = None) -> int:
    command = argparse.ArgumentParser(prog="python -m bench.start", description=__doc__)
    command.add_argument("--quick", action="store_true", help="fewer starts: a first impression")
    command.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    command.add_argument("--json", type=Path, metavar="FILE", help="also write all figures here")
    command.add_argument("--fault", metavar="PATH", help="the fault command (default: of this environment)")
    command.add_argument("--document", action="store_true", help="also renew this section of the document")
    options = command.parse_args(arguments)
    problems = (StartError, OSError, subprocess.CalledProcessError)
    return measure(options, run, print_result, Result.missed, section=section, problems=problems)


if __name__ == "__main__":
    sys.exit(main())
