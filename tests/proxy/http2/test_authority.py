"""The authority of requests in frames that pass as they are: what the upstream reads, field by field."""

from __future__ import annotations

import random

import pytest
from hpack import Decoder, Encoder, NeverIndexedHeaderTuple

from faultkit.proxy.http2.authority import AuthorityRewriter, rehosting

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
OWN = b"localhost:34000"
DATA, HEADERS, SETTINGS, PING, CONTINUATION = 0x0, 0x1, 0x4, 0x6, 0x9
END_STREAM, END_HEADERS, PADDED, PRIORITY = 0x1, 0x4, 0x8, 0x20

Fields = list[tuple[bytes, bytes]]


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def frames_of(data: bytes) -> list[tuple[int, int, int, bytes]]:
    found = []
    while data:
        length = int.from_bytes(data[:3], "big")
        found.append((data[3], data[4], int.from_bytes(data[5:9], "big"), data[9 : 9 + length]))
        data = data[9 + length :]
    return found


def blocks_of(data: bytes) -> list[bytes]:
    """The blocks of header fields, as an upstream puts them together."""
    blocks: list[bytes] = []
    for kind, flags, _, payload in frames_of(data):
        if kind == HEADERS:
            pad = payload[0] if flags & PADDED else 0
            begin = (1 if flags & PADDED else 0) + (5 if flags & PRIORITY else 0)
            blocks.append(payload[begin : len(payload) - pad])
        elif kind == CONTINUATION:
            blocks[-1] += payload
    return blocks


def headers(dice: random.Random, stream: int, block: bytes) -> bytes:
    """Frames of a block, in one of the ways that a client may choose."""
    flags, before, pad = END_STREAM, b"", 0
    if dice.random() < 0.3:
        flags, before = flags | PRIORITY, bytes(5)
    cut = dice.randrange(len(block) + 1) if dice.random() < 0.3 else len(block)
    if dice.random() < 0.3:
        pad = dice.randrange(20)
        flags |= PADDED
        before = bytes((pad,)) + before
    first, rest = block[:cut], block[cut:]
    if not rest:
        return frame(HEADERS, flags | END_HEADERS, stream, before + first + bytes(pad))
    half = len(rest) // 2
    return (
        frame(HEADERS, flags, stream, before + first + bytes(pad))
        + frame(CONTINUATION, 0, stream, rest[:half])
        + frame(CONTINUATION, END_HEADERS, stream, rest[half:])
    )


def request(dice: random.Random) -> Fields:
    host = dice.choice((OWN, OWN, b"other.example:34000", b"api.example.com", b""))
    fields = [
        (b":method", dice.choice((b"GET", b"PATCH"))),
        (b":scheme", b"https"),
        (dice.choice((b":authority", b":authority", b"host")), host),
        (b":path", b"/%d" % dice.randrange(20)),
    ]
    if dice.random() < 0.5:
        fields.append((b"x-%d" % dice.randrange(30), dice.randbytes(dice.choice((0, 5, 60, 300)))))
    if dice.random() < 0.2:
        fields.append(NeverIndexedHeaderTuple(b"host", OWN))
    return fields


@pytest.mark.parametrize("host", ["a.b", "localhost:44300", f"{'long.' * 40}example.com"])
@pytest.mark.parametrize("own_port", [34000, None])
def test_an_upstream_reads_every_field_and_the_other_authority(host: str, own_port: int | None) -> None:
    dice = random.Random(f"{host} {own_port}")
    encoder, decoder = Encoder(), Decoder()
    rehost = rehosting(host, own_port)
    rewriter = AuthorityRewriter(rehost)
    sent, expected, out = PREFACE + frame(SETTINGS, 0, 0, b""), [], b""
    for number in range(150):
        if dice.random() < 0.05:
            encoder.header_table_size = dice.choice((0, 200, 1000, 4096))
        fields = request(dice)
        sent += headers(dice, 2 * number + 1, encoder.encode(fields))
        expected.append(
            [(name, rehost(value) if name in (b":authority", b"host") else value) for name, value in fields]
        )
        if dice.random() < 0.5:
            sent += frame(DATA, END_STREAM, 2 * number + 1, dice.randbytes(dice.randrange(500)))
    while sent:
        cut = dice.choice((1, 9, 100, 5000))
        out += rewriter.feed(sent[:cut])
        sent = sent[cut:]
    assert out[:24] == PREFACE
    assert [decoder.decode(block, raw=True) for block in blocks_of(out[24:])] == expected
    assert rewriter.requests == 150
    assert rewriter.end() == b""


