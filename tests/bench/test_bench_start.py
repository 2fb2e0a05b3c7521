"""Verdicts on start-up and memory, and their section of the document."""

from __future__ import annotations

from bench.machine import Machine
from bench.options import with_section
from bench.start import (
    BARE,
    HEADING,
    HELP,
    MEMORY,
    MOCK,
    READY,
    RUN,
    SUBJECTS,
    TARGETS,
    Result,
    memory_table,
    ready_table,
    section,
)


def _result(help_s: float, run_s: float, mock_mb: float) -> Result:
    result = Result(Machine(2, "Linux 6.1", "3.11.7", 1024), rounds=3)
    result.figures = {
        READY: {
            BARE: {"seconds": 0.01, "cpu_s": 0.009},
            HELP: {"seconds": help_s, "cpu_s": 0.04},
            RUN: {"seconds": run_s, "cpu_s": 0.1},
            MOCK: {"seconds": 0.2, "cpu_s": 0.1},
        },
        MEMORY: {
            RUN: {"rss_mb": 25.0, "pss_mb": 17.0},
            MOCK: {"rss_mb": mock_mb, "pss_mb": 18.0},
        },
    }
    return result


def _words(result: Result) -> list[str]:
    return [word for *_, word in result.verdicts()]


def test_a_limit_is_still_within_it() -> None:
    assert _words(_result(0.06, 0.35, 40.0)) == ["PASS"] * 5
    assert _words(_result(0.0601, 0.351, 40.1)) == ["MISS", "MISS", "PASS", "PASS", "MISS"]
    assert _result(0.07, 0.2, 30.0).missed()


def test_every_target_is_of_a_command_that_is_started() -> None:
    assert {target.subject for target in TARGETS} | {BARE} == set(SUBJECTS)


def test_times_are_also_shown_as_multiples_of_a_bare_interpreter() -> None:
    _, rows = ready_table(_result(0.05, 0.2, 30.0))
    assert rows[0] == [BARE, "0.010", "0.009", "1.00"]
    assert rows[1:3] == [[HELP, "0.050", "0.040", "5.00"], [RUN, "0.200", "0.100", "20.0"]]


def test_memory_is_shown_as_resident_and_as_proportional_set() -> None:
    _, rows = memory_table(_result(0.05, 0.2, 30.0))
    assert rows == [[RUN, "25.0", "17.0"], [MOCK, "30.0", "18.0"]]


def test_the_section_takes_its_place_in_the_document() -> None:
    document = with_section("# Benchmarks\n\n## MCP\n\ntext\n", section(_result(0.05, 0.2, 30.0)))
    assert document.startswith("# Benchmarks\n\n## MCP\n\ntext\n\n")
    assert f"{HEADING}\n\nEach command is started anew, 5 times a round" in document
    assert with_section(document, section(_result(0.05, 0.2, 30.0))) == document
