"""What RFC 9113 asks of a server that gets frames it must refuse, or must not.

Each row is a paragraph, frames, and the reaction: GOAWAY with a code and the end of the connection,
RST_STREAM with a code, or an answer to the PING that follows, which shows that nothing was refused. Where the
RFC asks for a stream error, the end of the connection is right, too (§5.4.1): rows hold what the layer does.
"""

from __future__ import annotations

import pytest
from hpack import Encoder

from faultkit.proxy.http2.frame_scanner import PREFACE
from tests.proxy.http2.peers import get
from tests.proxy.http2.raw_client import (
    CONTINUATION,
    DATA,
    FIELDS,
    GOAWAY,
    HEADERS,
    PING,
    PRIORITY,
    PUSH,
    RST_STREAM,
    SETTINGS,
    WINDOW,
    RawClient,
    frame,
)

NO_ERROR, PROTOCOL, INTERNAL, FLOW_CONTROL, _, STREAM_CLOSED, FRAME_SIZE, REFUSED, CANCEL, COMPRESSION = (
    range(10)
)
ACK = END_STREAM = 0x1
END_HEADERS, PADDED, HAS_PRIORITY = 0x4, 0x8, 0x20
MOST = 16_384
UNKNOWN = 0xBE


def block(*fields: tuple[bytes, bytes]) -> bytes:
    return Encoder().encode(list(fields))


def opened(stream_id: int = 1, fields: bytes = FIELDS) -> bytes:
    """A request whose body is still to come."""
    return frame(HEADERS, stream_id, fields, END_HEADERS)


def asked(stream_id: int = 1, fields: bytes = FIELDS) -> bytes:
    """A whole request."""
    return frame(HEADERS, stream_id, fields, END_HEADERS | END_STREAM)


def setting(code: int, value: int) -> bytes:
    return frame(SETTINGS, 0, code.to_bytes(2, "big") + value.to_bytes(4, "big"))


def more_window(size: int, stream_id: int = 0) -> bytes:
    return frame(WINDOW, stream_id, size.to_bytes(4, "big"))


def reset(stream_id: int) -> bytes:
    return frame(RST_STREAM, stream_id, CANCEL.to_bytes(4, "big"))


METHOD, SCHEME, AUTHORITY, PATH = get()


def header(*more: tuple[bytes, bytes]) -> bytes:
    return asked(1, block(*get(), *more))


POST = block((b":method", b"POST"), SCHEME, AUTHORITY, PATH)
LENGTH_5 = block((b":method", b"POST"), SCHEME, AUTHORITY, PATH, (b"content-length", b"5"))


