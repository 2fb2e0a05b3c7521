"""The Inspector's client through the gateway, for all four pairs of transports and both eras."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.gateway.gateway_processes import PROJECT, WAYS, GatewayTargets, all_places
from tests.mcp.node import NODE, PACKAGES, REASON, has_package

INSPECTOR = "@modelcontextprotocol/inspector"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not has_package(INSPECTOR), reason=REASON)]


@pytest.fixture(scope="module")
def places() -> Iterator[GatewayTargets]:
    with all_places() as found:
        yield found


@pytest.mark.thorough
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("way", WAYS)
def test_the_inspector_calls_tools_through_the_gateway(
    places: GatewayTargets, way: str, era: str, tmp_path: Path
) -> None:
    place = places.of(way)
    entry: dict[str, Any] = (
        {"type": "streamable-http", "url": place}
        if isinstance(place, str)
        else {"command": place[0], "args": place[1:], "cwd": str(PROJECT)}
    )
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"features": entry}}))
    inspector = [NODE, str(PACKAGES / ".bin/mcp-inspector"), "--cli", "--config", str(config)]
    words = ["--server", "features", "--method", "tools/call", "--tool-name", "test_simple_text"]
    done = subprocess.run(
        [*inspector, *words, "--protocol-era", era],
        capture_output=True,
        text=True,
        timeout=30,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert "This is a simple text response for testing." in done.stdout, done.stderr
