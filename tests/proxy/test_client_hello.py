"""What is read of a ClientHello."""

import ssl
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.proxy.client_hello import ClientHello, NotTls, read_client_hello


def hello(name: str | None, *protocols: str) -> bytes:
    """The first bytes of a real client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    if protocols:
        context.set_alpn_protocols(list(protocols))
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize(
    ("name", "protocols", "expected"),
    [
        ("api.example.com", ("h2", "http/1.1"), ClientHello("api.example.com", ("h2", "http/1.1"))),
        ("API.example.com", (), ClientHello("api.example.com")),
        (None, (), ClientHello()),
        ("127.0.0.1", ("http/1.1",), ClientHello(None, ("http/1.1",))),
    ],
)
def test_the_name_and_the_protocols_are_read(
    name: str | None, protocols: tuple[str, ...], expected: ClientHello
) -> None:
    sent = hello(name, *protocols)
    assert read_client_hello(sent) == expected
    assert read_client_hello(sent + b"more") == expected
    assert {read_client_hello(sent[:size]) for size in range(len(sent))} == {None}


def test_a_message_may_span_several_records() -> None:
    sent = hello("api.example.com")
    body = sent[5:]
    pieces = [body[place : place + 7] for place in range(0, len(body), 7)]
    in_records = b"".join(sent[:3] + len(piece).to_bytes(2, "big") + piece for piece in pieces)
    assert read_client_hello(in_records) == ClientHello("api.example.com")
    assert read_client_hello(in_records[:-1]) is None


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"GET / HTTP/1.1\r\n", "it speaks no TLS"),
        (b"\x16\x02", "it speaks no TLS"),
        (b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", "it does not begin with a ClientHello"),
        (b"\x16\x03\x01\x00\x04\x01\xff\xff\xff", "its ClientHello is too long"),
        (b"\x16\x03\x01\x00\x06\x01\x00\x00\x02\x03\x03", "its ClientHello is malformed"),
    ],
)
def test_what_is_none_is_refused(sent: bytes, why: str) -> None:
    with pytest.raises(NotTls, match=why):
        read_client_hello(sent)


@settings(deadline=None, max_examples=200)
@given(st.integers(5, 500), st.binary(min_size=1, max_size=8))
def test_damage_raises_nothing_else(place: int, damage: bytes) -> None:
    sent = bytearray(hello("api.example.com", "h2"))
    sent[place : place + len(damage)] = damage
    with suppress(NotTls):
        read_client_hello(bytes(sent))


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_a_hello_or_none_or_no_tls(sent: bytes) -> None:
    for data in (sent, b"\x16\x03\x01" + sent):
        with suppress(NotTls):
            read_client_hello(data)


def test_records_without_content_do_not_pile_up() -> None:
    empty = b"\x16\x03\x01\x00\x00"
    assert read_client_hello(empty * 100) is None
    with pytest.raises(NotTls, match="too long"):
        read_client_hello(empty * 20_000)
