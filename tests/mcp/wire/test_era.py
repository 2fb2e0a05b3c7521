"""The era of a request, and the requirements of the modern era."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.mcp.wire.era import (
    CAPABILITIES_KEY,
    HEADER_MISMATCH,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    decode_header_value,
    encode_header_value,
    era_of,
    headers_of,
    refusal_of,
)
from faultkit.mcp.wire.message import INVALID_PARAMS, Incoming, encode, read

META = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}


def request(method: str = "tools/call", **params: Any) -> Incoming:
    return read(encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))


def headers(incoming: Incoming) -> dict[str, str]:
    return {name.lower(): value for name, value in headers_of(incoming)}


@pytest.mark.parametrize(
    ("incoming", "given_headers", "era"),
    [
        (request("initialize"), None, "legacy"),
        (request("tools/list", _meta=META), None, "modern"),
        (request("tools/list"), {}, "legacy"),
        (request("tools/list"), {"mcp-protocol-version": "2025-06-18"}, "legacy"),
        (request("tools/list"), {"mcp-protocol-version": "2026-07-28"}, "modern"),
        (request("tools/list"), {"mcp-protocol-version": "2099-01-01"}, "modern"),
    ],
)
def test_the_era_is_told_by_meta_and_header(
    incoming: Incoming, given_headers: dict[str, str] | None, era: str
) -> None:
    assert era_of(incoming, given_headers) == era


def test_headers_made_from_the_body_fit_the_body() -> None:
    incoming = request(name="süchen", _meta=META)
    assert refusal_of(incoming, headers(incoming)) is None
    assert refusal_of(incoming) is None


@pytest.mark.parametrize(
    ("header", "value", "words"),
    [
        ("mcp-method", "tools/list", "mcp-method differs"),
        ("mcp-name", "other", "mcp-name differs"),
        ("mcp-name", None, "mcp-name is missing"),
        ("mcp-protocol-version", "2025-11-25", "mcp-protocol-version differs"),
    ],
)
def test_headers_that_contradict_the_body_are_refused(header: str, value: str | None, words: str) -> None:
    incoming = request(name="search", _meta=META)
    wrong = headers(incoming)
    if value is None:
        del wrong[header]
    else:
        wrong[header] = value
    refusal = refusal_of(incoming, wrong)
    assert refusal is not None
    assert (refusal.status, refusal.code) == (400, HEADER_MISMATCH)
    assert words in refusal.message


def test_a_version_that_is_not_served_is_refused_with_those_that_are() -> None:
    refusal = refusal_of(request("tools/list", _meta={**META, VERSION_KEY: "2099-01-01"}))
    assert refusal is not None
    assert (refusal.status, refusal.code) == (400, UNSUPPORTED_VERSION)
    assert refusal.data == {"supported": ["2026-07-28"], "requested": "2099-01-01"}


def test_missing_meta_is_named() -> None:
    refusal = refusal_of(request("tools/list", _meta={VERSION_KEY: "2026-07-28"}))
    assert refusal is not None
    assert (refusal.status, refusal.code) == (400, INVALID_PARAMS)
    assert CAPABILITIES_KEY in refusal.message


@given(st.text())
def test_every_text_survives_a_header(text: str) -> None:
    value = encode_header_value(text)
    assert value.isascii()
    assert value.isprintable()
    assert decode_header_value(value) == text


def test_a_broken_encoding_means_nothing() -> None:
    assert decode_header_value("=?base64?***?=") is None
