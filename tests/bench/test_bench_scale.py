"""Verdicts on loads from several workers, and what is merged to reach them."""

from __future__ import annotations

import pytest
from bench.load import LoadError
from bench.machine import Machine
from bench.scale import HEADING, Result, merge_all, percentages, section, segments_and_lines


def _result(**figures: float) -> Result:
    return Result(Machine(2, "Linux 6.1", "3.11.7", 1024), rounds=3, figures=figures)


def test_less_is_better_and_the_limit_itself_is_kept() -> None:
    kept = _result(merge_percent=5.0, overhead_percent=5.0, merge_s=2.0, growth_mb=1.0)
    assert [word for *_, word in kept.verdicts()] == ["PASS"] * 4
    assert not kept.missed()
    missed = _result(merge_percent=5.1, overhead_percent=5.1, merge_s=2.1)
    assert [word for *_, word in missed.verdicts()] == ["MISS", "MISS", "MISS", "not measured"]
    assert missed.missed()


def test_the_merge_is_held_against_the_rest_and_many_workers_against_one() -> None:
    costs = {"cpu_us_1x750": 100.0, "cpu_us_4x750": 105.0, "merge_us_4x750": 5.0, "cpu_us_1x3000": 70.0}
    assert percentages(costs) == {"overhead_percent": pytest.approx(5.0), "merge_percent": 5.0}
    assert percentages({"cpu_us_4x750": 105.0}) == {}


def test_all_segments_are_merged_or_the_figure_does_not_count() -> None:
    lines = segments_and_lines(9, 100)
    found = merge_all(lines, 100)
    assert set(found) == {"merge_s", "growth_mb"}
    with pytest.raises(LoadError, match="900 requests were merged of 909"):
        merge_all(lines, 101)


def test_the_section_has_the_verdicts_and_the_costs() -> None:
    figures = {"cpu_us_4x750": 80.8, "merge_us_4x750": 2.5, "wakeups_4x750": 1.5}
    text = section(_result(overhead_percent=1.0, **figures))
    assert text.startswith(HEADING)
    assert "| 4 | 3000 | 80.8 | 2.50 | 1.50 |" in text
    assert "not measured" in text