REFUSED_FRAMES = [
    # A row: paragraph and what is wrong, frames, the code of GOAWAY.
    ("4.2 a DATA frame above the size", opened() + frame(DATA, 1, bytes(MOST + 1)), FRAME_SIZE),
    ("4.2 a HEADERS frame above the size", frame(HEADERS, 1, bytes(MOST + 1), 4), FRAME_SIZE),
    ("4.3 a field block that is no HPACK", asked(1, b"\xff" * 20), PROTOCOL),
    (
        "4.3 PRIORITY within a field block",
        frame(HEADERS, 1, FIELDS, 1) + frame(PRIORITY, 1, bytes(5)),
        PROTOCOL,
    ),
    ("4.3 HEADERS of another stream within a block", frame(HEADERS, 1, FIELDS, 1) + asked(3), PROTOCOL),
    ("5.1 DATA in idle", frame(DATA, 1, b"x", END_STREAM), PROTOCOL),
    ("5.1 RST_STREAM in idle", reset(1), PROTOCOL),
    ("5.1 WINDOW_UPDATE in idle", more_window(1, 1), PROTOCOL),
    ("5.1 CONTINUATION in idle", frame(CONTINUATION, 1, FIELDS, END_HEADERS), PROTOCOL),
    ("5.1 CONTINUATION after END_STREAM", asked() + frame(CONTINUATION, 1, FIELDS, 5), PROTOCOL),
    ("5.1.1 an even stream", asked(2), PROTOCOL),
    ("5.1.1 a stream below the one before", asked(5) + asked(3), PROTOCOL),
    ("5.1.2 more streams than agreed on", b"".join(asked(at) for at in range(1, 2003, 2)), PROTOCOL),
    ("5.3.1 HEADERS that depend on their stream", frame(HEADERS, 1, b"\0\0\0\1\0" + FIELDS, 0x25), PROTOCOL),
    ("5.3.1 PRIORITY that depends on its stream", asked() + frame(PRIORITY, 1, b"\0\0\0\1\0"), PROTOCOL),
    ("6.1 DATA on stream 0", frame(DATA, 0, b"x"), PROTOCOL),
    ("6.1 DATA with too much padding", opened() + frame(DATA, 1, b"\6hello", PADDED | END_STREAM), PROTOCOL),
    ("6.2 HEADERS on stream 0", frame(HEADERS, 0, FIELDS, 5), PROTOCOL),
    ("6.2 HEADERS with too much padding", frame(HEADERS, 1, b"\xff" + FIELDS, 0xD), PROTOCOL),
    ("6.3 PRIORITY on stream 0", frame(PRIORITY, 0, bytes(5)), PROTOCOL),
    ("6.3 PRIORITY of 4 bytes", frame(PRIORITY, 1, bytes(4)), FRAME_SIZE),
    ("6.4 RST_STREAM on stream 0", reset(0), PROTOCOL),
    ("6.4 RST_STREAM of 3 bytes", opened() + frame(RST_STREAM, 1, bytes(3)), FRAME_SIZE),
    ("6.5 SETTINGS with ACK and a payload", frame(SETTINGS, 0, bytes(6), ACK), FRAME_SIZE),
    ("6.5 SETTINGS on a stream", frame(SETTINGS, 1, b""), PROTOCOL),
    ("6.5 SETTINGS of 3 bytes", frame(SETTINGS, 0, bytes(3)), FRAME_SIZE),
    ("6.5.2 ENABLE_PUSH of 2", setting(2, 2), PROTOCOL),
    ("6.5.2 a window of 2^31", setting(4, 1 << 31), FLOW_CONTROL),
    ("6.5.2 MAX_FRAME_SIZE below 16384", setting(5, MOST - 1), PROTOCOL),
    ("6.5.2 MAX_FRAME_SIZE of 2^24", setting(5, 1 << 24), PROTOCOL),
    ("6.6 PUSH_PROMISE of a client", frame(PUSH, 1, b"\0\0\0\2" + FIELDS, 4), PROTOCOL),
    ("6.7 PING on a stream", frame(PING, 1, bytes(8)), PROTOCOL),
    ("6.7 PING of 7 bytes", frame(PING, 0, bytes(7)), FRAME_SIZE),
    ("6.8 GOAWAY on a stream", frame(GOAWAY, 1, bytes(8)), PROTOCOL),
    ("6.8 GOAWAY of 7 bytes", frame(GOAWAY, 0, bytes(7)), FRAME_SIZE),
    ("6.9 WINDOW_UPDATE of 0", more_window(0), PROTOCOL),
    ("6.9 WINDOW_UPDATE of 0 on a stream", opened() + more_window(0, 1), PROTOCOL),
    ("6.9 WINDOW_UPDATE of 3 bytes", frame(WINDOW, 0, bytes(3)), FRAME_SIZE),
    ("6.9.1 the connection's window above 2^31-1", more_window((1 << 31) - 1) * 2, FLOW_CONTROL),
    (
        "6.9.2 a stream's window above 2^31-1",
        opened() + more_window(1 << 30, 1) + setting(4, (1 << 31) - 1),
        FLOW_CONTROL,
    ),
    ("6.10 CONTINUATION on stream 0", frame(HEADERS, 1, FIELDS) + frame(CONTINUATION, 0, b"", 4), PROTOCOL),
    ("6.10 CONTINUATION after END_HEADERS", opened() + frame(CONTINUATION, 1, FIELDS, 4), PROTOCOL),
    ("6.10 DATA within a field block", frame(HEADERS, 1, FIELDS) + frame(DATA, 1, b"x"), PROTOCOL),
    ("8.1 HEADERS without END_STREAM as trailers", opened() + opened(1, block((b"x", b"y"))), PROTOCOL),
    ("8.1.1 less than Content-Length", opened(1, LENGTH_5) + frame(DATA, 1, b"1234", 1), PROTOCOL),
    ("8.1.1 more than Content-Length", opened(1, LENGTH_5) + frame(DATA, 1, b"123456", 1), PROTOCOL),
    ("8.2.1 a name in capitals", header((b"X-Test", b"1")), PROTOCOL),
    ("8.2.2 Connection", header((b"connection", b"keep-alive")), PROTOCOL),
    ("8.2.2 TE of anything but trailers", header((b"te", b"trailers, deflate")), PROTOCOL),
    ("8.3 an unknown pseudo-header", header((b":test", b"1")), PROTOCOL),
    ("8.3 a pseudo-header of answers", header((b":status", b"200")), PROTOCOL),
    (
        "8.3 a pseudo-header after a field",
        asked(1, block(METHOD, SCHEME, (b"x", b"y"), AUTHORITY, PATH)),
        PROTOCOL,
    ),
    ("8.3 a pseudo-header in trailers", opened() + asked(1, block(METHOD)), PROTOCOL),
    ("8.3.1 an empty path", asked(1, block(METHOD, SCHEME, AUTHORITY, (b":path", b""))), PROTOCOL),
    ("8.3.1 no method", asked(1, block(SCHEME, AUTHORITY, PATH)), PROTOCOL),
    ("8.3.1 no scheme", asked(1, block(METHOD, AUTHORITY, PATH)), PROTOCOL),
    ("8.3.1 no path", asked(1, block(METHOD, SCHEME, AUTHORITY)), PROTOCOL),
    ("8.3.1 the method twice", header(METHOD), PROTOCOL),
    ("8.3.1 the path twice", asked(1, block(METHOD, SCHEME, AUTHORITY, PATH, PATH)), PROTOCOL),
    ("RFC 7541 2.3.3 an index without an entry", asked(1, FIELDS + b"\xc6"), PROTOCOL),
    ("RFC 7541 4.2 a table size update at the end", asked(1, FIELDS + b"\x21"), PROTOCOL),
    (
        "RFC 7541 5.2 Huffman padding above 7 bits",
        asked(1, FIELDS + b"\0\x85\xf2\xb2\x4a\x84\xff\x82\x49\x50"),
        PROTOCOL,
    ),
    ("RFC 7541 6.1 index 0", asked(1, FIELDS + b"\x80"), PROTOCOL),
    ("RFC 7541 6.3 a table above its size", asked(1, b"\x3f\xff\xff\x3f" + FIELDS), PROTOCOL),
]


