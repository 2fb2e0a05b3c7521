"""Frames in a stream of bytes: heads of every length, parts, and what RFC 6455 does not allow."""

import pytest

from faultkit.proxy.websocket.frame_scanner import BadFrames, FrameHead, FramePart, FrameScanner
from faultkit.proxy.websocket.frame_writer import masked

MASK = b"\x01\x02\x03\x04"


def scan(payload: bytes, **options: bool) -> list[FrameHead | FramePart]:
    return list(FrameScanner(**{"masked": False, **options}).feed(payload))


def test_a_frame_is_a_head_and_parts() -> None:
    assert scan(b"\x81\x02hi\x82\x00") == [
        FrameHead(1, True, False, b"", 2, b"\x81\x02"),
        FramePart(b"hi", True),
        FrameHead(2, True, False, b"", 0, b"\x82\x00"),
        FramePart(b"", True),
    ]


@pytest.mark.parametrize(
    ("head", "length"),
    [
        (b"\x82\x7d", 125),
        (b"\x82\x7e\x00\x7e", 126),
        (b"\x82\x7e\xff\xff", 65535),
        (b"\x82\x7f" + (65536).to_bytes(8, "big"), 65536),
        (b"\x82\x7f" + (2**62).to_bytes(8, "big"), 2**62),
    ],
)
def test_lengths_take_one_two_or_eight_bytes(head: bytes, length: int) -> None:
    assert scan(head) == [FrameHead(2, True, False, b"", length, head)]
    scanner = FrameScanner(masked=True)
    key = bytes([head[0], head[1] | 0x80]) + head[2:] + MASK
    found = [piece for byte in key for piece in scanner.feed(bytes([byte]))]
    assert found == [FrameHead(2, True, False, MASK, length, key)]


def test_a_payload_comes_in_the_parts_in_which_it_arrives() -> None:
    scanner = FrameScanner(masked=False)
    assert list(scanner.feed(b"\x01\x04ab"))[1:] == [FramePart(b"ab", False)]
    assert list(scanner.feed(b"c")) == [FramePart(b"c", False)]
    assert list(scanner.feed(b"d\x80")) == [FramePart(b"d", True)]
    assert scanner.take_rest() == b"\x80"


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"\x83\x00", "unknown opcode 0x3"),
        (b"\x8b\x00", "unknown opcode 0xb"),
        (b"\x80\x00", "continuation of no message"),
        (b"\x01\x00\x81\x00", "message inside another"),
        (b"\x09\x00", "control frame in fragments"),
        (b"\x89\x7e\x00\x80", "more than 125"),
        (b"\x82\x7e\x00\x7d", "as few bytes"),
        (b"\x82\x7f" + (65535).to_bytes(8, "big"), "as few bytes"),
        (b"\x82\x7f" + b"\xff" * 8, "highest bit"),
        (b"\xc1\x00", "reserved bit"),
        (b"\xa1\x00", "reserved bit"),
        (b"\x81\x80", "masked frames"),
    ],
)
def test_what_is_no_websocket_is_refused_and_kept(raw: bytes, why: str) -> None:
    scanner = FrameScanner(masked=False)
    with pytest.raises(BadFrames, match=why):
        list(scanner.feed(raw + b"rest"))
    assert (raw + b"rest").endswith(scanner.take_rest())
    assert scanner.take_rest() == b""


def test_a_client_must_mask() -> None:
    with pytest.raises(BadFrames, match="without a mask"):
        scan(b"\x81\x00", masked=True)


def test_extensions_may_use_reserved_bits() -> None:
    first = scan(b"\xc1\x00", allows_rsv1=True)[0]
    assert isinstance(first, FrameHead)
    assert first.rsv1
    assert len(scan(b"\xb3\x00", strict=False)) == 2
    with pytest.raises(BadFrames):
        scan(b"\x01\x00\xc0\x00", allows_rsv1=True)  # Only the first frame of a message has the bit.


def test_a_mask_is_taken_off_from_any_place_on() -> None:
    whole = masked(b"hello, world", MASK)
    assert whole[:4] == bytes(a ^ b for a, b in zip(b"hell", MASK, strict=True))
    for place in range(12):
        assert masked(whole[place:], MASK, place) == b"hello, world"[place:]
    assert masked(b"hi", b"") == b"hi"
