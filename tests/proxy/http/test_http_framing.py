"""Framers find the same messages however the bytes are cut, and never lose or change one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.proxy.http.framing import (
    MAX_HEAD_BYTES,
    Blank,
    Body,
    End,
    Opaque,
    Piece,
    RequestFramer,
    ResponseFramer,
)
from faultkit.proxy.http.heads import TLS, RequestHead, ResponseHead, read_request_head


def pieces_of(framer: RequestFramer | ResponseFramer, *chunks: bytes) -> list[Piece]:
    pieces = []
    for chunk in chunks:
        framer.feed(chunk)
        while (piece := framer.next_piece()) is not None:
            pieces.append(piece)
    return pieces


def outline(pieces: list[Piece]) -> list[tuple[str, bytes]]:
    """Kinds with their bytes; neighbours of one kind are joined, so that cuts do not show."""
    found: list[tuple[str, bytes]] = []
    for piece in pieces:
        kind = type(piece).__name__
        if found and found[-1][0] == kind and kind in ("Blank", "Body", "Opaque"):
            found[-1] = (kind, found[-1][1] + piece.raw)
        else:
            found.append((kind, piece.raw))
    return found


def requests(data: bytes) -> list[tuple[str, bytes]]:
    return outline(pieces_of(RequestFramer(), data))


def responses(data: bytes, *methods: str) -> list[tuple[str, bytes]]:
    framer = ResponseFramer()
    for method in methods:
        framer.expect(method)
    return outline(pieces_of(framer, data))


def request_reason(*chunks: bytes) -> str | None:
    framer = RequestFramer()
    pieces = pieces_of(framer, *chunks)
    assert b"".join(piece.raw for piece in pieces) + framer.take_rest() == b"".join(chunks)
    return framer.opaque_reason


def response_reason(data: bytes, method: str = "GET") -> str | None:
    framer = ResponseFramer()
    framer.expect(method)
    pieces_of(framer, data)
    return framer.opaque_reason


GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /b HTTP/1.1\r\nContent-Length: 5\r\n\r\n"
CHUNKED = b"PUT /c HTTP/1.1\r\ntransfer-ENCODING: gzip , Chunked\r\n\r\n"
CHUNKS = b'5;name="v"\r\nhello\r\n00A\r\n0123456789\r\n0\r\nTrailer: yes\r\nMore: 1\r\n\r\n'


def test_a_request_without_framing_fields_has_no_body() -> None:
    assert requests(GET) == [("RequestHead", GET), ("End", b"")]


def test_a_content_length_says_where_the_body_ends() -> None:
    assert requests(POST + b"hello" + GET) == [
        ("RequestHead", POST),
        ("Body", b"hello"),
        ("End", b""),
        ("RequestHead", GET),
        ("End", b""),
    ]


def test_a_content_length_of_zero_is_no_body() -> None:
    head = b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
    assert requests(head) == [("RequestHead", head), ("End", b"")]


def test_a_chunked_body_keeps_its_sizes_extensions_and_trailers() -> None:
    assert requests(CHUNKED + CHUNKS + GET) == [
        ("RequestHead", CHUNKED),
        ("Body", CHUNKS),
        ("End", b""),
        ("RequestHead", GET),
        ("End", b""),
    ]


def test_empty_lines_before_a_head_stand_for_themselves() -> None:
    assert requests(b"\r\n\r\n" + GET) == [("Blank", b"\r\n\r\n"), ("RequestHead", GET), ("End", b"")]


def test_a_body_streams_before_it_is_complete() -> None:
    framer = RequestFramer()
    assert pieces_of(framer, POST, b"he")[-1] == Body(b"he")
    assert pieces_of(framer, b"llo") == [Body(b"llo"), End()]


def test_a_chunk_that_is_all_body_is_not_copied() -> None:
    framer = RequestFramer()
    pieces_of(framer, b"POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n")
    chunk = b"x" * 65536
    (piece,) = pieces_of(framer, chunk)
    assert piece.raw is chunk


@given(st.data())
def test_cuts_do_not_change_what_a_framer_finds(data: st.DataObject) -> None:
    messages = [GET, POST + b"hello", CHUNKED + CHUNKS, b"\r\n" + GET]
    stream = b"".join(data.draw(st.lists(st.sampled_from(messages), min_size=1, max_size=6)))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream) - 1), max_size=12)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert outline(pieces_of(RequestFramer(), *chunks)) == requests(stream)


def test_one_byte_at_a_time_finds_the_same_messages() -> None:
    stream = GET + CHUNKED + CHUNKS + POST + b"hello"
    assert outline(pieces_of(RequestFramer(), *(bytes([byte]) for byte in stream))) == requests(stream)


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_random_bytes_come_out_as_they_went_in(chunks: list[bytes]) -> None:
    for framer in (RequestFramer(), ResponseFramer()):
        if isinstance(framer, ResponseFramer):
            framer.expect("GET")
        pieces = pieces_of(framer, *chunks)
        assert b"".join(piece.raw for piece in pieces) + framer.take_rest() == b"".join(chunks)


FRAGMENTS = st.sampled_from(
    [
        b"GET / HTTP/1.1\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"Content-Length: 3\r\n",
        b"Content-Length : 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Upgrade: x\r\n",
        b" folded\r\n",
        b"\r\n",
        b"\r",
        b"\n",
        b"3\r\nabc\r\n",
        b"0\r\n\r\n",
        b"abc",
    ]
)


@given(st.lists(FRAGMENTS, max_size=14))
def test_fragments_of_http_come_out_as_they_went_in(chunks: list[bytes]) -> None:
    for framer in (RequestFramer(), ResponseFramer()):
        if isinstance(framer, ResponseFramer):
            framer.expect("GET")
        pieces = pieces_of(framer, *chunks)
        assert b"".join(piece.raw for piece in pieces) + framer.take_rest() == b"".join(chunks)


UNSAFE_FIELDS = {
    "Content-Length: 5\r\nContent-Length: 6": "conflicting Content-Length fields",
    "Content-Length: 5, 5": "Content-Length: expected a number, got '5, 5'",
    "Content-Length: +5": "Content-Length: expected a number, got '+5'",
    "Content-Length: 5_0": "Content-Length: expected a number, got '5_0'",
    "Content-Length:": "Content-Length: expected a number, got ''",
    "Content-Length : 5": "malformed content-length field 'content-length : 5'",
    "Content-Length\x0b: 5": "malformed content-length field 'content-length\\x0b: 5'",
    "Content-Length 5": "malformed content-length field 'content-length 5'",
    "Content-Length: 5\r\nTransfer-Encoding: chunked": "Content-Length and Transfer-Encoding in one head",
    "Transfer-Encoding\t: chunked": "malformed transfer-encoding field 'transfer-encoding\\t: chunked'",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked": (
        "Transfer-Encoding: expected one plain list, got 'chunked | chunked'"
    ),
    "Transfer-Encoding: chunked;q=1": "Transfer-Encoding: expected one plain list, got 'chunked;q=1'",
    "Transfer-Encoding: chunked, gzip": "Transfer-Encoding: chunked is not the last step",
    "Transfer-Encoding: \x0bchunked": "Transfer-Encoding: expected one plain list, got '\\x0bchunked'",
}


@pytest.mark.parametrize(("fields", "reason"), UNSAFE_FIELDS.items())
def test_framing_fields_that_two_readers_may_see_differently_are_refused(fields: str, reason: str) -> None:
    assert request_reason(f"POST / HTTP/1.1\r\nHost: x\r\n{fields}\r\n\r\n".encode()) == reason
    assert response_reason(f"HTTP/1.1 200 OK\r\nServer: x\r\n{fields}\r\n\r\n".encode()) == reason


UNSAFE_REQUESTS = {
    b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n": "a request whose body has no end",
    b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n": "Transfer-Encoding in HTTP/1.0",
    b"POST / HTTP/1.1\r\nX: 1\r\n Content-Length: 5\r\n\r\n": "folded header line in a request",
    b"CONNECT a:1 HTTP/1.1\r\nContent-Length: 5\r\n\r\n": "CONNECT with a body",
    b"GET / HTTP/1.1\nHost: x\n\n": "bare CR or LF in a head",
    b"GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n": "bare CR or LF in a head",
    b"GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n": "bare CR or LF in a head",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": "HTTP/2",
    b"GET / HTTP/1.2\r\n\r\n": "not an HTTP/1 request line",
    b"GET  / HTTP/1.1\r\n\r\n": "not an HTTP/1 request line",
    b"\x16\x03\x01\x02\x00": TLS,
    b"\x16": TLS,
    b"\x16\x03\x01\x02\x00ab\ncd\r\n": TLS,
    b"\x16\x03\x01ab\r\n\r\n": TLS,
    b"\x16\x04\x01\x02\x00": "not an HTTP/1 request line",
    b"\x00\x00\x00\x08\x04\xd2\x16/": "not an HTTP/1 request line",
    b"*1\r\n$4\r\nPING\r\n": "not an HTTP/1 request line",
    b"EHLO localhost\r\n": "not an HTTP/1 request line",
    b"GET /" + b"a" * MAX_HEAD_BYTES: "header section over 65536 bytes",
    b"GET / HTTP/1.1\r\nA: " + b"a" * MAX_HEAD_BYTES + b"\r\n\r\n": "header section over 65536 bytes",
}


@pytest.mark.parametrize(("data", "reason"), UNSAFE_REQUESTS.items())
def test_what_is_not_safely_a_request_makes_the_framer_opaque(data: bytes, reason: str) -> None:
    assert request_reason(data) == reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"-5\r\nhello\r\n", "bad chunk size"),
        (b"0x5\r\nhello\r\n", "bad chunk size"),
        (b"\r\n", "bad chunk size"),
        (b"5\nhello", "bad chunk size"),
        (b"1234567890abcdef\r\n", "bad chunk size"),
        (b"5;" + b"x" * 5000, "bad chunk size"),
        (b"5\r\nhelloX\r\n", "a chunk does not end where its size says"),
        (b"0\r\nA: b\nC: d\r\n\r\n", "bare CR or LF in a trailer"),
        (b"0\r\nA: " + b"x" * 70000, "trailer section over 65536 bytes"),
        (b"0\r\n" + b"A: b\r\n" * 12000, "trailer section over 65536 bytes"),
    ],
)
def test_a_bad_chunk_makes_the_framer_opaque(body: bytes, reason: str) -> None:
    assert request_reason(CHUNKED, body) == reason
    assert request_reason(CHUNKED, *(body[at : at + 3] for at in range(0, len(body), 3))) == reason


def test_a_line_feed_alone_is_noticed_before_the_head_is_complete() -> None:
    assert request_reason(b"GET / HTTP/1.0\r", b"\nHost: x", b"\r\nA: b", b"\n") == "bare CR or LF in a head"
    assert request_reason(b"GET / HTTP/1.0\r", b"\nHost: x\r", b"\nA: b", b"\r") is None


def test_a_field_whose_name_only_contains_a_framing_name_is_no_framing_field() -> None:
    head = b"GET /content-length HTTP/1.1\r\nX-Content-Length: 5\r\nVary: Transfer-Encoding: x\r\n\r\n"
    assert requests(head) == [("RequestHead", head), ("End", b"")]


def test_equal_content_lengths_are_one() -> None:
    head = b"POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n"
    assert requests(head + b"ab") == [("RequestHead", head), ("Body", b"ab"), ("End", b"")]


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"


def test_responses_are_matched_with_the_methods_of_their_requests() -> None:
    assert responses(OK + OK + b"ok", "HEAD", "GET") == [
        ("ResponseHead", OK),
        ("End", b""),
        ("ResponseHead", OK),
        ("Body", b"ok"),
        ("End", b""),
    ]


@pytest.mark.parametrize("status", [204, 304])
def test_some_statuses_have_no_body_whatever_they_announce(status: int) -> None:
    head = b"HTTP/1.1 %d X\r\nContent-Length: 2\r\n\r\n" % status
    assert responses(head + OK + b"ok", "GET", "GET")[1] == ("End", b"")


def test_an_interim_response_is_followed_by_another_head() -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    assert responses(interim + OK + b"ok", "GET") == [
        ("ResponseHead", interim),
        ("ResponseHead", OK),
        ("Body", b"ok"),
        ("End", b""),
    ]


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n",
        b"HTTP/1.1 200\r\nTransfer-Encoding: gzip\r\n\r\n",
    ],
)
def test_a_response_without_a_length_ends_with_the_stream(head: bytes) -> None:
    framer = ResponseFramer()
    framer.expect("GET")
    assert outline(pieces_of(framer, head, b"all", b" the rest")) == [
        ("ResponseHead", head),
        ("Body", b"all the rest"),
    ]
    assert framer.ends_by_close


def test_after_101_the_bytes_are_opaque() -> None:
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
    assert responses(head + b"\x81\x00", "GET") == [("ResponseHead", head), ("Opaque", b"\x81\x00")]
    assert response_reason(head) == "upgraded to another protocol"


def test_after_a_successful_connect_the_bytes_are_opaque() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
    assert responses(head + b"\x16\x03", "CONNECT") == [("ResponseHead", head), ("Opaque", b"\x16\x03")]
    assert response_reason(head, "CONNECT") == "CONNECT tunnel"


def test_after_a_failed_connect_http_goes_on() -> None:
    head = b"HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\n"
    assert responses(head + b"no", "CONNECT")[-1] == ("End", b"")


def test_a_response_that_nobody_asked_for_is_opaque() -> None:
    assert responses(b"220 mail ready\r\n") == [("Opaque", b"220 mail ready\r\n")]
    assert responses(OK + b"ok" + b"HTTP/1.1 408", "GET")[-1] == ("Opaque", b"HTTP/1.1 408")


@pytest.mark.parametrize(
    "data", [b"ICY 200 OK\r\n", b"<html>", b"HTTP/1.1 2x0 OK\r\n", b"HTTP/1.1 099 X\r\n"]
)
def test_what_is_no_status_line_is_opaque(data: bytes) -> None:
    assert response_reason(data) == "not an HTTP/1 status line"


def test_a_folded_line_in_a_response_is_refused_only_where_it_touches_framing() -> None:
    assert response_reason(b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok") is None
    reason = response_reason(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n 0\r\n\r\nok")
    assert reason == "content-length is folded over two lines"
    reason = response_reason(b"HTTP/1.1 200 OK\r\nX: a\r\n Content-Length: 2\r\n\r\nok")
    assert reason == "malformed content-length field ' content-length: 2'"


def test_a_framer_becomes_opaque_when_it_is_told() -> None:
    framer = RequestFramer()
    pieces_of(framer, GET)
    framer.become_opaque("upgrade")
    assert pieces_of(framer, GET) == [Opaque(GET)]


def test_a_framer_whose_rest_is_taken_begins_that_head_anew() -> None:
    framer = RequestFramer()
    pieces_of(framer, b"GET / HTTP/1.1\r\nHost: x")
    assert framer.take_rest() == b"GET / HTTP/1.1\r\nHost: x"
    short = b"GET / HTTP/1.1\r\n\r\n"
    assert outline(pieces_of(framer, short)) == [("RequestHead", short), ("End", b"")]
    pieces_of(framer, b"GET / HTTP/1.1\r\nHost: x")
    framer.take_rest()
    assert pieces_of(framer, b"\x16\x03") == [Opaque(b"\x16\x03")]


def test_a_head_tells_its_parts() -> None:
    raw = b"GET /a/b?q=1 HTTP/1.1\r\nHost:  x \r\nConnection: Keep-Alive\r\nA: 1\r\na: 2\r\n\r\n"
    head = read_request_head(raw)
    assert (head.method, head.target, head.path, head.version) == ("GET", "/a/b?q=1", "/a/b", "HTTP/1.1")
    assert head.headers == (("Host", "x"), ("Connection", "Keep-Alive"), ("A", "1"), ("a", "2"))
    assert (head.header("HOST"), head.header("a"), head.header("none")) == ("x", "1, 2", None)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("GET http://h:80/p/q?x#y HTTP/1.1", "/p/q"),
        ("GET http://h HTTP/1.1", "/"),
        ("GET http://h?x=/y HTTP/1.1", "/"),
        ("OPTIONS * HTTP/1.1", "*"),
        ("CONNECT h:443 HTTP/1.1", ""),
    ],
)
def test_the_path_is_the_same_in_every_form_of_target(line: str, path: str) -> None:
    assert read_request_head(f"{line}\r\n\r\n".encode()).path == path


@pytest.mark.parametrize(
    ("version", "connection", "kept"),
    [("1.1", "", True), ("1.1", "x, Close", False), ("1.0", "", False), ("1.0", "keep-alive", True)],
)
def test_a_head_says_whether_the_connection_is_kept(version: str, connection: str, kept: bool) -> None:
    raw = f"GET / HTTP/{version}\r\nConnection: {connection}\r\n\r\n".encode()
    assert read_request_head(raw).keep_alive is kept


@pytest.mark.parametrize(
    ("field", "may_switch"), [("Upgrade: websocket", True), ("X-Upgrade: 1", False), ("Via: upgrade", False)]
)
def test_a_head_says_whether_the_answer_may_switch_protocols(field: str, may_switch: bool) -> None:
    assert read_request_head(f"GET / HTTP/1.1\r\n{field}\r\n\r\n".encode()).may_switch is may_switch


def test_pieces_of_one_kind_are_told_apart_by_type() -> None:
    kinds = {type(piece) for piece in pieces_of(RequestFramer(), b"\r\n" + POST + b"hello")}
    assert kinds == {Blank, RequestHead, Body, End}
    framer = ResponseFramer()
    framer.expect("GET")
    assert isinstance(pieces_of(framer, OK)[0], ResponseHead)