def names(rows: list[tuple[str, bytes, int]]) -> list[str]:
    return [row[0].replace(" ", "-") for row in rows]


@pytest.mark.parametrize(("what", "payload", "code"), REFUSED_FRAMES, ids=names(REFUSED_FRAMES))
def test_a_connection_error_is_answered_by_goaway(what: str, payload: bytes, code: int) -> None:
    client = RawClient()
    client.send(payload)
    assert (client.closed, client.goaway_code) == (True, code)
    assert client.layer.trouble is not None
    why = client.layer.trouble.removeprefix("the HTTP/2 of a client cannot be read: ")
    assert " " in why, "a reason, not a number"


RESET_STREAMS = [
    # A row: paragraph and what is wrong, frames, the code of RST_STREAM for stream 1.
    ("5.1 DATA after END_STREAM", asked() + frame(DATA, 1, b"x", END_STREAM), STREAM_CLOSED),
    ("5.1 HEADERS after END_STREAM", asked() + asked(), STREAM_CLOSED),
    ("5.1 DATA after RST_STREAM", opened() + reset(1) + frame(DATA, 1, b"x", END_STREAM), STREAM_CLOSED),
    ("6.9.1 a stream's window above 2^31-1", opened() + more_window((1 << 31) - 1, 1) * 2, FLOW_CONTROL),
]


