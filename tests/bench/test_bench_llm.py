"""The benchmark of streams of tokens: its figures, its verdicts, and that a stream goes through a relay."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bench.llm import (
    DIRECT,
    HEADING,
    MITMPROXY,
    RULE,
    Result,
    checks_of,
    command_of,
    read_streams,
    relay,
    section,
    token_server,
)
from bench.machine import Machine
from bench.processes import free_ports
from bench.relays import OURS
from bench.token_streams import figures_of


def _result(gap_ms: float, cpu_us: float, times: float) -> Result:
    result = Result(Machine(2, "Linux 6.1", "3.11.7", 1024), rounds=3)
    usual = {"gap_p99_ms": 1.0, "transit_p99_ms": 1.0}
    ours = {**usual, "gap_ms": gap_ms, "transit_ms": 0.1, "times_planned": times, "cpu_us": cpu_us}
    peer = {**ours, "gap_ms": 10.0, "cpu_us": 90.0}
    cell = {DIRECT: peer, OURS: ours, RULE: ours, MITMPROXY: peer}
    result.figures = {"one": cell, "many": cell}
    return result


def test_targets_are_judged_against_direct_and_mitmproxy() -> None:
    assert {each.word for each in _result(10.25, 29.0, 1.05).verdicts()} == {"PASS"}
    missed = _result(10.4, 31.0, 1.06)
    assert [each.word for each in missed.verdicts()] == ["MISS", "PASS", "MISS", "MISS", "MISS", "MISS"]
    assert missed.missed()
    assert section(missed).startswith(HEADING)


def test_figures_are_times_of_tokens() -> None:
    ms = 1_000_000
    quick = [(0, 1 * ms), (10 * ms, 12 * ms), (20 * ms, 21 * ms)]
    figures = figures_of([quick], 3, 100.0)
    assert (figures["events"], figures["transit_ms"], figures["times_planned"]) == (3, 1.0, 1.05)
    assert figures["gaps_ms"] == [11.0, 9.0]
    assert figures["since_first_ms"] == [[1.0, 12.0, 21.0]]
    slow = [(5 * ms, 6 * ms), (15 * ms, 30 * ms), (25 * ms, 45 * ms)]
    assert figures_of([quick, slow], 3, 100.0)["times_planned"] == 2.0


@pytest.mark.parametrize(
    ("firsts", "gaps", "beyond", "words"),
    [
        ([200.1, 200.9], [20.0, 20.5], [0.0, 0.2], ["PASS", "PASS", "PASS", "PASS"]),
        ([199.9, 203.0], [21.5, 22.0], [-0.1], ["MISS", "PASS", "MISS", "MISS"]),
    ],
)
def test_nothing_may_be_early_and_the_median_error_is_small(
    firsts: list[float], gaps: list[float], beyond: list[float], words: list[str]
) -> None:
    assert [check.word for check in checks_of(firsts, gaps, beyond, 0.2)] == words


@pytest.mark.thorough
def test_a_stream_goes_through_a_relay(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    fault = str(Path(sys.executable).with_name("fault"))
    with token_server() as origin:
        command = command_of(RULE, fault, origin, port, tmp_path)
        with relay(RULE, command, port, tmp_path):
            assert read_streams(port, 2, 5, 0.0)["events"] == 10