def test_frames_without_a_field_to_replace_pass_to_the_byte() -> None:
    dice = random.Random(3)
    encoder, rewriter = Encoder(), AuthorityRewriter(rehosting("upstream:443", 1))
    sent = PREFACE
    for number in range(60):
        sent += headers(dice, 2 * number + 1, encoder.encode(request(dice)))
        sent += frame(PING, 0, 0, bytes(8))
    assert rewriter.feed(sent) == sent


def test_a_field_that_is_in_the_table_is_replaced_once() -> None:
    encoder, rewriter = Encoder(), AuthorityRewriter(rehosting("upstream", 34000))
    first, second = (encoder.encode([(b":authority", OWN)]) for _ in range(2))
    assert rewriter.feed(PREFACE + frame(HEADERS, END_HEADERS, 1, first)) == PREFACE + frame(
        HEADERS, END_HEADERS, 1, b"\x41\x08upstream"
    )
    again = frame(HEADERS, END_HEADERS, 3, second)
    assert (second, rewriter.feed(again)) == (b"\xbe", again)


def test_a_block_that_has_become_larger_than_a_frame_is_sent_in_two() -> None:
    filler = b"\x00\x01x\x7f\xe9\x7e" + bytes(16360)  # A field of 16,360 bytes that no table gets.
    block = filler + b"\x01\x01:"
    rewriter = AuthorityRewriter(rehosting("upstream.example.com:443", None))
    out = rewriter.feed(PREFACE + frame(HEADERS, END_HEADERS | END_STREAM, 1, block))
    kinds = [(kind, flags, len(payload)) for kind, flags, _, payload in frames_of(out[24:])]
    expected = filler + b"\x01\x18upstream.example.com:443"
    assert kinds == [(HEADERS, END_STREAM, 16384), (CONTINUATION, END_HEADERS, len(expected) - 16384)]
    assert blocks_of(out[24:]) == [expected]


def test_a_frame_that_is_larger_than_every_peer_takes_stays_so() -> None:
    block = b"\x01\x01:" + b"\x00\x01x\x7f\xb9\x7f" + bytes(16440)
    rewriter = AuthorityRewriter(rehosting("upstream.example.com:443", None))
    out = rewriter.feed(PREFACE + frame(HEADERS, END_HEADERS, 1, block))
    assert [len(payload) for *_, payload in frames_of(out[24:])] == [len(block), 23]


@pytest.mark.parametrize(
    "broken",
    [
        frame(HEADERS, END_HEADERS, 1, b"\x20\xbf"),  # A field that the table does not have.
        frame(HEADERS, END_HEADERS, 1, b"\x20\x80"),  # Field 0.
        frame(HEADERS, END_HEADERS, 1, b"\x41\x7f"),  # A string that is cut.
        frame(HEADERS, END_HEADERS, 1, b"\x41\x7f\xff\xff\xff\xff\xff"),  # A number without an end.
        frame(HEADERS, END_HEADERS, 1, b"\x41\x81\x00"),  # No Huffman code.
        frame(HEADERS, END_HEADERS, 1, b"\x3f\xe1\xff\xff\x7f"),  # A table of many megabytes.
        frame(HEADERS, END_HEADERS | PADDED, 1, b"\x05\x82"),  # More padding than there are bytes.
        frame(CONTINUATION, END_HEADERS, 1, b"\x82"),
        frame(HEADERS, 0, 1, b"\x41") + frame(PING, 0, 0, bytes(8)),
        frame(HEADERS, 0, 1, b"\x41") + frame(CONTINUATION, 0, 3, b"\x82"),
        frame(HEADERS, 0, 1, b"\x41") + frame(CONTINUATION, 0, 1, bytes(60_000)) * 2,
        frame(HEADERS, END_HEADERS, 1, bytes(1 << 17)),
    ],
)
@pytest.mark.parametrize("step", [1 << 20, 7])
def test_what_cannot_be_read_passes_unchanged_from_there_on(broken: bytes, step: int) -> None:
    block = Encoder().encode([(b":authority", OWN)])
    sent = PREFACE + broken + frame(HEADERS, END_HEADERS, 5, block)
    rewriter = AuthorityRewriter(rehosting("upstream", 34000))
    out = b"".join(rewriter.feed(sent[place : place + step]) for place in range(0, len(sent), step))
    assert out + rewriter.end() == sent


def test_the_end_lets_go_what_was_held_back() -> None:
    rewriter = AuthorityRewriter(rehosting("upstream", 34000))
    half = frame(HEADERS, 0, 1, b"\x82") + frame(CONTINUATION, 0, 1, b"\x84") + b"\x00\x00"
    assert rewriter.feed(PREFACE + half) == PREFACE
    assert rewriter.end() == half
