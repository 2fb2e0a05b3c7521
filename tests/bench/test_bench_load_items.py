"""The benchmark of MCP calls and events: its verdicts, its section, and that each client does the work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bench.item_clients import HTTPX, KINDS, SDK
from bench.load_items import HEADING, SERVERS, TARGETS, Result, measure_client, section, verdict_table
from bench.machine import Machine
from bench.mcp_servers import commands_in
from bench.relays import OURS


def _result(stdio: float, http: float, events: float) -> Result:
    result = Result(Machine(2, "Linux 6.1", "3.11.7", 1024), rounds=3)
    peers = {"mcp-stdio": (stdio, SDK), "mcp-http": (http, SDK), "sse": (events, HTTPX)}
    result.figures = {
        kind: {
            name: {"per_s": 1.0, "cpu_us": 1.0, "per_cpu_s": value}
            for name, value in ((OURS, ours), (peer, 1.0))
        }
        for kind, (ours, peer) in peers.items()
    }
    return result


def test_a_target_is_the_ratio_to_the_plain_client() -> None:
    assert [word for *_, word in _result(5.0, 10.0, 2.0).verdicts()] == ["PASS"] * 3
    assert [word for *_, word in _result(4.9, 9.9, 1.9).verdicts()] == ["MISS"] * 3
    assert _result(5.0, 10.0, 1.9).missed()
    assert verdict_table(_result(6.0, 12.0, 3.0))[1][0][1:] == ["≥ 5", "6.00", "PASS"]


def test_every_target_names_a_kind_and_a_client_that_exist() -> None:
    assert set(SERVERS) == set(KINDS)
    assert all(target.peer in KINDS[target.cell] for target in TARGETS)


def test_the_section_has_a_table_for_each_kind() -> None:
    text = section(_result(6.0, 12.0, 3.0))
    assert text.startswith(HEADING)
    assert text.count("CPU µs/call") == 2
    assert text.count("CPU µs/event") == 1


@pytest.mark.parametrize(("kind", "client"), [("mcp-stdio", OURS), ("sse", OURS), ("sse", HTTPX)])
def test_a_client_does_the_work(kind: str, client: str, tmp_path: Path) -> None:
    commands = commands_in(tmp_path, str(Path(sys.executable).with_name("fault")))
    with SERVERS[kind](commands, tmp_path) as address:
        figures = measure_client(kind, client, address, 0.1)
    assert all(value > 0 for value in figures.values())
