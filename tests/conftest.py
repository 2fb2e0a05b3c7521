"""What all tests share: a hypothesis profile without deadlines, and an echo server on real sockets."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from faultkit.proxy.address import Endpoint

# A busy machine is no bug in the code under test.
settings.register_profile("faultkit", deadline=None)
settings.load_profile("faultkit")

_PATIENCE_S = 5.0

MEASURING = (
    "advice/proof/test_prove.py",
    "e2e/test_example_scenarios.py",
    "e2e/test_scenario.py",
    "e2e/test_seed_000.py",
    "load/test_engine.py",
    "load/test_models.py",
    "load/test_workers.py",
    "mcp/faults/clients/test_client_behaviour.py",
    "scenario/test_run.py",
    "servers/test_impact_figures.py",
    "servers/test_impact_tools.py",
    "test_docs.py",
)
"""They measure a load, or have short time limits: beside tests that compute they would be too late to tell
anything."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and str(item.path.relative_to(here)) in MEASURING:
            item.add_marker("measuring")


class EchoServer:
    """Sends back what it is sent, on a free port of loopback. Each connection has a thread."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = Endpoint("127.0.0.1", self._listener.getsockname()[1])
        self._connections: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._start(self._accept)

    def close(self) -> None:
        # Shutting down wakes the thread that waits there; closing alone would not.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in tuple(self._threads):
            thread.join(_PATIENCE_S)

    def _start(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with self._lock:
                    self._connections.add(connection)
                self._start(self._echo, connection)

    def _echo(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while chunk := connection.recv(65536):
                connection.sendall(chunk)
        with self._lock:
            self._connections.discard(connection)


@pytest.fixture
def echo() -> Iterator[Endpoint]:
    """Where an echo server listens."""
    server = EchoServer()
    yield server.endpoint
    server.close()


@pytest.fixture
def closed_port() -> int:
    """A port on which nobody listens just now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
