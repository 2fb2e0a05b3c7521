"""What all tests share: hypothesis profiles, a browser, an echo server on real sockets, and PostgreSQL."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from faultkit.base.address import Endpoint
from tests.report.chromium import Page, browsing, chromium

if TYPE_CHECKING:
    from tests.postgres import Postgres

# The tests start thousands of processes: without byte code each would compile its imports again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell's background ignores SIGINT and SIGQUIT, `nohup` ignores SIGHUP, and the processes of tests would
# inherit that. SIGHUP gets a handler that does nothing instead of the default, so that a hangup does not end
# the tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda number, frame: None)

# Without deadlines: a busy machine is no bug in the code under test. Usual runs try the same examples each
# time, so that a run fails for what was changed; thorough runs look for new ones.
settings.register_profile("usual", deadline=None, max_examples=30, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile("thorough" if os.environ.get("ALL") else "usual")

_PATIENCE_S = 20.0

_IMPURE_EVENTS = ("socket.bind", "socket.connect", "subprocess.Popen", "os.fork", "os.posix_spawn")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--pure", action="store_true", help="refuse sockets and processes in tests")


def pytest_configure(config: pytest.Config) -> None:
    """Add an audit hook for `--pure`. It is added only on request, because it cannot be removed."""
    if not config.getoption("pure"):
        return

    def refuse(event: str, args: tuple[object, ...]) -> None:
        if event in _IMPURE_EVENTS and "PYTEST_CURRENT_TEST" in os.environ:
            raise RuntimeError(f"{event}: `make quick` runs pure tests only")

    sys.addaudithook(refuse)


_LONGEST = frozenset(
    {
        "test_advisor_real",
        "test_dask_place",
        "test_example_scenarios",
        "test_prove",
        "test_prove_seed_app",
        "test_real_model",
    }
)
"""Files that take half a minute and more."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, so that at the end no worker waits for another."""
    items.sort(key=lambda item: (item.path.stem not in _LONGEST, not {"e2e", "web"} & {*item.path.parts}))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave modules and tests out of garbage collection: it would visit them in vain, for many seconds."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


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


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A tab of a Chromium of this test file: a page that another file left open would still complain."""
    program = chromium()
    if program is None:
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    with browsing(program) as opened:
        yield opened


@pytest.fixture
def echo() -> Iterator[Endpoint]:
    """Where an echo server listens."""
    server = EchoServer()
    yield server.endpoint
    server.close()


@pytest.fixture
def closed_port() -> int:
    """A port on which no server listens just now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """A PostgreSQL server, which all tests of a process share."""
    from tests.postgres import running_postgres

    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres(postgres_server: Postgres) -> Postgres:
    """The server without the tables of other tests."""
    postgres_server.drop_tables()
    return postgres_server
