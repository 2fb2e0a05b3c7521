"""The command lines of seed 003 about its mock, as printed there, and the results of the SDK's client."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import stdio_client

from faultkit.cli.entry import invoke_mcptest
from mcp import Client, MCPError, StdioServerParameters

PRINTED = "mcptest mock --tools-from ./tools.yml --fault hang"
MODES = ("legacy", "2026-07-28")
SHORT_S = 0.3
LONG_S = 10.0
"""Seconds to wait for an answer, on a slow machine."""

TOOLS = """\
mock_server:
  tools:
    - name: search
      description: Search for incident reports.
      input_schema: {type: object, properties: {q: {type: string}}, required: [q]}
      response: "report about ${args.q}"
    - {name: status, response: fine}
  resources:
    - {uri: "mem://readme", text: read me}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder in which the lines are run, with tools.yml in it and mcptest on the path."""
    (tmp_path / "tools.yml").write_text(TOOLS)
    script = tmp_path / "bin" / "mcptest"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nfrom faultkit.cli.entry import mcptest\nmcptest()\n")
    script.chmod(0o755)
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def line(fault: str) -> list[str]:
    printed = PRINTED.removesuffix("hang")
    return shlex.split(f"{printed}{fault}")


@asynccontextmanager
async def connected(folder: Path, fault: str, mode: str) -> AsyncIterator[Client]:
    _, *args = line(fault)
    # The SDK looks for the program on its own path, not on the one that it passes on.
    program = str(folder / "bin" / "mcptest")
    server = StdioServerParameters(command=program, args=args, env=environment(folder), cwd=folder)
    async with Client(stdio_client(server), mode=mode, read_timeout_seconds=LONG_S) as client:
        yield client


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(6 * LONG_S):
            await test()

    asyncio.run(bounded())


async def search(client: Client, timeout_s: float = LONG_S) -> str:
    result = await client.call_tool("search", {"q": "it"}, read_timeout_seconds=timeout_s)
    (block,) = result.content
    assert block.type == "text"
    return block.text


async def unanswered(client: Client) -> None:
    with pytest.raises(MCPError) as error:
        await search(client, SHORT_S)
    assert error.value.error.message == "Request 'tools/call' timed out"


async def all_else_answers(client: Client, mode: str) -> None:
    assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "status"]
    assert len((await client.list_resources()).resources) == 1
    contents = (await client.read_resource("mem://readme")).contents
    assert [getattr(each, "text", None) for each in contents] == ["read me"]
    if mode == "legacy":
        # The modern era has no ping.
        await client.session.send_ping()


@pytest.mark.parametrize("mode", MODES)
def test_none_is_a_healthy_server(folder: Path, mode: str) -> None:
    async def main() -> None:
        async with connected(folder, "none", mode) as client:
            await all_else_answers(client, mode)
            assert await search(client) == "report about it"
            with pytest.raises(MCPError, match="missing required argument `q`"):
                await client.call_tool("search", {})

    run(main)


def test_without_a_fault_the_server_is_healthy(folder: Path) -> None:
    command = ["mcptest", "mock", "--tools-from", "./tools.yml"]
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "status"}}
    assert talked(folder, command, asked) == ["fine"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", ["hang", "wedged"])
def test_no_call_ever_returns_and_all_else_stays_responsive(folder: Path, fault: str, mode: str) -> None:
    async def main() -> None:
        async with connected(folder, fault, mode) as client:
            await all_else_answers(client, mode)
            await unanswered(client)
            await unanswered(client)
            await all_else_answers(client, mode)

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_frozen_stops_discovery_too(folder: Path, mode: str) -> None:
    async def main() -> None:
        async with connected(folder, "frozen", mode) as client:
            await all_else_answers(client, mode)
            await unanswered(client)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(SHORT_S):
                    await client.list_tools(cache_mode="refresh")
            if mode == "legacy":
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(SHORT_S):
                        await client.session.send_ping()

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_slow_answers_but_past_a_timeout_budget(folder: Path, mode: str) -> None:
    async def main() -> None:
        async with connected(folder, "slow:700", mode) as client:
            await unanswered(client)
            assert await search(client) == "report about it"
            await all_else_answers(client, mode)

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_recover_after_two_answers_the_third_call(folder: Path, mode: str) -> None:
    async def main() -> None:
        async with connected(folder, "recover-after:2", mode) as client:
            await unanswered(client)
            await unanswered(client)
            assert await search(client) == "report about it"
            assert await search(client) == "report about it"

    run(main)


def talked(folder: Path, command: list[str], *messages: dict[str, Any], stderr: bytes = b"") -> list[Any]:
    """Return the mock's answers to lines on its stdin: texts of calls, or the ids of other replies."""
    done = subprocess.run(
        command,
        input=b"".join(json.dumps(each).encode() + b"\n" for each in messages),
        capture_output=True,
        cwd=folder,
        env=environment(folder),
        timeout=2 * LONG_S,
    )
    assert (done.returncode, done.stderr) == (0, stderr)
    replies = [json.loads(each) for each in done.stdout.splitlines()]
    return [
        reply["result"]["content"][0]["text"] if "content" in reply["result"] else reply["id"]
        for reply in replies
    ]


@pytest.mark.parametrize("fault", ["hang", "wedged", "slow:50", "recover-after:1"])
def test_for_a_cancelled_call_nothing_is_sent(folder: Path, fault: str) -> None:
    command = line(fault)
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env=environment(folder),
        bufsize=0,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "status"}}
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in (asked, cancelled, ping)))
        assert json.loads(process.stdout.readline())["id"] == 2
        if fault == "slow:50":
            # A later call of the same delay is answered: the cancelled one would have been by then.
            process.stdin.write(json.dumps({**asked, "id": 3}).encode() + b"\n")
            assert json.loads(process.stdout.readline())["id"] == 3
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


def test_the_printed_line_ends_with_its_input_even_while_a_call_hangs(folder: Path) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "status"}}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    stderr = b'rule "hang" acted on 1 of 1 call\n'
    assert talked(folder, shlex.split(PRINTED), asked, ping, stderr=stderr) == [2]


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("hng", "unknown fault 'hng'; did you mean 'hang'?"),
        ("slow:", "delay_ms: expected a number"),
        ("recover-after:x", "failures: expected a whole number of at least 0, got 'x'"),
    ],
)
def test_a_bad_fault_is_wrong_input(
    folder: Path,
    fault: str,
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    assert invoke_mcptest(line(fault)[1:]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f'error: --fault "{fault}": {problem}')
