"""The page with the sample and ours: never stale, and it leaves nothing of the sample out."""

from __future__ import annotations

from tests.scenario.report.side_by_side import PAGE, SAMPLE, side_by_side_page, structure


def test_the_page_is_what_the_reports_give() -> None:
    assert PAGE.read_text("utf-8") == side_by_side_page(), (
        "run `python -m tests.scenario.report.side_by_side`"
    )


def test_the_page_compares_every_heading_and_every_head_of_a_table() -> None:
    assert structure(SAMPLE.read_text("utf-8")) == [
        "# Scenarios Report",
        "Start: 0000-00-00 00:00:00.000000000 UTC",
        "End: 0000-00-00 00:00:00.000000000 UTC",
        "## Scenario: TITLE  (items: N)",
        "### 🎯 `METHOD` URL | VERDICT",
        "**Call**:",
        "**Strategy**:",
        "**Faults Applied**:",
        "| Type | Timeline | Description |",
        "**Run Overview**:",
        "| Num. Requests | Num. Errors | Min. Response Time | Max Response Time | Mean Latency (ms) "
        "| Expectation Failures | Total Time |",
        "| Latency Percentile | Latency (ms) | Num. Requests (% of total) |",
        "| SLO       | Pass? | Objective | Margin | Num. Requests Over Threshold (% of total) |",
        "---",
    ]
