"""Without a rule that acts, peers see through the layer what they see without it, however bytes are cut."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import pytest
from h2.exceptions import ProtocolError
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.faults.http_fault import AnswerFilter
from faultkit.proxy.http2 import Filtered
from tests.proxy.http2.peers import OK, Field, Joined, Layered, Seen, cut_whole, get

FIELDS: list[list[Field]] = [
    [],
    [(b"cookie", b"a=1"), (b"cookie", b"b=2")],
    [(b"x-b", b"2"), (b"x-a", b"1"), (b"x-b", b"3"), (b"accept", b"")],
    [(b"authorization", b"secret"), (b"x-long", b"v" * 500)],
]
TRAILERS: list[Field] = [(b"grpc-status", b"0"), (b"x-sum", b"7")]
Script = list[tuple[str, int, int, bool]]
"""What happens: an action, a stream, a number whose meaning depends on the action, and a choice."""

SIZES = (0, 1, 20_000, 70_000)
scripts = st.lists(
    st.tuples(
        st.sampled_from(("request", "upload", "interim", "answer", "client_reset", "server_reset", "ping")),
        st.integers(0, 9),
        st.integers(0, 3),
        st.booleans(),
    ),
    max_size=14,
)


def play(peers: Joined, script: Script) -> tuple[dict[int, Seen], dict[int, Seen]]:
    """Let the peers act, and return what the client and the server have seen of each stream."""
    client, server = peers.client, peers.server
    peers.run()
    streams: list[int] = []
    uploading: set[int] = set()
    for action, which, number, choice in script:
        stream_id = streams[which % len(streams)] if streams else 0
        try:
            if action == "request":
                stream_id = client.h2.get_next_available_stream_id()
                streams.append(stream_id)
                client.h2.send_headers(stream_id, get(f"/{number}") + FIELDS[number], end_stream=choice)
                uploading |= set() if choice else {stream_id}
            elif action == "upload" and stream_id in uploading:
                client.send_body(stream_id, bytes([number]) * SIZES[number], ends=False)
                if choice:
                    uploading.discard(stream_id)
                    client.h2.send_headers(stream_id, TRAILERS, end_stream=True)
            elif action == "interim" and stream_id:
                server.h2.send_headers(stream_id, [(b":status", b"103"), (b"link", b"<a>")])
            elif action == "answer" and stream_id:
                server.h2.send_headers(stream_id, OK + FIELDS[number])
                server.send_body(stream_id, bytes([number]) * SIZES[number], ends=not choice)
                peers.run()
                if choice:
                    server.h2.send_headers(stream_id, TRAILERS, end_stream=True)
            elif action == "client_reset" and stream_id:
                client.h2.reset_stream(stream_id, number + 7)
            elif action == "server_reset" and stream_id:
                server.h2.reset_stream(stream_id, number if choice else 2**32 - 1)
            else:
                client.h2.ping(b"12345678")
                server.h2.ping(b"87654321")
        except ProtocolError:
            pass  # The stream is over: neither way has such an action.
        peers.run()
    # A peer may get window for a stream, and nothing else: that is not for its application.
    seen = [{key: one for key, one in peer.seen.items() if one != Seen()} for peer in (client, server)]
    return seen[0], seen[1]


PATHS = (None, Filtered({"rule": AnswerFilter()}), Filtered({"rule": AnswerFilter()}, frozenset(["rule"])))
"""No filter, one that lets everything pass, and one that is said to pace."""


@given(
    script=scripts,
    sizes=st.lists(st.integers(1, 40_000), min_size=1, max_size=5),
    path=st.sampled_from(PATHS),
)
@settings(max_examples=30, deadline=None)
def test_random_traffic_is_the_same_through_the_layer(
    script: Script, sizes: list[int], path: Filtered | None
) -> None:
    rounds = cycle((*sizes, 9_000))  # Not only single bytes: 70,000 of them would take seconds.

    def cut(payload: bytes) -> Iterator[bytes]:
        while payload:
            size = next(rounds)
            yield payload[:size]
            payload = payload[size:]

    layered = Layered(cut=cut, judge_answer=lambda *given: path)
    assert play(layered, script) == play(Joined(), script)
    assert layered.layer.trouble is None


def test_bytes_one_by_one_are_the_same_as_at_once() -> None:
    script: Script = [
        ("request", 0, 1, False),
        ("request", 0, 2, True),
        ("upload", 0, 1, False),
        ("interim", 1, 0, False),
        ("answer", 1, 2, True),
        ("upload", 0, 1, True),
        ("answer", 0, 1, False),
        ("request", 0, 0, False),
        ("server_reset", 2, 3, True),
    ]

    def each(payload: bytes) -> Iterator[bytes]:
        return (payload[at : at + 1] for at in range(len(payload)))

    expected = play(Joined(), script)
    assert expected[0][1].ended
    assert expected[0][5].reset == 3
    assert play(Layered(cut=each), script) == expected


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_left_of_streams_that_have_ended(path: Filtered | None) -> None:
    peers = Layered(cut=cut_whole, judge_answer=lambda *given: path)
    script: Script = []
    for place in range(5):
        script += [("request", 0, 1, True), ("answer", place, 3 if place == 4 else 1, True)]
    play(peers, [*script, ("request", 0, 2, False)])
    assert list(peers.layer._by_client) == list(peers.layer._by_upstream) == [11]
    peers.client.h2.reset_stream(11, 8)
    peers.run()
    layer = peers.layer
    assert not layer._by_client
    assert not layer._by_upstream
    assert not layer._headers_size
    assert layer._client._held == layer._upstream._held == 0
    assert not layer._client._credit
    assert not layer._upstream._credit


def test_headers_longer_than_a_frame_pass() -> None:
    peers, long = Layered(), (b"x-long", b"~" * 20_000)
    peers.client.h2.send_headers(1, [*get(), long], end_stream=True)
    peers.run()
    peers.server.h2.send_headers(1, [*OK, long], end_stream=True)
    peers.run()
    assert peers.server.seen[1].heads == [[*get(), long]]
    assert peers.client.seen[1].heads == [[*OK, long]]
