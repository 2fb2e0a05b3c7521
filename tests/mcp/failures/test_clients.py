"""Real clients distinguish the two kinds of errors: a tool that failed, and a call that could not be made."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faultkit.faults.call_fault import Era
from tests.mcp.faults.clients.client_libraries import PEERS

PROJECT = Path(__file__).parents[3]
COMMAND = ["-m", "faultkit", "serve", "--no-audit"]
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    words = [sys.executable, *COMMAND, "--transport", "http", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=PROJECT) as process:
        try:
            assert process.stderr is not None
            found = re.search(r"http://\S+", process.stderr.readline())
            assert found is not None
            yield found[0]
        finally:
            process.terminate()


async def outcomes(peer: Any, target: Any, era: Era) -> dict[str, tuple[str, Any]]:
    """Return what a program gets for each call: a result, or an exception."""
    found: dict[str, tuple[str, Any]] = {}
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "tool": ("error", {"message": "no luck", "category": "billing", "as_tool": True}),
        "protocol": ("error", {"message": "no luck", "category": "timeout"}),
        "flaky": ("flaky", {"fail_rate": 1, "seed": "abc", "call_id": 7}),
        "wrong": ("sized_response", {"size": -1}),
        "unknown": ("nosuch", {}),
        "well": ("echo", {"message": "hello"}),
    }
    options = {"raise_on_error": False} if peer.name == "fastmcp" else {}
    async with asyncio.timeout(PATIENCE_S), peer.open(target, era) as client:
        for case, (name, arguments) in asked.items():
            try:
                result = await client.call_tool(name, arguments, **options)
            except Exception as error:
                code = getattr(getattr(error, "error", None), "code", None)
                found[case] = ("raised", (code, str(error)))
            else:
                found[case] = ("error" if result.is_error else "result", result.content[0].text)
    return found


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("name", list(PEERS))
def test_a_client_tells_the_two_kinds_of_errors_apart(name: str, transport: str, era: Era, url: str) -> None:
    if name == "fastmcp":
        pytest.importorskip("fastmcp")
    peer = PEERS[name]()
    with warnings.catch_warnings(), open(os.devnull, "w") as heard:
        # The libraries warn about future changes of their own.
        warnings.simplefilter("ignore")
        target = url if transport == "http" else peer.process(sys.executable, COMMAND, PROJECT, heard)
        found = asyncio.run(outcomes(peer, target, era))
    assert found["tool"] == ("error", "no luck")
    assert found["wrong"] == ("error", "size must be >= 0, got -1")
    assert found["well"] == ("result", '{"message":"hello"}')
    for case, code, text in (
        ("protocol", -31001, "no luck"),
        ("flaky", -31002, "flaky failure (roll=0.0961 < rate=1.0000)"),
        ("unknown", -32602, 'unknown tool "nosuch"'),
    ):
        kind, (told, words) = found[case]
        assert (kind, told) == ("raised", code), case
        assert text in words
