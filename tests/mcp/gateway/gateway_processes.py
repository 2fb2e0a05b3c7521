"""Gateways as processes in front of the feature server, for all four pairs of transports."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).parent.parent.parent.parent
FAULT = [sys.executable, "-m", "faultkit"]
FEATURES = [sys.executable, "-m", "tests.mcp.feature_server"]
WAYS = ("stdio-stdio", "stdio-http", "http-http", "http-stdio")
"""Transports of the client and of the server."""


@contextmanager
def listening(command: list[str], stream: str, pid: list[int] | None = None) -> Iterator[str]:
    """Start a command and yield the URL that it prints on stdout or stderr. `pid` gets its process id."""
    pipes = {stream: subprocess.PIPE}
    process = subprocess.Popen(command, cwd=PROJECT, text=True, stdin=subprocess.DEVNULL, **pipes)  # type: ignore[call-overload]
    if pid is not None:
        pid.append(process.pid)
    try:
        line = getattr(process, stream).readline()
        url = re.search(r"http://[^\s,]+", line)
        assert url is not None, line
        yield url[0]
    finally:
        process.terminate()
        process.wait(30)
        getattr(process, stream).close()


class GatewayTargets:
    """The target of a client for each pair of transports: a URL, or a command."""

    def __init__(self, server: str, relay: str, bridge: str) -> None:
        self.server = server
        self._urls = {"http-http": relay, "http-stdio": bridge}
        self._commands = {
            "stdio-stdio": [*FAULT, "gateway", "--", *FEATURES],
            "stdio-http": [*FAULT, "gateway", "--upstream", server, "--front", "stdio"],
        }

    def of(self, way: str) -> str | list[str]:
        return self._urls[way] if way in self._urls else self._commands[way]


@contextmanager
def all_places() -> Iterator[GatewayTargets]:
    gateway = [*FAULT, "gateway", "--front", "http", "--port", "0", "--no-token"]
    with (
        listening([*FEATURES, "--http", "0"], "stdout") as server,
        listening([*gateway, "--upstream", server], "stderr") as relay,
        listening([*gateway, "--", *FEATURES], "stderr") as bridge,
    ):
        yield GatewayTargets(server, relay, bridge)
