from __future__ import annotations

import socket
import threading

from faultkit.load.segment import call_once
from tests.load.servers import OK, answering, read_request, serving, target_of


def test_a_call_that_is_stopped_while_it_waits_has_no_sample() -> None:
    asked = threading.Event()

    def serve(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            asked.set()  # It never answers.

    with serving(serve) as server:
        assert call_once(target_of(server, timeout_s=600.0), asked.is_set) is None


def test_a_call_that_is_stopped_beforehand_asks_nothing() -> None:
    connections = []

    def serve(connection: socket.socket, number: int) -> None:
        connections.append(number)

    with serving(serve) as server:
        assert call_once(target_of(server), lambda: True) is None
    assert connections == []


def test_a_call_that_nobody_stops_has_its_sample() -> None:
    with serving(answering(OK)) as server:
        sample = call_once(target_of(server), lambda: False)
    assert sample is not None
    assert sample.status == 200
