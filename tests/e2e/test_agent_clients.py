"""Independent clients list and call every tool, over stdio and HTTP, in both eras."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.agent_tools.bearer_client import bearer_transport
from tests.agent_tools.impact_app import app
from tests.e2e.agent_clients.calls import calls_of, check, check_listed

PROJECT = Path(__file__).parents[2]
CLIENTS = PROJECT / os.environ.get("FAULTKIT_AGENT_CLIENTS", "build/agent-clients")
INSPECTOR = CLIENTS / "inspector/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
FASTMCP = CLIENTS / "fastmcp"
NODE = shutil.which(os.environ.get("FAULTKIT_NODE", "node"))
INSTALL = "run `sh tests/e2e/agent_clients/install.sh` first"
PATIENCE_S = 90.0
SERVE = (sys.executable, "-m", "faultkit", "agent", "tool")
TOKEN = "open-sesame-1234"
ERAS = ("legacy", "2026-07-28")

STDIO_LEGACY, HTTP_MODERN = ("stdio", "legacy"), ("http", "2026-07-28")
"""Each transport and each era once; the other two combinations add little."""


def by_way(*usual: tuple[str, str], of: Sequence[tuple[str, str]]) -> pytest.MarkDecorator:
    """Mark the other combinations as thorough."""
    ways = [pytest.param(*way, marks=() if way in usual else pytest.mark.thorough) for way in of]
    return pytest.mark.parametrize(("transport", "era"), ways)


every_way = by_way(STDIO_LEGACY, HTTP_MODERN, of=list(product(("stdio", "http"), ERAS)))
needs_inspector = pytest.mark.skipif(NODE is None or not INSPECTOR.exists(), reason=INSTALL)
needs_fastmcp = pytest.mark.skipif(not (FASTMCP / ".ready").exists(), reason=INSTALL)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment of the server: no key, and an index of its own."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "PATH") if name in os.environ}
    return {**kept, "FAULT_AGENT_TOKEN": TOKEN, "FAULT_INDEX_DIR": str(tmp_path_factory.mktemp("index"))}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def calls(project: Path) -> Iterator[dict[str, dict[str, Any]]]:
    with app() as service:
        yield calls_of(project, service.url)


@contextmanager
def served(environment: dict[str, str], root: Path) -> Iterator[str]:
    """Start a server over HTTP and yield its URL."""
    command = [*SERVE, "--transport", "http", "--port", "0", "--root", str(root)]
    process = subprocess.Popen(command, cwd=PROJECT, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        told = re.fullmatch(r"MCP over HTTP on (\S+)\n", process.stderr.readline())
        assert told is not None
        yield told[1]
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (0, "")


@pytest.fixture(scope="module")
def url(environment: dict[str, str], project: Path) -> Iterator[str]:
    with served(environment, project) as url:
        yield url


# --- the newest clients in Python ---------------------------------------------------------------


@every_way
def test_the_sdks_client_lists_and_calls_every_tool_at_once(
    transport: str, era: str, url: str, environment: dict[str, str], calls: dict[str, dict[str, Any]]
) -> None:
    command = StdioServerParameters(command=SERVE[0], args=list(SERVE[1:]), env=environment, cwd=PROJECT)

    async def call(client: Client, name: str) -> None:
        result = await client.call_tool(name, calls[name])
        [content] = result.content
        assert isinstance(content, types.TextContent)
        assert not result.is_error, content.text
        check(name, content.text, result.structured_content)

    async def visit() -> None:
        server = command if transport == "stdio" else bearer_transport(url, TOKEN)
        with anyio.fail_after(PATIENCE_S):
            async with Client(server, mode=era) as client:
                check_listed([tool.name for tool in (await client.list_tools()).tools])
                async with anyio.create_task_group() as group:
                    for name in calls:
                        group.start_soon(call, client, name)

    anyio.run(visit)


@pytest.mark.thorough
@pytest.mark.slow
@needs_fastmcp
@by_way(STDIO_LEGACY, of=(STDIO_LEGACY, HTTP_MODERN))
def test_the_client_of_fastmcp_lists_and_calls_every_tool_at_once(
    transport: str, era: str, url: str, environment: dict[str, str], calls: dict[str, dict[str, Any]]
) -> None:
    command = {"command": SERVE[0], "args": SERVE[1:], "env": environment, "cwd": str(PROJECT)}
    asked = {"server": command if transport == "stdio" else url, "token": TOKEN, "era": era, "calls": calls}
    done = subprocess.run(
        [str(FASTMCP / "bin" / "python"), str(Path(__file__).parent / "agent_clients" / "visit_fastmcp.py")],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    check_listed(found["names"])
    for name, ([text], structured) in found["results"].items():
        check(name, text, structured)
    assert set(found["results"]) == set(calls)


# --- the MCP Inspector --------------------------------------------------------------------------


def inspect(home: Path, server: list[str], era: str, *words: str) -> tuple[dict[str, Any], str]:
    """Return the result and the other output."""
    assert NODE is not None
    named = "legacy" if era == "legacy" else "modern"
    command = [NODE, str(INSPECTOR), "--cli", *server, "--protocol-era", named, "--format", "json", *words]
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    done = subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr + done.stdout
    result: dict[str, Any] = json.loads(done.stdout)["result"]
    return result, done.stderr


def by_url(url: str) -> list[str]:
    return [url, "--header", f"Authorization: Bearer {TOKEN}"]


def inspected(transport: str, url: str, environment: dict[str, str]) -> list[str]:
    if transport == "http":
        return by_url(url)
    given = [word for name, value in environment.items() for word in ("-e", f"{name}={value}")]
    return [*SERVE, *given]


@needs_inspector
@every_way
def test_the_inspector_lists_the_tools_and_finds_nothing_wrong_with_their_schemas(
    transport: str, era: str, url: str, environment: dict[str, str], tmp_path: Path
) -> None:
    server = inspected(transport, url, environment)
    result, said = inspect(tmp_path, server, era, "--method", "tools/list", "--strict")
    check_listed([tool["name"] for tool in result["tools"]])
    assert "arning" not in said, said


ONE_OF_EACH_KIND = (
    "fault_index_source_code",
    "fault_list_function_names",
    "fault_score_reliability",
    "fault_suggest_better_function_reliability",
    "fault_suggest_service_level_objectives_slo",
    "fault_run_latency_impact_scenario",
)
"""One tool for each kind of answer: a word, names, a document, a diff, a list, and a report."""


@pytest.mark.slow
@needs_inspector
def test_the_inspector_calls_a_tool_of_each_kind(
    url: str, calls: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    check_calls(tmp_path, by_url(url), "2026-07-28", {name: calls[name] for name in ONE_OF_EACH_KIND})


@pytest.mark.thorough
@pytest.mark.slow
@needs_inspector
@pytest.mark.parametrize(("transport", "era"), [STDIO_LEGACY, HTTP_MODERN])
def test_the_inspector_calls_every_tool(
    transport: str,
    era: str,
    url: str,
    environment: dict[str, str],
    calls: dict[str, dict[str, Any]],
    tmp_path: Path,
) -> None:
    check_calls(tmp_path, inspected(transport, url, environment), era, calls)


def check_calls(home: Path, server: list[str], era: str, calls: dict[str, dict[str, Any]]) -> None:
    """Call each tool in a process of its own, two at a time."""

    def call(name: str) -> dict[str, Any]:
        words = ("--method", "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(calls[name]))
        return inspect(home, server, era, *words)[0]

    with ThreadPoolExecutor(2) as threads:
        for name, result in zip(calls, threads.map(call, calls), strict=True):
            [content] = result["content"]
            assert (content["type"], result["isError"]) == ("text", False)
            check(name, content["text"], result["structuredContent"])
