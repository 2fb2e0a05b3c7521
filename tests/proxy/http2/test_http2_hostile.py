"""Peers that break the rules, ask for too much, or leave: limits hold, and the reason is given."""

from __future__ import annotations

import pytest
from h2.settings import SettingCodes
from hpack import Encoder

from faultkit.faults.events import Close, Data, Eof
from faultkit.faults.http2.grpc_deadline import GrpcDeadline
from faultkit.faults.http_fault import HttpVerdict
from faultkit.proxy.http import ToClient
from faultkit.proxy.http2 import Judged
from faultkit.proxy.http2.frame_scanner import goaway_bytes
from tests.proxy.http2.peers import OK, Layered, get
from tests.proxy.http2.raw_client import FIELDS, RawClient, frame

BOMB = Encoder().encode([*get(), (b"x", b"y" * 4000)]) + b"\xbe" * 16_000
"""A field of the dynamic table, again and again: 16 kB that become 64 MB."""


@pytest.mark.parametrize(
    ("payload", "code", "why"),
    [
        (b"\xff" * 40, 6, "a frame of more than 16384 bytes"),
        (frame(6, 1, b"12345678"), 1, ""),
        (frame(0, 1, b"data of no stream"), 1, ""),
        (frame(1, 1, b"\xff" * 20, 4), 1, ""),
        (frame(1, 2, FIELDS, 5), 1, ""),
        (frame(1, 1, Encoder().encode([(b":method", b"GET")]), 5), 1, ""),
        (frame(1, 1, BOMB[:16000], 4), 11, ""),
        (frame(1, 1, b"", 0) + frame(9, 1, b"") * 1000, 1, ""),
        (frame(1, 1) + frame(9, 1, b"x" * 16_000) * 9, 11, "header fields of more than 131072 bytes"),
        (frame(5, 1, b"\0\0\0\2" + FIELDS, 4), 1, ""),
        (frame(6, 0, b"12345678") * 30_000, 11, "too many frames"),
        (frame(4, 0, b"") * 30_000, 11, "too many frames"),
        (b"".join(frame(1, at, FIELDS, 5) for at in range(1, 2100, 2)), 1, "Max"),
        (
            b"".join(frame(1, at, FIELDS, 5) + frame(3, at, b"\0\0\0\x08") for at in range(1, 20_001, 2)),
            11,
            "too many frames",
        ),
    ],
    ids=[
        "no-frame",
        "ping-on-a-stream",
        "data-of-no-stream",
        "broken-hpack",
        "even-stream",
        "no-path",
        "hpack-bomb",
        "continuation-flood",
        "headers-without-an-end",
        "push",
        "ping-flood",
        "settings-flood",
        "1050-streams",
        "10000-rapid-resets",
    ],
)
def test_a_client_that_breaks_the_rules_gets_goaway_and_is_closed(
    payload: bytes, code: int, why: str
) -> None:
    raw = RawClient()
    raw.send(payload)
    assert raw.closed
    assert raw.goaway_code == code
    assert raw.layer.trouble is not None
    assert raw.layer.trouble.startswith("the HTTP/2 of a client cannot be read: ")
    assert why in raw.layer.trouble
    assert not raw.layer.from_client(Data(0.0, frame(6, 0, b"12345678")))


def test_an_upstream_that_breaks_the_rules_ends_the_connection() -> None:
    peers = Layered()
    peers.client.h2.send_headers(1, get(), end_stream=True)
    peers.run()
    peers._deliver(peers.layer.from_upstream(Data(0.0, frame(0, 7, b"data of no stream"))))
    assert peers.client.goaway == (1, 2, b"")
    assert peers.client.ended == [Close]
    assert peers.layer.trouble is not None
    assert "of the upstream cannot be read" in peers.layer.trouble


