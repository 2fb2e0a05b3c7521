"""Servers of event streams on real sockets, which write down what they send and when."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.load.servers import Serve, read_request

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
)
END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(data: bytes) -> bytes:
    return chunk(b"data: " + data + b"\n\n")


@dataclass
class Sent:
    """What a server has sent."""

    requests: list[bytes] = field(default_factory=list)
    events: int = 0
    gaps_s: list[float] = field(default_factory=list)
    """From one event of a stream to the next, by the server's clock, both taken before sending."""
    ended: int = 0
    """Streams that the server ended in good order."""
    lock: threading.Lock = field(default_factory=threading.Lock)


Ending = Callable[[socket.socket, int, Sent], bool]
"""Ends a stream, given its number; returns whether the connection may be used again."""


def in_good_order(connection: socket.socket, number: int, sent: Sent) -> bool:
    connection.sendall(END)
    with sent.lock:
        sent.ended += 1
    return True


def streaming(sent: Sent, events: int, gap_s: float, ending: Ending = in_good_order) -> Serve:
    """Answer each request with a stream of events, `gap_s` apart at least."""

    def serve(connection: socket.socket, number: int) -> None:
        while request := read_request(connection):
            with sent.lock:
                stream = len(sent.requests)
                sent.requests.append(request)
            connection.sendall(HEAD + chunk(b": a comment is no event\n\n"))
            last = None
            for place in range(events):
                if place:
                    time.sleep(gap_s)
                now = time.monotonic()
                connection.sendall(event(b"%d" % place))
                with sent.lock:
                    sent.events += 1
                    if last is not None:
                        sent.gaps_s.append(now - last)
                last = now
            if not ending(connection, stream, sent):
                return

    return serve
