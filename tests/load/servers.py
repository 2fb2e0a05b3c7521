"""Servers on real sockets, scripted by the test, and loads that run in the test's thread."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from faultkit.base.address import Endpoint
from faultkit.load.engine import Engine
from faultkit.load.fold import Counts, SegmentEnd
from faultkit.load.load import Load, Target
from faultkit.load.route import route_of
from faultkit.load.samples import Sample, Samples
from faultkit.load.segment import run_segment
from faultkit.proxy.event_loop import Loop

PATIENCE_S = 20.0
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Serve = Callable[[socket.socket, int], None]
"""Called with each connection and its number, from 0 on."""


@contextmanager
def serving(serve: Serve) -> Iterator[Endpoint]:
    """Serve each connection in a thread; at the end, close all of them."""
    connections: list[socket.socket] = []
    threads: list[threading.Thread] = []
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)

    def handle(connection: socket.socket, number: int) -> None:
        with connection, contextlib.suppress(OSError):
            serve(connection, number)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.settimeout(PATIENCE_S)
                thread = threading.Thread(target=handle, args=(connection, len(connections)), daemon=True)
                connections.append(connection)
                threads.append(thread)
                thread.start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield Endpoint("127.0.0.1", listener.getsockname()[1])
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in (accepting, *threads):
            thread.join(PATIENCE_S)


def answering(*answers: bytes) -> Serve:
    """Answer each request on a connection with the next of these; the last one repeats."""

    def serve(connection: socket.socket, number: int) -> None:
        for each in answers[:-1]:
            if not read_request(connection):
                return
            connection.sendall(each)
        while read_request(connection):
            connection.sendall(answers[-1])

    return serve


def read_request(connection: socket.socket) -> bytes:
    """Return one complete request, or no bytes if the client has disconnected."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return b""
        data += piece
    end = data.index(b"\r\n\r\n") + 4
    length = re.search(rb"(?i)content-length: (\d+)", data[:end])
    total = end + (int(length[1]) if length else 0)
    while len(data) < total:
        piece = connection.recv(65536)
        if not piece:
            return b""
        data += piece
    return data


def reset(connection: socket.socket) -> None:
    """Close the socket by RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def url_of(endpoint: Endpoint, path: str = "/") -> str:
    return f"http://{endpoint}{path}"


def target_of(endpoint: Endpoint, method: str = "GET", body: bytes = b"", timeout_s: float = 5.0) -> Target:
    return Target(method, url_of(endpoint), body=body, timeout_s=timeout_s)


class Run:
    """The result of a load in this thread."""

    def __init__(
        self, target: Target, load: Load, stopped: Callable[[], bool] = lambda: False, **part: int
    ) -> None:
        self.samples = Samples()
        self.counts = Counts(0, 0, 0, 0)
        self.begin_at = time.monotonic()
        route = route_of(target, load.keep_alive)
        self.end: SegmentEnd = run_segment(
            route, load, self.begin_at, report=self._take, stopped=stopped, **part
        )

    def _take(self, counts: Counts, samples: Samples) -> None:
        self.counts = counts
        self.samples.extend(samples)

    def rows(self) -> list[Sample]:
        """The samples in the order of their intended starts."""
        return sorted(self.samples)


def in_turn(
    target: Target, count: int, keep_alive: bool = True, between: Callable[[], object] = lambda: None
) -> list[Sample]:
    """Send requests one after the other. The loop does not run during `between`."""
    asker = _InTurn(target, keep_alive)
    try:
        samples = [asker.ask()]
        for _ in range(count - 1):
            between()
            samples.append(asker.ask())
        return samples
    finally:
        asker.engine.close()
        asker.loop.close()


def twice(target: Target, first_is_over: threading.Event, go_on: threading.Event) -> list[Sample]:
    """Send two requests. The loop runs in between, so it sees events of the idle connection."""

    class Asker:
        asked = 0

        def over(self, now: float) -> None:
            self.asked += 1
            first_is_over.set()
            if self.asked == 2:
                loop.stop()
            else:
                self.look(now)

        def look(self, at: float) -> None:
            if go_on.is_set():  # The loop handles pending events before timers.
                loop.call_at(loop.clock() + 0.001, lambda at: engine.ask(self, None), None)
            else:
                loop.call_at(loop.clock() + 0.001, self.look, None)

    loop = Loop()
    engine = Engine(route_of(target), loop, loop.clock())
    try:
        engine.ask(Asker(), None)
        engine.run()
        return list(engine.take_samples())
    finally:
        engine.close()
        loop.close()


class _InTurn:
    def __init__(self, target: Target, keep_alive: bool) -> None:
        self.loop = Loop()
        self.engine = Engine(route_of(target, keep_alive), self.loop, self.loop.clock())

    def ask(self) -> Sample:
        self.engine.ask(self, None)
        self.engine.run()
        (sample,) = self.engine.take_samples()
        return sample

    def over(self, now: float) -> None:
        self.loop.stop()
