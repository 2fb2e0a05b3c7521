"""What all tests share: a hypothesis profile without deadlines, and an echo server on real sockets."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from faultkit.base.address import Endpoint

# Without deadlines: a busy machine is no bug in the code under test.
settings.register_profile("usual", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile("thorough" if os.environ.get("ALL") else "usual")

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
    "suites/run/test_real_time.py",
    "test_docs.py",
)
"""They measure a load, or have short time limits: beside tests that compute they would be too late to tell
anything."""


def _measures(path: Path) -> bool:
    here = Path(__file__).parent
    return path.is_relative_to(here) and str(path.relative_to(here)) in MEASURING


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The files of one half are not even read for the other: to import them all takes half a minute."""
    half: str = config.getoption("markexpr")
    if collection_path.suffix != ".py" or not half.startswith(("measuring", "not measuring")):
        return None
    return True if _measures(collection_path) != half.startswith("measuring") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _measures(item.path):
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