@pytest.mark.parametrize(("what", "payload", "code"), RESET_STREAMS, ids=names(RESET_STREAMS))
def test_a_stream_error_is_answered_by_rst_stream(what: str, payload: bytes, code: int) -> None:
    client = RawClient()
    client.send(payload)
    resets = [
        (at, int.from_bytes(body, "big")) for kind, _, at, body in client.frames() if kind == RST_STREAM
    ]
    assert resets == [(1, code)]
    assert (client.closed, client.layer.trouble) == (False, None)


ACCEPTED = [
    # A row: paragraph and what is allowed, frames, how many requests came to the upstream.
    ("4.1 a frame of unknown type", frame(UNKNOWN, 0, b"12345678"), 0),
    ("4.1 unknown flags", frame(PING, 0, bytes(8), 0x16), 0),
    ("4.1 the reserved bit of a stream", frame(HEADERS, 1 | 1 << 31, FIELDS, 5), 1),
    ("4.2 a frame of the largest size", opened() + frame(DATA, 1, bytes(MOST), END_STREAM), 1),
    ("5.1 PRIORITY in idle", frame(PRIORITY, 1, b"\0\0\0\0\1") + asked(3), 1),
    ("5.1 WINDOW_UPDATE after END_STREAM", asked() + more_window(1, 1), 1),
    ("5.1 RST_STREAM after END_STREAM", asked() + reset(1), 1),
    ("5.5 an unknown frame between others", asked() + frame(UNKNOWN, 1, b"x") + asked(3), 2),
    ("6.1 padded DATA", opened() + frame(DATA, 1, b"\3hi\0\0\0", PADDED | END_STREAM), 1),
    ("6.2 padded HEADERS with a priority", frame(HEADERS, 1, b"\2\0\0\0\0\7" + FIELDS + b"\0\0", 0x2D), 1),
    ("6.5 an unknown setting", setting(0xFF, 1), 0),
    ("6.5.2 a table size of 0", setting(1, 0) + asked(), 1),
    ("6.5.2 a window of 2^31-1", setting(4, (1 << 31) - 1) + asked(), 1),
    ("6.5.2 a window of 0", setting(4, 0) + asked(), 1),
    ("6.7 PING with ACK", frame(PING, 0, bytes(8), ACK), 0),
    ("6.8 GOAWAY of the client", asked() + frame(GOAWAY, 0, bytes(8)), 1),
    ("6.10 CONTINUATION", frame(HEADERS, 1, FIELDS[:3], 1) + frame(CONTINUATION, 1, FIELDS[3:], 4), 1),
    ("6.10 an empty CONTINUATION", frame(HEADERS, 1, FIELDS, 1) + frame(CONTINUATION, 1, b"", 4), 1),
    ("8.1 trailers", opened(1, POST) + frame(DATA, 1, b"x") + asked(1, block((b"x-sum", b"1"))), 1),
    ("8.2.2 TE of trailers", header((b"te", b"trailers")), 1),
]


@pytest.mark.parametrize(("what", "payload", "requests"), ACCEPTED, ids=names(ACCEPTED))
def test_what_is_allowed_disturbs_nothing(what: str, payload: bytes, requests: int) -> None:
    client = RawClient()
    client.send(payload + frame(PING, 0, b"still on"))
    assert (PING, ACK, 0, b"still on") in list(client.frames())
    assert (client.closed, client.goaway_code, client.layer.trouble) == (False, None, None)
    assert client.layer._judged == requests


@pytest.mark.parametrize(
    "start",
    [PREFACE + asked(), PREFACE + frame(SETTINGS, 0, b"", ACK), PREFACE + frame(PING, 0, bytes(8))],
    ids=["headers", "ack", "ping"],
)
def test_settings_come_first(start: bytes) -> None:
    """RFC 9113 §3.4: the preface of a client ends with its SETTINGS."""
    client = RawClient(start)
    assert (client.closed, client.goaway_code) == (True, PROTOCOL)
