"""A process under fuzzing: its memory and descriptors, its stderr, and whether it still runs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]
LIMIT_S = 60.0
"""Seconds for the answer to a legal message: what takes longer hangs, also on a very busy machine."""
_URL = re.compile(r"http://127\.0\.0\.1:(\d+)/mcp")
MANIFEST = {
    "tools": [
        {
            "name": "echo",
            "input_schema": {"type": "object"},
            "response": {"content": [{"type": "text", "text": "Ahoy"}]},
        },
        {"name": "greet", "input_schema": {"type": "object"}, "response": "Ahoy {{ args.text }}"},
    ],
    "resources": [{"uri": "fuzz://one", "name": "one", "text": "1"}],
    "prompts": [{"name": "hail", "arguments": [{"name": "name"}], "text": "Hail {{ args.name }}"}],
}
FAULT = (sys.executable, "-m", "faultkit")


class Broken(AssertionError):
    """Raised if the process crashes, hangs or leaks."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process and its children hold."""

    rss_bytes: int
    descriptors: int
    sockets: int = 0
    """Those of the descriptors that are sockets."""
    threads: int = 0
    children: int = 0


@dataclass(slots=True)
class Figures:
    """The figures of one process."""

    name: str
    messages: int = 0
    legal: int = 0
    seconds: float = 0.0
    before: Usage = Usage(0, 0)
    """Taken after a fifth of the messages: things that are created once exist by then."""
    after: Usage = Usage(0, 0)
    notes: list[str] = field(default_factory=list)

    @property
    def grown_mb(self) -> float:
        return (self.after.rss_bytes - self.before.rss_bytes) / 1e6

    def line(self) -> str:
        return (
            f"{self.name:<44} {self.messages:>7,} mutated  {self.legal:>6,} legal, all answered  "
            f"{self.seconds:>5.1f} s  RSS {self.before.rss_bytes / 1e6:>5.1f} to "
            f"{self.after.rss_bytes / 1e6:>5.1f} MB  descriptors {self.before.descriptors} to "
            f"{self.after.descriptors}"
        )


class Subject:
    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log

    def port(self, pattern: re.Pattern[str] = _URL) -> int:
        """Return the port that it prints, the first group of the pattern."""
        end_s = time.monotonic() + LIMIT_S
        while not (found := pattern.search(self._log.read_text(errors="replace"))):
            self.check()
            if time.monotonic() > end_s:
                raise Broken("it named no port")
            time.sleep(0.02)
        return int(found[1])

    def usage(self) -> Usage:
        children = _children(self.process.pid)
        pids = [self.process.pid, *children]
        descriptors = [kind for pid in pids for kind in _descriptors(pid)]
        return Usage(
            rss_bytes=sum(map(_rss, pids)),
            descriptors=len(descriptors),
            sockets=sum(kind.startswith("socket:") for kind in descriptors),
            threads=sum(map(_threads, pids)),
            children=len(children),
        )

    def children(self) -> list[int]:
        """Return its child processes, and theirs."""
        return _children(self.process.pid)

    def settled(self, descriptors: int) -> Usage:
        """Wait until it has closed the connections that its clients closed, or closes no more."""
        same = 0
        usage = self.usage()
        while usage.descriptors > descriptors and same < 8:
            time.sleep(0.05)
            last, usage = usage, self.usage()
            same = same + 1 if last.descriptors == usage.descriptors else 0
        return usage

    def check(self) -> None:
        """Check that it runs, and that stderr has no traceback."""
        said = self._log.read_text(errors="replace")
        if self.process.poll() is not None:
            raise Broken(f"it ended with {self.process.returncode}: {said[-2000:]}")
        if "Traceback" in said or "never retrieved" in said or "Exception in" in said:
            raise Broken(f"it said: {said[:3000]}")


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        own = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return own + [inner for each in own for inner in _children(each)]
    return []


def _descriptors(pid: int) -> list[str]:
    """Return what each descriptor is; none of a child that has ended by now."""
    found = []
    with suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                found.append(os.readlink(entry.path))
    return found


def _threads(pid: int) -> int:
    with suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/task"))
    return 0


def _rss(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


@contextmanager
def running(command: Sequence[str], *, piped: bool, **env: str) -> Iterator[Subject]:
    """Start the process, with more variables in its environment. Over stdio its stderr is read, over HTTP its
    stdout as well."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as said:
            pipe = subprocess.PIPE if piped else None
            process = subprocess.Popen(
                command,
                stdin=pipe or subprocess.DEVNULL,
                stdout=pipe or said,
                stderr=said,
                cwd=ROOT,
                env={**os.environ, **env},
                start_new_session=True,
                bufsize=0,
            )
        try:
            yield Subject(process, log)
        finally:
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
            with suppress(subprocess.TimeoutExpired):
                process.send_signal(signal.SIGTERM)
                process.wait(20)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)


@contextmanager
def manifest() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder) / "tools.json"
        path.write_text(json.dumps(MANIFEST))
        yield str(path)
