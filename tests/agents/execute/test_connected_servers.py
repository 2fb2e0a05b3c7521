"""Mocks in memory: a tool that sends messages during a call answers at once, one that asks is refused."""

from __future__ import annotations

import pytest

from faultkit.agents.execute.connected_servers import MockSource
from faultkit.base.errors import TargetError
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.testing import run_virtual

MANIFEST = parse_manifest(
    [
        {
            "name": "talks",
            "sends": [{"log": "x"}, {"progress": 1, "after_ms": 5000}],
            "response": "call ${call}",
        },
        {"name": "asks", "sampling": True},
    ]
)


def test_messages_during_a_call_are_not_for_agents() -> None:
    mock = MockSource("shop", MANIFEST).begin()
    for number in (1, 2):
        reply = run_virtual(mock.call("talks", {}))
        assert reply["result"] == {"content": [{"type": "text", "text": f"call {number}"}]}


def test_a_tool_that_asks_its_client_cannot_be_called() -> None:
    mock = MockSource("shop", MANIFEST).begin()
    with pytest.raises(
        TargetError, match="shop: `asks` asks its client, and an agent of a suite has no answers"
    ):
        run_virtual(mock.call("asks", {}))
