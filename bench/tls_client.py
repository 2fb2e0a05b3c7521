"""`python -m bench.tls_client`: HTTP requests over TLS, through a CONNECT tunnel or HTTP/2 if asked.

wrk and h2load know no CONNECT, and neither says what the earliest answer was. Each connection has a thread
and waits for an answer before it sends the next request. Kept connections have had one answer when the line
`ready` is printed; the client then waits for a line on its input, so that the cost of handshakes can be left
out. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bench.stats import percentile

_PATIENCE_S = 10.0
_REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\nUser-Agent: bench\r\n\r\n"


@dataclass
class Tally:
    """What one thread has seen."""

    took_s: list[float] = field(default_factory=list)
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    port: int
    tunnel: str | None
    """The target of CONNECT, if the port is a forward proxy's."""
    http_2: bool
    afresh: bool
    """Whether each request has a connection of its own."""
    context: ssl.SSLContext


Ask = Callable[[], None]


def _connect(job: Job) -> ssl.SSLSocket:
    raw = socket.create_connection(("127.0.0.1", job.port), timeout=_PATIENCE_S)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if job.tunnel is not None:
        raw.sendall(f"CONNECT {job.tunnel} HTTP/1.1\r\nHost: {job.tunnel}\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += _received(raw)
        if b" 200 " not in answer[:16]:
            raise OSError(f"CONNECT was answered by {answer[:40]!r}")
    return job.context.wrap_socket(raw, server_hostname="127.0.0.1")


def _received(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise OSError("the connection was ended")
    return data


def _http_1(connection: ssl.SSLSocket) -> Ask:
    def ask() -> None:
        connection.sendall(_REQUEST)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += _received(connection)
        head, _, body = answer.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        while len(body) < length:
            body += _received(connection)

    return ask


def _http_2(connection: ssl.SSLSocket) -> Ask:
    from h2.connection import H2Connection
    from h2.events import DataReceived, StreamEnded, StreamReset

    state = H2Connection()
    state.initiate_connection()
    connection.sendall(state.data_to_send())

    def ask() -> None:
        stream = state.get_next_available_stream_id()
        fields = [(":method", "GET"), (":path", "/"), (":scheme", "https"), (":authority", "127.0.0.1")]
        state.send_headers(stream, fields, end_stream=True)
        connection.sendall(state.data_to_send())
        while True:
            for event in state.receive_data(_received(connection)):
                if isinstance(event, DataReceived):
                    state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, StreamEnded):
                    return
                elif isinstance(event, StreamReset):
                    raise OSError("the stream was reset")
            if out := state.data_to_send():
                connection.sendall(out)

    return ask


@dataclass
class Stretch:
    """The time of a measurement, which begins when all threads are ready."""

    ready: threading.Barrier
    begin: threading.Event = field(default_factory=threading.Event)
    until_s: float = 0.0


def _send(job: Job, stretch: Stretch, tally: Tally) -> None:
    connection: ssl.SSLSocket | None = None
    ask: Ask | None = None
    try:
        if not job.afresh:
            connection = _connect(job)
            ask = (_http_2 if job.http_2 else _http_1)(connection)
            ask()
    except OSError:
        tally.failed += 1
        connection = ask = None
    stretch.ready.wait()
    stretch.begin.wait()
    while time.monotonic() < stretch.until_s:
        try:
            began_s = time.monotonic()
            if connection is None or ask is None:
                connection = _connect(job)
                ask = (_http_2 if job.http_2 else _http_1)(connection)
            ask()
            tally.took_s.append(time.monotonic() - began_s)
            if not job.afresh:
                continue
            with suppress(OSError):
                connection.unwrap()
        except OSError:
            tally.failed += 1
        if connection is not None:
            connection.close()
        connection = ask = None
    if connection is not None:
        connection.close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.tls_client", description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("authority", help="PEM file of a trusted authority; the empty string: none is needed")
    parser.add_argument("seconds", type=float)
    parser.add_argument("connections", type=int)
    parser.add_argument("--tunnel", metavar="HOST:PORT", help="send CONNECT for this target first")
    parser.add_argument("--http-2", action="store_true")
    parser.add_argument("--afresh", action="store_true", help="a new connection for each request")
    options = parser.parse_args(arguments)
    context = ssl.create_default_context()
    if options.authority:
        context.load_verify_locations(options.authority)
    else:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if options.http_2:
        context.set_alpn_protocols(["h2"])
    job = Job(options.port, options.tunnel, options.http_2, options.afresh, context)
    tallies = [Tally() for _ in range(options.connections)]
    stretch = Stretch(threading.Barrier(len(tallies) + 1))
    threads = [threading.Thread(target=_send, args=(job, stretch, tally)) for tally in tallies]
    for thread in threads:
        thread.start()
    stretch.ready.wait()
    print("ready", flush=True)
    sys.stdin.readline()
    began_s = time.monotonic()
    stretch.until_s = began_s + options.seconds
    stretch.begin.set()
    for thread in threads:
        thread.join()
    elapsed_s = time.monotonic() - began_s
    took_us = [s * 1e6 for tally in tallies for s in tally.took_s]
    print(
        json.dumps(
            {
                "requests": len(took_us),
                "errors": sum(tally.failed for tally in tallies),
                "elapsed_us": elapsed_s * 1e6,
                "least_us": min(took_us, default=0.0),
                "p50_us": percentile(took_us, 50) if took_us else 0.0,
                "p99_us": percentile(took_us, 99) if took_us else 0.0,
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
