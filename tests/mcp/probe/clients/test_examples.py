"""The profiles in docs/client-behaviour.md are those of the example clients: some of them are run again."""

from __future__ import annotations

import asyncio
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from faultkit.mcp.probe.clients.fault_battery import fitting

DOCS = Path(__file__).parents[4] / "docs"
AGAIN = "run `python docs/generate_client_behaviour.py profiles`"
SPECS = ("tool_error", "disconnect,first=1", "corrupt_value,first=1")


@pytest.fixture(scope="module")
def generator() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "generate_client_behaviour.py"))


@pytest.fixture(scope="module")
def rows() -> dict[str, list[str]]:
    """Return the cells of each row by its fault."""
    section = (DOCS / "client-behaviour.md").read_text("utf-8").partition("\n## Profiles\n")[2]
    found = re.findall(r"^\| `([^`]+)` \| (.*) \|$", section, re.MULTILINE)
    return {spec: cells.split(" | ") for spec, cells in found}


def test_every_fault_that_does_not_hang_on_time_has_a_row(
    generator: dict[str, Any], rows: dict[str, list[str]]
) -> None:
    assert list(rows) == list(generator["STEADY"]), AGAIN


def test_a_cell_is_filled_where_the_fault_fits(generator: dict[str, Any], rows: dict[str, list[str]]) -> None:
    for column, (_, _, transport, era) in enumerate(generator["PROFILED"]):
        filled = tuple(spec for spec, cells in rows.items() if cells[column].strip())
        assert filled == fitting(generator["STEADY"], transport, era), AGAIN


@pytest.mark.slow
@pytest.mark.parametrize(
    "column", [1, *(pytest.param(other, marks=pytest.mark.thorough) for other in (0, 2, 3))]
)
def test_the_page_says_what_the_example_clients_do_today(
    column: int, generator: dict[str, Any], rows: dict[str, list[str]]
) -> None:
    _, script, transport, _ = generator["PROFILED"][column]
    found = asyncio.run(generator["conducts"](script, transport, SPECS))
    said = {spec: generator["cell_of"](conduct) for spec, conduct in found.items()}
    assert said == {spec: rows[spec][column].strip() for spec in SPECS}, AGAIN
