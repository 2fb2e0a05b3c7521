"""Event streams under load, against servers that count and time what they send."""

from __future__ import annotations

import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.framing import SseReader
from faultkit.load.event_stream import EventReader
from faultkit.load.item_figures import FigureRecorder
from faultkit.load.load import Load, StreamUntil, Target
from faultkit.load.response import Failure
from faultkit.load.segment import call_once
from faultkit.load.tally import Tally
from faultkit.proxy.event_loop import Loop
from tests.load.servers import OK, Run, answering, read_request, reset, serving, url_of
from tests.load.stream_servers import HEAD, Sent, chunk, event, in_good_order, streaming

READ_S = 1e-3
"""An event is timed when it was parsed, the end of its stream when the same bytes were read, just before."""


def stream_at(url: str, timeout_s: float = 20.0, **until: object) -> Target:
    return Target("GET", url, timeout_s=timeout_s, stream=StreamUntil(**until))  # type: ignore[arg-type]


def tally_of(run: Run) -> Tally:
    tally = Tally(dropped=run.counts.dropped)
    tally.add(run.samples)
    return tally


@pytest.mark.parametrize("keep_alive", [True, False])
def test_events_and_gaps_are_those_that_the_server_sent(keep_alive: bool) -> None:
    sent = Sent()
    with serving(streaming(sent, events=4, gap_s=0.02)) as server:
        run = Run(stream_at(url_of(server)), Load(0.3, 30.0, keep_alive=keep_alive))
    summary = tally_of(run).summary(None, total_s=run.end.total_s)
    assert summary.stream is not None
    assert summary.mcp is None
    assert (summary.requests, summary.errors) == (9, 0)
    assert summary.stream.streams == len(sent.requests) == 9
    assert summary.stream.events == sent.events == 36
    assert summary.stream.gaps.count == len(sent.gaps_s) == 27
    assert summary.stream.early_ends == 0
    assert summary.stream.first_event.count == 9
    assert summary.stream.events_per_s == pytest.approx(36 / run.end.total_s)
    # A late delivery moves time from one gap to another, but the last event of a stream cannot come before
    # the server sent it: the first event and the gaps together take as long as the server waited, at least.
    waited_s = (summary.stream.first_event.mean_ms * 9 + summary.stream.gaps.mean_ms * 27) / 1000
    assert sum(sent.gaps_s) < waited_s <= sum(run.samples.response_times()) + 36 * READ_S
    assert b"Accept: text/event-stream\r\n" in sent.requests[0]


def test_a_gap_is_measured_between_events_and_not_from_the_request() -> None:
    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(HEAD)
        time.sleep(0.2)
        connection.sendall(event(b"a"))
        time.sleep(0.05)
        connection.sendall(event(b"b") + event(b"c") + b"0\r\n\r\n")

    with serving(serve) as server:
        run = Run(stream_at(url_of(server)), Load(0.01, None, 1, "closed"))
    stream = tally_of(run).summary(None, total_s=1.0).stream
    assert stream is not None
    assert stream.gaps.count == 2
    assert stream.gaps.min_ms == 0.0  # The last two came in one piece.
    assert stream.first_event.min_ms >= 200
    assert stream.first_event.min_ms + stream.gaps.max_ms >= 250
    assert run.rows()[0].first_byte_s < run.rows()[0].total_s


def test_a_stream_is_complete_after_so_many_events() -> None:
    sent = Sent()
    with serving(streaming(sent, events=50, gap_s=0.005)) as server:
        run = Run(stream_at(url_of(server), events=3), Load(0.05, None, 1, "closed"))
    stream = tally_of(run).summary(None, total_s=1.0).stream
    assert stream is not None
    assert stream.events == 3 * len(run.samples)
    assert [row.failure for row in run.rows()] == [Failure.NONE] * len(sent.requests)


def test_a_stream_is_complete_with_an_event_of_this_data() -> None:
    sent = Sent()
    with serving(streaming(sent, events=5, gap_s=0.0)) as server:
        run = Run(stream_at(url_of(server), data="2"), Load(0.01, None, 1, "closed"))
    stream = tally_of(run).summary(None, total_s=1.0).stream
    assert stream is not None
    assert stream.events == 3 * len(run.samples)
    assert {row.failure for row in run.rows()} == {Failure.NONE}


def test_a_stream_is_complete_after_a_time() -> None:
    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(HEAD + event(b"a"))
        connection.recv(1)  # Until the client ends it.

    with serving(serve) as server:
        sample = call_once(stream_at(url_of(server), time_s=0.1))
    assert (sample.failure, sample.status) == (Failure.NONE, 200)
    assert sample.total_s >= 0.1


