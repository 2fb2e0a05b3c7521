"""Servers with few descriptors: more connections than these wait, and the log stays short."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

DESCRIPTORS = 64
CONNECTIONS = 100
FAULT = (sys.executable, "-m", "faultkit")
LIMITED = ("sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh")
TOKEN = "secret"

MANIFEST = "mock_server:\n  name: few\n  tools:\n    - {name: status, response: all is well}\n"
SERVERS = {
    "serve": ("serve", "--transport", "http", "--no-audit", "--port", "{port}"),
    "mock": ("mock", "--tools-from", "{folder}/mock.yaml", "--front", "http", "--port", "{port}"),
    "toxiproxy": ("toxiproxy", "--port", "{port}"),
    "control": (
        "run",
        "--no-ui",
        "--no-check",
        "--disable-http-proxy",
        "--proxy",
        "0=127.0.0.1:9",
        "--control",
        "127.0.0.1:{port}",
    ),
}


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def status_of(port: int) -> int:
    """Return the status of a request, whatever it is: the server answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/", headers={"Authorization": f"Bearer {TOKEN}"})
        return connection.getresponse().status
    finally:
        connection.close()


@contextmanager
def serving(name: str, folder: Path, port: int) -> Iterator[Path]:
    """Start a server with few descriptors; yields its log once it answers."""
    log = folder / "log"
    (folder / "mock.yaml").write_text(MANIFEST, "utf-8")
    arguments = [each.format(port=port, folder=folder) for each in SERVERS[name]]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*LIMITED, *FAULT, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "FAULT_CONTROL_TOKEN": TOKEN, "HOME": str(folder)},
        )
    try:
        while True:
            assert process.poll() is None, log.read_text("utf-8")
            try:
                status_of(port)
                break
            except OSError:
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(0.2)
        yield log
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_without_descriptors_is_quiet_and_answers_again(name: str, tmp_path: Path) -> None:
    port = free_port()
    with serving(name, tmp_path, port) as log:
        before = len(log.read_bytes())
        with ExitStack() as stack:
            for _ in range(CONNECTIONS):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), 60))
            with socket.create_connection(("127.0.0.1", port), 60) as late:
                late.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                late.settimeout(1.5)
                with pytest.raises(TimeoutError):
                    late.recv(1)
        assert 100 <= status_of(port) < 600
        assert len(log.read_bytes()) - before < 1000
