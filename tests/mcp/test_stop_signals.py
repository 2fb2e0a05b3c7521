"""Stop signals are handled before a server prints its address, and until it has stopped completely."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from faultkit.mcp.gateway.gateway_run import GatewayJob, run_gateway
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.mock.mock_server import MockJob, run_mock
from tests.mcp.gateway.gateway_peers import LINE_SERVER

MANIFEST = parse_manifest({"tools": [{"name": "a", "response": "b"}]})
CONTROL = ("127.0.0.1", 0)
SERVERS: dict[str, Callable[[Callable[[str], None]], Any]] = {
    "bridge": lambda say: run_gateway(GatewayJob(tuple(LINE_SERVER), front="http", port=0), say),
    "relay": lambda say: run_gateway(
        GatewayJob(upstream="http://127.0.0.1:1/mcp", front="http", port=0, control=CONTROL), say
    ),
    "mock": lambda say: run_mock(MockJob(MANIFEST, front="http", port=0), say),
}


@pytest.mark.parametrize("name", SERVERS)
def test_a_signal_that_comes_with_the_first_word_ends_a_server_in_good_order(name: str) -> None:
    heeded: list[bool] = []

    def say(line: str) -> None:
        heeded.append(signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL)
        # Without a handler it would end the test run.
        if heeded[-1]:
            os.kill(os.getpid(), signal.SIGTERM)

    async def main() -> object:
        async with asyncio.timeout(10):
            return await SERVERS[name](say)

    ended = asyncio.run(main())
    assert getattr(ended, "why", ended) == "SIGTERM"
    assert all(heeded)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