def test_a_stream_that_never_begins_is_no_success_after_its_time() -> None:
    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.recv(1)

    with serving(serve) as server:
        sample = call_once(stream_at(url_of(server), time_s=0.05))
    assert (sample.failure, sample.status) == (Failure.TIMEOUT, 0)


def cut_by_turns(connection: socket.socket, number: int, sent: Sent) -> bool:
    """End the first stream in good order, close the second, reset the third, and so on."""
    if number % 3 == 0:
        return in_good_order(connection, number, sent)
    if number % 3 == 2:
        time.sleep(0.05)  # A reset destroys what the client has not read.
        reset(connection)
    return False


def test_early_ends_are_counted_whatever_ends_the_stream() -> None:
    sent = Sent()
    with serving(streaming(sent, events=2, gap_s=0.0, ending=cut_by_turns)) as server:
        run = Run(stream_at(url_of(server), events=5), Load(0.3, 30.0, keep_alive=False))
    summary = tally_of(run).summary(None, total_s=1.0)
    assert summary.stream is not None
    assert summary.failures == {"reset": 3, "closed": 3, "early_end": 3}
    assert summary.stream.early_ends == summary.stream.streams == summary.errors == 9
    assert summary.stream.events == sent.events == 18


def test_without_a_condition_the_end_of_the_server_is_no_error_but_a_cut_is() -> None:
    sent = Sent()
    with serving(streaming(sent, events=2, gap_s=0.0, ending=cut_by_turns)) as server:
        run = Run(stream_at(url_of(server)), Load(0.3, 30.0, keep_alive=False))
    summary = tally_of(run).summary(None, total_s=1.0)
    assert summary.stream is not None
    assert summary.failures == {"reset": 3, "closed": 3}
    assert (summary.stream.early_ends, sent.ended) == (6, 3)


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (OK, Failure.NO_STREAM),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", Failure.CLIENT_STATUS),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", Failure.STATUS),
        (HEAD.replace(b"200 OK", b"500 Oh") + event(b"x") + b"0\r\n\r\n", Failure.STATUS),
        (b"nonsense\r\n\r\n", Failure.PROTOCOL),
    ],
)
def test_an_answer_that_is_no_stream_is_an_error_and_no_early_end(answer: bytes, failure: Failure) -> None:
    with serving(answering(answer)) as server:
        run = Run(stream_at(url_of(server), events=1), Load(0.01, None, 1, "closed", keep_alive=False))
    stream = tally_of(run).summary(None, total_s=1.0).stream
    assert stream is not None
    assert {row.failure for row in run.rows()} == {failure}
    assert (stream.streams, stream.events, stream.early_ends, stream.first_event.count) == (0, 0, 0, 0)


def test_an_event_in_many_pieces_is_one_event() -> None:
    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(HEAD)
        for each in (b"da", b"ta: on", b"e\r", b"\n\r", b"\n"):
            connection.sendall(chunk(each))
            time.sleep(0.005)
        connection.sendall(b"0\r\n\r\n")

    with serving(serve) as server:
        run = Run(stream_at(url_of(server), data="one"), Load(0.01, None, 1, "closed"))
    stream = tally_of(run).summary(None, total_s=1.0).stream
    assert stream is not None
    assert (stream.events, stream.early_ends) == (len(run.samples), 0)


PIECES = st.sampled_from(
    [
        b"data: a\n\n",
        b"data: b c\n\n",
        b"data:d\n\n",
        b": note\n\n",
        b"data: e\ndata: f\n\n",
        b"event: x\n",
        b"data: g\r\n\r\n",
        b"data: h\n",
        b"\n",
        b"id: 1\n",
        b"data: \n\n",
        b"\rdata: i\r\r",
        b"data: j",
        b"x\n\n",
    ]
)


@given(st.lists(PIECES, max_size=20))
def test_events_are_the_same_whatever_pieces_they_come_in(pieces: list[bytes]) -> None:
    """Pieces that are one whole event are read in a shorter way."""
    loop = Loop()
    try:
        seen: list[bytes] = []

        class Reader(EventReader):
            def _take_event(self, data: bytes) -> None:
                seen.append(data)
                super()._take_event(data)

        reader = Reader(StreamUntil(), loop, FigureRecorder("stream", 0.0))
        reader.feed(HEAD)
        for piece in pieces:
            reader.feed(chunk(piece))
        assert reader.feed(b"0\r\n\r\n")
        assert seen == [event.data for event in SseReader().feed(b"".join(pieces))]
    finally:
        loop.close()
