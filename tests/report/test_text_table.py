"""Tables of plain text on pages of any width."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.report.text_table import text_table
from faultkit.scenario.report.report_model import Report
from faultkit.scenario.report.scenario_text import render_text
from tests.scenario.report.examples import EXAMPLES, LOAD, REPEAT

COLUMNS = ("Run", "Target Rate", "Achieved Rate", "Dropped", "Late Starts")
ROWS = (
    ("with faults", "29.95/s", "29.95/s", "0 (0.0%)", "12 (4.0%)"),
    ("baseline", "30.00/s", "30.00/s", "0 (0.0%)", "0 (0.0%)"),
)


def test_with_room_a_table_stands_as_it_is() -> None:
    assert text_table(COLUMNS, ROWS, 96) == [
        "Run          Target Rate  Achieved Rate   Dropped  Late Starts",
        "with faults      29.95/s        29.95/s  0 (0.0%)    12 (4.0%)",
        "baseline         30.00/s        30.00/s  0 (0.0%)     0 (0.0%)",
    ]


def test_with_less_room_cells_are_folded_between_words() -> None:
    assert text_table(COLUMNS, ROWS, 50) == [
        "Run         Target   Achieved   Dropped       Late",
        "              Rate       Rate               Starts",
        "with       29.95/s    29.95/s  0 (0.0%)  12 (4.0%)",
        "faults",
        "baseline   30.00/s    30.00/s  0 (0.0%)   0 (0.0%)",
    ]


def test_a_table_of_few_rows_is_turned_where_its_columns_find_no_room() -> None:
    assert text_table(COLUMNS, ROWS, 36) == [
        "Run            with faults  baseline",
        "Target Rate        29.95/s   30.00/s",
        "Achieved Rate      29.95/s   30.00/s",
        "Dropped           0 (0.0%)  0 (0.0%)",
        "Late Starts      12 (4.0%)  0 (0.0%)",
    ]


def test_a_table_of_many_rows_becomes_a_paragraph_for_each_row() -> None:
    assert text_table(COLUMNS, ROWS * 2, 36)[:3] == [
        "Run with faults, Target Rate",
        "  29.95/s, Achieved Rate 29.95/s,",
        "  Dropped 0 (0.0%), Late Starts 12",
    ]


@pytest.mark.parametrize("width", [40, 60, 72, 80, 89])
@pytest.mark.parametrize("report", EXAMPLES.values(), ids=EXAMPLES)
def test_no_line_is_wider_than_a_narrow_page(report: Report, width: int) -> None:
    assert [line for line in render_text(report, width).splitlines() if len(line) > width] == []


@pytest.mark.parametrize("report", [LOAD, REPEAT], ids=["load", "repeat"])
def test_a_narrow_page_cuts_no_word(report: Report) -> None:
    narrow = set(render_text(report, 60).replace(",", " ").split())
    lost = [word for word in render_text(report).replace(",", " ").split() if word not in narrow]
    assert [word for word in lost if not set(word) <= set("=-")] == []


def test_a_page_is_never_narrower_than_it_can_be_read() -> None:
    assert render_text(LOAD, 1) == render_text(LOAD, 40)


@given(st.lists(st.lists(st.text(max_size=60), min_size=3, max_size=3), min_size=1, max_size=5))
def test_no_cell_leaves_the_page(rows: list[list[str]]) -> None:
    assert max(map(len, text_table(("a", "b", "c"), rows, 30))) <= 30
