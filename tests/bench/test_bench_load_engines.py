"""Verdicts on load engines, and their section of the document."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.clients import CLIENTS, CONNECTIONS, Job
from bench.load_engines import CELLS, TARGETS, Result, medians, section, verdict_table
from bench.machine import Machine
from bench.options import with_section


def _result(ours: float, hey: float, late_ms: float) -> Result:
    result = Result(Machine(2, "Linux 6.1", "3.11.7", 1024), rounds=3)
    kept = {
        name: {"per_s": 1.0, "cpu_us": 1.0, "per_cpu_s": value}
        for name, value in (("faultkit", ours), ("hey", hey))
    }
    result.figures = {"kept": kept, "late": {"faultkit": {"p50_ms": late_ms, "p99_ms": 1.0}}}
    return result


def test_more_per_cpu_second_is_better_and_less_lateness_is() -> None:
    def words(result: Result) -> list[str]:
        return [word for _, reached, word in result.verdicts() if reached is not None]

    assert words(_result(120.0, 100.0, 0.15)) == ["PASS", "PASS"]
    assert words(_result(119.0, 100.0, 0.16)) == ["MISS", "MISS"]
    assert _result(119.0, 100.0, 0.1).missed()
    assert not _result(120.0, 100.0, 0.1).missed()


def test_the_verdict_table_says_on_which_side_of_its_limit_a_figure_must_be() -> None:
    _, rows = verdict_table(_result(240.0, 100.0, 0.1))
    assert [row[1:] for row in rows] == [
        ["≥ 1.2", "2.40", "PASS"],
        ["≥ 8", "–", "not measured"],
        ["≤ 1.3", "–", "not measured"],
        ["≤ 1.6", "–", "not measured"],
        ["≤ 0.15", "0.100", "PASS"],
    ]


def test_every_target_names_a_cell_a_metric_and_a_peer_that_exist() -> None:
    columns = {cell.name: {metric for metric, _ in cell.columns} for cell in CELLS}
    names = {client.name for client in CLIENTS} | {None}
    assert all(target.metric in columns[target.cell] and target.peer in names for target in TARGETS)


def test_medians_come_in_the_order_of_the_clients() -> None:
    rounds = {"b": [{"x": 1.0}, {"x": 3.0}, {"x": 9.0}], "a": [{"x": 2.0}]}
    assert list(medians({"kept": rounds}, ["a", "b", "c"])["kept"].items()) == [
        ("a", {"x": 2.0}),
        ("b", {"x": 3.0}),
    ]


@pytest.mark.parametrize("afresh", [False, True])
def test_all_clients_ask_the_same_on_as_many_connections(tmp_path: Path, afresh: bool) -> None:
    job = Job(1, 5, afresh, tmp_path)
    for client in CLIENTS:
        words = " ".join(client.command(job))
        assert str(CONNECTIONS) in words
        assert "http://127.0.0.1:1" in words


def test_the_section_takes_its_old_place_in_the_document() -> None:
    new = section(_result(240.0, 100.0, 0.1))
    before = "# Benchmarks\n\n## One\n\na\n"
    notes = "## Left out in this run\n\n- x\n"
    once = with_section(f"{before}\n{notes}", new)
    assert once == f"{before}\n{new}\n\n{notes}"
    assert with_section(once, new) == once
    assert with_section(before, new) == f"{before}\n{new}\n"
