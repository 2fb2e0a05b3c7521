"""What can be told of an object by how it begins."""

from __future__ import annotations

import pytest

from faultkit.mcp.wire.members import whole_members


@pytest.mark.parametrize(
    ("head", "known"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":"', {"jsonrpc": "2.0", "id": 7, "method": "m"}),
        (b' { "id" : "a\\u00e9" , "params": {"id": 5, "method": "x"', {"id": "aé"}),
        (b'{"params":{"id":5},"id":6', {"params": {"id": 5}}),
        (b'{"id":6 ', {}),
        (b'{"id":6,', {"id": 6}),
        (b'{"id":6}', {"id": 6}),
        (b'{"id"', {}),
        (b"{", {}),
        (b"", {}),
        (b'["id", 5, ', {}),
        (b'{"a":' + b"[" * 100_000, {}),
        (b'{"id":1,"x":"\xc3', {"id": 1}),
    ],
)
def test_members_are_known_as_far_as_they_are_whole(head: bytes, known: dict[str, object]) -> None:
    assert whole_members(head) == known
