"""The Inspector distinguishes a failed tool from a call that could not be made, on both transports and
eras."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.failures.test_clients import COMMAND, PROJECT, url
from tests.mcp.node import NODE, PACKAGES, REASON, has_package

__all__ = ["url"]
INSPECTOR = "@modelcontextprotocol/inspector"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not has_package(INSPECTOR), reason=REASON)]


def inspected(entry: dict[str, Any], era: str, folder: Path, *arguments: str) -> Any:
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"tools": entry}}))
    words = [
        NODE,
        str(PACKAGES / ".bin/mcp-inspector"),
        "--cli",
        "--config",
        str(config),
        "--server",
        "tools",
    ]
    words += ["--method", "tools/call", "--tool-name", "error", "--protocol-era", era]
    for argument in arguments:
        words += ["--tool-arg", argument]
    env = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
    return subprocess.run(words, capture_output=True, text=True, timeout=60, env=env)


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_the_inspector_tells_the_two_kinds_of_errors_apart(
    transport: str, era: str, url: str, tmp_path: Path
) -> None:
    entry: dict[str, Any] = (
        {"type": "streamable-http", "url": url}
        if transport == "http"
        else {"command": sys.executable, "args": COMMAND, "cwd": str(PROJECT)}
    )
    failed = inspected(entry, era, tmp_path, "message=no luck", "as_tool=true")
    result = json.loads(failed.stdout)
    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "no luck"}]
    refused = inspected(entry, era, tmp_path, "message=no luck")
    assert "no luck" in refused.stderr
    assert "isError" not in refused.stdout
    assert refused.returncode != 0
