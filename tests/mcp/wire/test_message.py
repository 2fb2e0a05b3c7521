"""JSON-RPC messages: parsing and encoding."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.mcp.wire.message import (
    INVALID_REQUEST,
    PARSE_ERROR,
    encode,
    error_of,
    read,
    result_of,
    target_of,
)


@pytest.mark.parametrize(
    ("raw", "kind", "id", "method"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', "request", 1, "ping"),
        (b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{}}', "request", "a", "tools/call"),
        (b'{"jsonrpc":"2.0","method":"note"}', "notification", None, "note"),
        (b'{"jsonrpc":"2.0","id":7,"result":{}}', "response", 7, ""),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}', "response", None, ""),
        (b' {"method":"ping","id":0,"jsonrpc":"2.0"} ', "request", 0, "ping"),
    ],
)  # fmt: skip
def test_each_kind_of_message_is_known(raw: bytes, kind: str, id: object, method: str) -> None:
    incoming = read(raw)
    assert (incoming.kind, incoming.id, incoming.method, incoming.raw) == (kind, id, method, raw)


@pytest.mark.parametrize(
    ("raw", "code", "id", "words"),
    [
        (b"{", PARSE_ERROR, None, "at character"),
        (b"\xff\xfe", PARSE_ERROR, None, "not UTF-8"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}', PARSE_ERROR, None, "NaN is no JSON"),
        (b"[" * 100_000, PARSE_ERROR, None, "nested too deeply"),
        (b'{"id":' + b"7" * 6000 + b"}", PARSE_ERROR, None, "Parse error: a number has too many digits"),
        (b'{"jsonrpc":"2.0"} {}', PARSE_ERROR, None, "Parse error: Extra data at character 18"),
        (b"[]", INVALID_REQUEST, None, "expected a JSON object"),
        (b"3", INVALID_REQUEST, None, "expected a JSON object"),
        (b'{"id":4,"method":"ping"}', INVALID_REQUEST, 4, '"jsonrpc": "2.0"'),
        (b'{"jsonrpc":"2.0","id":4}', INVALID_REQUEST, 4, 'a "method", a "result" or an "error"'),
        (b'{"jsonrpc":"2.0","id":4,"method":5}', INVALID_REQUEST, 4, "a text as method"),
        (b'{"jsonrpc":"2.0","id":4,"method":"x","params":[1]}', INVALID_REQUEST, 4, "an object as params"),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"}', INVALID_REQUEST, None, "as id"),
        (b'{"jsonrpc":"2.0","id":true,"method":"x"}', INVALID_REQUEST, None, "as id"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"x"}', INVALID_REQUEST, None, "as id"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_says_what_its_sender_is_owed(
    raw: bytes, code: int, id: object, words: str
) -> None:
    incoming = read(raw)
    assert incoming.kind == "invalid"
    assert incoming.problem is not None
    assert (incoming.problem[0], incoming.id) == (code, id)
    assert words in incoming.problem[1]


def test_a_batch_is_read_item_by_item() -> None:
    incoming = read(b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"n"},5]')
    assert incoming.kind == "batch"
    assert [item.kind for item in incoming.items] == ["request", "notification", "invalid"]


@given(st.binary(max_size=200))
def test_reading_never_raises(raw: bytes) -> None:
    assert read(raw).raw == raw


_JSON: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.integers() | st.text(), _JSON)
def test_what_is_written_is_read_again(id: int | str, result: object) -> None:
    incoming = read(result_of(id, result))
    assert (incoming.kind, incoming.id, incoming.message["result"]) == ("response", id, result)


def test_a_written_message_has_no_line_end_inside() -> None:
    assert b"\n" not in error_of(1, -1, "two\nlines", {"a": "\r\n"})


def test_half_a_surrogate_pair_stays_escaped() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"result":{"text":"\\ud800"}}'
    assert encode(read(raw).message) == raw


def test_umlauts_are_written_as_utf_8() -> None:
    assert encode({"a": "ü"}) == '{"a":"ü"}'.encode()


@pytest.mark.parametrize(
    ("method", "params", "target"),
    [
        ("tools/call", {"name": "search"}, "search"),
        ("prompts/get", {"name": "p"}, "p"),
        ("resources/read", {"uri": "file:///a"}, "file:///a"),
        ("tools/call", {"name": 5}, ""),
        ("tools/list", {"name": "x"}, ""),
    ],
)
def test_a_request_tells_what_it_is_about(method: str, params: dict[str, object], target: str) -> None:
    assert target_of(method, params) == target


def test_ids_are_kept_as_they_came() -> None:
    huge = 2**80
    assert json.loads(result_of(huge, {}))["id"] == huge
