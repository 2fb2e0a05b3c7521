"""Starts the servers that are measured: our commands, and the SDK's low-level server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.load import LoadError
from bench.machine import PROJECT
from bench.mcp_client import TEXT, TOOL, StdioClient
from bench.processes import START_LIMIT_S, StartError, end_group, last_line, running

MOCK, SDK = "faultkit", "mcp SDK"
SERVE, SERVE_ALONE = "faultkit serve, audit on", "faultkit serve, audit off"
_URL = re.compile(rb"http://127\.0\.0\.1:(\d+)/mcp")


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands that start the servers."""

    fault: str
    manifest: Path

    def stdio(self, name: str) -> list[str]:
        if name == MOCK:
            return [self.fault, "mock", "--tools-from", str(self.manifest)]
        return [sys.executable, "-m", "bench.bare_server"]

    def http(self, name: str) -> list[str]:
        if name == MOCK:
            return [*self.stdio(MOCK), "--front", "http", "--port", "0"]
        if name in (SERVE, SERVE_ALONE):
            kept = ["--store", str(self.log)] if name == SERVE else ["--no-audit"]
            return [self.fault, "serve", "--transport", "http", "--port", "0", *kept]
        return [*self.stdio(SDK), "--http", "0"]

    @property
    def log(self) -> Path:
        """The audit log of the failure tools."""
        return self.manifest.with_name("audit.db")

    def gateway_stdio(self, name: str) -> list[str]:
        return [self.fault, "gateway", "--", *self.stdio(name)]

    def gateway_http(self, port: int) -> list[str]:
        url = f"http://127.0.0.1:{port}/mcp"
        return [self.fault, "gateway", "--upstream", url, "--front", "http", "--port", "0"]


def commands_in(folder: Path, fault: str) -> Commands:
    manifest = folder / "tools.json"
    answer = {"content": [{"type": "text", "text": TEXT}]}
    tool = {
        "name": TOOL,
        "description": "Says hello.",
        "input_schema": {"type": "object"},
        "response": answer,
    }
    manifest.write_text(json.dumps({"tools": [tool]}))
    return Commands(fault, manifest)


@contextmanager
def stdio_server(command: Sequence[str], log: Path) -> Iterator[tuple[int, StdioClient]]:
    """Start a server over stdio; yield its process id and its client."""
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            cwd=PROJECT,
            bufsize=0,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            try:
                client = StdioClient(process.stdin.fileno(), process.stdout.fileno())
            except (LoadError, OSError) as error:
                process.wait(START_LIMIT_S)
                raise StartError(f"{_shown(command)} did not start: {last_line(log)}") from error
            yield process.pid, client
        finally:
            process.stdin.close()
            end_group(process)
            process.stdout.close()


@contextmanager
def http_server(command: Sequence[str], log: Path) -> Iterator[tuple[int, int]]:
    """Start a server over HTTP; yield its process id and the port that it prints."""
    with running(command, log) as process:
        end_s = time.monotonic() + START_LIMIT_S
        while not (found := _URL.search(log.read_bytes())):
            if process.poll() is not None or time.monotonic() > end_s:
                raise StartError(f"{_shown(command)} did not start: {last_line(log)}")
            time.sleep(0.02)
        yield process.pid, int(found[1])


def _shown(command: Sequence[str]) -> str:
    return f"{Path(command[0]).name} {command[1]}"
