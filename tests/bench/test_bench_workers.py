"""How many processes a cell needs, and that its row says so."""

from __future__ import annotations

import pytest
from bench.cells import FULL, PASS_CELLS
from bench.machine import Machine
from bench.proxy import Result, figure_table

IDLE = next(cell for cell in PASS_CELLS if cell.name == "idle")
BULK = next(cell for cell in PASS_CELLS if cell.name == "bulk")


@pytest.mark.parametrize(("open_files", "workers"), [(65_536, 1), (21_400, 1), (20_000, 2), (4_096, 6)])
def test_ten_thousand_connections_take_as_many_processes_as_the_limit_demands(
    open_files: int, workers: int
) -> None:
    assert FULL.idle_connections == 10_000
    assert IDLE.workers(FULL, open_files) == workers


def test_other_cells_are_for_one_process() -> None:
    assert BULK.workers(FULL, 1024) == 1


def test_the_row_of_a_relay_with_several_workers_says_so() -> None:
    result = Result(Machine(2, "Linux 6.1", "3.11.7", 20_000), rounds=1)
    result.figures = {
        "idle": {
            "faultkit": {"kb": 1.5, "connections": 10_000.0, "workers": 2.0},
            "nginx": {"kb": 9.5, "connections": 9_800.0, "workers": 1.0},
        }
    }
    assert [list(row) for row in figure_table(result, IDLE)[1]] == [
        ["faultkit, 2 workers", "1.50", "10,000"],
        ["nginx", "9.50", "9,800"],
    ]