def test_an_upstream_that_speaks_http_1_is_named() -> None:
    raw = Layered()
    raw.layer.from_upstream(Data(0.0, b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    assert (
        raw.layer.trouble == 'the HTTP/2 of the upstream cannot be read: no frames, but text ("HTTP/1.1 …")'
    )


def test_a_thousand_streams_one_after_another_pass() -> None:
    peers = Layered()
    peers.server.on_stream = lambda at: peers.server.h2.send_headers(at, OK, end_stream=True)
    for _ in range(20):
        for _ in range(50):
            at = peers.client.h2.get_next_available_stream_id()
            peers.client.h2.send_headers(at, get(), end_stream=True)
        peers.run()
    assert len(peers.client.seen) == 1000
    assert not peers.layer._by_client


def test_the_upstreams_limit_of_streams_is_kept_and_passed_on() -> None:
    peers = Layered()
    peers.server.h2.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: 2})
    for at in (1, 3, 5, 7):
        peers.client.h2.send_headers(at, get(f"/{at}"), end_stream=True)
    peers.feed_client(peers.client.h2.data_to_send())
    peers.run()
    # Two were under way before the limit was known; the others wait for them.
    assert peers.client.h2.remote_settings.max_concurrent_streams == 2
    first = list(peers.server.seen)
    for _ in range(4):
        for at in first:
            if not peers.client.seen.get(at):
                peers.server.h2.send_headers(at, OK, end_stream=True)
        peers.run()
        first = list(peers.server.seen)
    assert sorted(peers.client.seen) == [1, 3, 5, 7]


def test_requests_that_a_rule_holds_back_take_a_limited_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultkit.proxy.http2.exchange._MOST_HEADERS", 1000)
    effect = GrpcDeadline().effect()
    peers = Layered(lambda request: Judged(effect=effect))
    for _ in range(10):
        at = peers.client.h2.get_next_available_stream_id()
        peers.client.h2.send_headers(at, get(), end_stream=True)
        peers.run()
    assert [at for at, seen in peers.client.seen.items() if seen.reset == 7] == [11, 13, 15, 17, 19]


def test_bytes_that_a_rule_holds_back_take_a_limited_place() -> None:
    peers = Layered(lambda request: Judged(HttpVerdict(delay_s=9.0)))
    peers.run()
    for _ in range(20):
        at = peers.client.h2.get_next_available_stream_id()
        peers.client.h2.send_headers(at, get(), end_stream=False)
        peers.client.send_body(at, b"x" * 2_000_000)
        peers.run()
    assert peers.layer._client._held <= 6 << 20
    peers.run(until=9.0)
    assert all(len(seen.body) == 2_000_000 for seen in peers.server.seen.values())


def test_goaway_of_the_upstream_reaches_the_client_with_its_own_id() -> None:
    slow = Judged(HttpVerdict(delay_s=1.0))
    peers = Layered(lambda request: slow if request.target == "/slow" else Judged())
    peers.client.h2.send_headers(1, get("/slow"), end_stream=True)
    peers.client.h2.send_headers(3, get("/a"), end_stream=True)
    peers.client.h2.send_headers(5, get("/b"), end_stream=True)
    peers.run()
    # The upstream has seen /a as 1 and /b as 3. It refuses /b; /slow was not sent.
    peers._deliver(peers.layer.from_upstream(Data(0.0, goaway_bytes(1, 0, b"bye"))))
    assert peers.client.seen[1].reset == 7
    assert peers.client.goaway == (3, 0, b"bye")
    assert list(peers.layer._by_client) == [3]


def test_a_notice_of_goaway_lets_requests_go_on() -> None:
    raw = RawClient()
    outputs = raw.layer.from_upstream(Data(0.0, frame(4, 0) + goaway_bytes(2**31 - 1, 0, b"")))
    outputs += raw.layer.wake(0.0)
    outputs += raw.layer.wake(0.0)
    sent = b"".join(o.event.payload for o in outputs if isinstance(o, ToClient) and isinstance(o.event, Data))
    assert goaway_bytes(2**31 - 1, 0, b"") in sent
    raw.send(frame(1, 1, FIELDS, 5))
    assert list(raw.layer._by_upstream) == [1]


def test_a_client_that_leaves_at_once_leaves_nothing() -> None:
    raw = RawClient()
    raw.send(frame(1, 1, FIELDS, 4))
    raw.layer.from_client(Eof(0.0))
    assert [type(o.event) for o in raw.layer.from_upstream(Eof(0.0)) if isinstance(o, ToClient)] == [Eof]
