"""The tools of `fault chaos serve` and `fault agent tool` in real processes, with the SDK and FastMCP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from faultkit.base.process_identity import birth_of
from faultkit.chaos.safety.ledger import Ledger
from tests.agent_tools.bearer_client import bearer_transport
from tests.agent_tools.chaos_server import KILL_CACHE, seed_examples

PATIENCE_S = 60.0
FAULT = [sys.executable, "-m", "faultkit"]
TOKEN = "open-sesame-1234"
NAMES = ["chaos_inject_fault", "chaos_run_experiment", "chaos_status"]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "chaos").mkdir()
    (tmp_path / "chaos" / "kill-cache.yaml").write_text(KILL_CACHE)
    own = {"FAULT_CHAOS_STATE": str(tmp_path / "state"), "FAULT_STORE": str(tmp_path / "audit.db")}
    return {**os.environ, **own, "FAULT_CHAOS_LEASE": "5s", "FAULT_CHAOS_TOKEN": TOKEN}


@contextmanager
def over_http(env: dict[str, str], folder: Path, *flags: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    process = subprocess.Popen(
        [*FAULT, "chaos", "serve", "--transport", "http", "--port", "0", *flags],
        env=env,
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        yield process.stderr.readline().rpartition(" ")[2].strip(), process
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
        assert process.stderr is not None
        process.stderr.close()


async def seed_by(client: Any, name: str = "is_error", structured: str = "structured_content") -> None:
    register, inject, run, status = seed_examples()
    for tool, arguments in (register, inject, run, status):
        result = await client.call_tool(tool, arguments)
        assert not getattr(result, name), result
    told = getattr(result, structured)
    assert (told["total_runs"], told["success_rate"], told["registered_experiments"]) == (1, 1.0, 1)
    assert [fault["name"] for fault in told["active_faults"]] == ["slow-database"]


def test_the_examples_of_the_seed_over_stdio_by_the_sdk(env: dict[str, str], tmp_path: Path) -> None:
    async def visit() -> None:
        parameters = StdioServerParameters(
            command=FAULT[0], args=[*FAULT[1:], "chaos", "serve"], env=env, cwd=tmp_path
        )
        with anyio.fail_after(PATIENCE_S):
            async with Client(parameters, mode="legacy") as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
                await seed_by(client)

    anyio.run(visit)


def test_the_examples_of_the_seed_over_http_by_fastmcp(env: dict[str, str], tmp_path: Path) -> None:
    fastmcp = pytest.importorskip("fastmcp")

    async def visit(url: str) -> None:
        with anyio.fail_after(PATIENCE_S):
            async with fastmcp.Client(url, auth=TOKEN) as client:
                assert [tool.name for tool in await client.list_tools()] == NAMES
                await seed_by(client)
                call = {"fault_name": "ghost", "action": "inject"}
                result = await client.call_tool("chaos_inject_fault", call, raise_on_error=False)
                assert (result.is_error, result.structured_content["status"]) == (True, "error")

    async def visit_again(url: str) -> None:
        async with fastmcp.Client(url, auth=TOKEN) as client:
            result = await client.call_tool("chaos_status", {})
            assert [fault["name"] for fault in result.structured_content["active_faults"]] == [
                "slow-database"
            ]

    with over_http(env, tmp_path) as (url, _):
        anyio.run(visit, url)
        # A fault outlives the client that registered it.
        anyio.run(visit_again, url)


@pytest.mark.thorough
def test_a_read_only_server_offers_only_the_status(env: dict[str, str], tmp_path: Path) -> None:
    async def visit(url: str) -> list[str]:
        with anyio.fail_after(PATIENCE_S):
            async with Client(bearer_transport(url, TOKEN)) as client:
                return [tool.name for tool in (await client.list_tools()).tools]

    with over_http(env, tmp_path, "--read-only") as (url, _):
        assert anyio.run(visit, url) == ["chaos_status"]


def test_the_agent_server_has_them_beside_its_own(env: dict[str, str], tmp_path: Path) -> None:
    async def visit() -> None:
        parameters = StdioServerParameters(
            command=FAULT[0], args=[*FAULT[1:], "agent", "tool"], env=env, cwd=tmp_path
        )
        with anyio.fail_after(PATIENCE_S):
            async with Client(parameters, mode="legacy") as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                assert (len(names), names[-3:]) == (21, NAMES)
                ran = await client.call_tool("chaos_run_experiment", {"experiment_name": "kill-cache"})
                assert not ran.is_error

    anyio.run(visit)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_server_that_dies_leaves_nothing_broken(
    env: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    hog = {"fault_name": "hog", "fault_type": "resource_exhaustion", "probability": 1}
    settings = {"metadata": {"resource": "descriptors", "amount": 8}}

    async def visit(url: str) -> None:
        with anyio.fail_after(PATIENCE_S):
            async with Client(bearer_transport(url, TOKEN)) as client:
                await client.call_tool("chaos_inject_fault", {**hog, **settings, "action": "register"})
                call = {"fault_name": "hog", "action": "inject"}
                assert not (await client.call_tool("chaos_inject_fault", call)).is_error

    ledger = Ledger(tmp_path / "state")
    with over_http(env, tmp_path) as (url, process):
        anyio.run(visit, url)
        [view] = ledger.views()
        pid = view.intents[0].undo.data["pid"]
        assert birth_of(pid) is not None
        process.send_signal(number)
        process.wait(PATIENCE_S)
    deadline = time.monotonic() + 20.0
    while birth_of(pid) is not None or not ledger.views()[0].is_over:
        assert time.monotonic() < deadline, "not within the lease"
        time.sleep(0.02)
    by = "owner" if number == signal.SIGTERM else "guardian"
    assert [intent.by for intent in ledger.views()[0].intents] == [by]
    done = subprocess.run(
        [*FAULT, "chaos", "recover", "--json"], env=env, capture_output=True, timeout=PATIENCE_S
    )
    told = json.loads(done.stdout)
    assert told["recovered"] == []
    assert len(told["undone_by_guardians"]) == (number == signal.SIGKILL)
