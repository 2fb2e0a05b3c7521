"""Members that can be found in an incomplete object."""

from __future__ import annotations

import pytest

from faultkit.mcp.wire.json_text import visible_members


@pytest.mark.parametrize(
    ("head", "known"),
    [
        (
            b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":"',
            {"jsonrpc": "2.0", "id": 7, "method": "m", "params": None},
        ),
        (b' { "id" : "a\\u00e9" , "params": {"id": 5, "method": "x"', {"id": "aé", "params": None}),
        (b'{"params":{"id":5},"id":6', {"params": None, "id": None}),
        (b'{"id":6 ', {"id": None}),
        (b'{"id":6.5}', {"id": None}),
        (b'{"result":NaN,"id":6}', {"result": None, "id": 6}),
        (b'{"result":{"a\\"":"}"},"id":"x"}', {"result": None, "id": "x"}),
        (b'{"a":' + b"[" * 9 + b"]" * 9 + b',"id":6}', {"a": None, "id": 6}),
        (b'{"a":' + b"7" * 5_000 + b',"id":6}', {"a": None, "id": 6}),
        (b'{"id":6,', {"id": 6}),
        (b'{"id":6}', {"id": 6}),
        (b'{"id"', {}),
        (b"{", {}),
        (b"", {}),
        (b'["id", 5, ', {}),
        (b'{"a":' + b"[" * 100_000, {"a": None}),
        (b'{"id":1,"x":"\xc3', {"id": 1, "x": None}),
    ],
)
def test_members_are_known_as_far_as_they_are_whole(head: bytes, known: dict[str, object]) -> None:
    assert visible_members(head) == known


@pytest.mark.parametrize(
    ("tail", "id"),
    [
        (b'xxx"}]},"id":7}', 7),
        (b'xxx"}]} , "jsonrpc" : "2.0", "id":"a" } ', "a"),
        (b'xxx"}]},"id":7,"jsonrpc":"2.0"}', 7),
        (b'xxx","id":7}}', None),
        (b'xxx","id":7,"more":{}}', None),
        (b"", None),
    ],
)
def test_an_id_behind_a_long_result_is_known(tail: bytes, id: object) -> None:
    assert visible_members(b'{"result":{"content":[{"text":"xxx', tail).get("id") == id
