"""Markdown: the sample's form to the letter with any texts; a parser of the sample reads our reports."""

from __future__ import annotations

import re
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.scenario.report.report_model import Report, ReportedExpectation
from faultkit.scenario.report.scenario_markdown import render_markdown
from tests.scenario.report.examples import (
    EMPTY,
    EXAMPLES,
    FAILED,
    HOSTILE,
    INCONCLUSIVE,
    LOAD,
    NOT_EXERCISED,
    PARTIAL,
    REPEAT,
    SAMPLE,
    SINGLE,
    ZERO_SAMPLES,
)
from tests.scenario.report.sample_parser import ParsedItem, cells, parse_report
from tests.scenario.report.side_by_side import PAGE, side_by_side_page, structure

SAMPLE_TEXT = (Path(__file__).parent / "sample.md").read_text("utf-8")


def only_item(report: Report) -> ParsedItem:
    (scenario,) = parse_report(render_markdown(report)).scenarios
    (item,) = scenario.items
    return item


def section(text: str, title: str) -> str:
    """Return the text below a bold heading, up to the next."""
    found = re.search(
        rf"^\*\*{re.escape(title)}\*\*:\n\n(.*?)(?=^\*\*|\n\n---)", text, re.MULTILINE | re.DOTALL
    )
    assert found is not None, title
    return found[1]


# --- the sample ------------------------------------------------------------------------------------


def test_the_parser_reads_the_sample() -> None:
    report = parse_report(SAMPLE_TEXT)
    assert (report.start, report.end) == (
        "2025-06-27 14:14:36.689011165 UTC",
        "2025-06-27 14:14:47.020905358 UTC",
    )
    (scenario,) = report.scenarios
    assert (scenario.title, scenario.count) == (
        "Evaluating runtime performance of http://localhost:9090",
        1,
    )
    (item,) = scenario.items
    assert item == ParsedItem(
        method="GET",
        url="http://localhost:9090",
        verdict="Passed",
        call={"Method": "`GET`", "Timeout": "10000ms", "Headers": "-", "Body?": "No"},
        strategy="load for 10s with 1 clients @ 3 RPS",
        faults=[
            {
                "Type": "jitter",
                "Timeline": "0% `xxxxxxxxxx` 100%",
                "Description": "Jitter: ➡️🖧Amplitude: 150.00ms, Frequence 5.00Hz",
            }
        ],
        overview={
            "Num. Requests": "31",
            "Num. Errors": "0 (0.0%)",
            "Min. Response Time": "83.65",
            "Max Response Time": "272.49",
            "Mean Latency (ms)": "199.92",
            "Expectation Failures": "0",
            "Total Time": "10 seconds and 329 ms",
        },
        percentiles=[
            {"Latency Percentile": name, "Latency (ms)": ms, "Num. Requests (% of total)": count}
            for name, ms, count in (
                ("p25", "133.61", "8 (25.8%)"),
                ("p50", "199.92", "16 (51.6%)"),
                ("p75", "235.69", "24 (77.4%)"),
                ("p95", "269.28", "31 (100.0%)"),
                ("p99", "272.49", "31 (100.0%)"),
            )
        ],
        slos=[
            {
                "SLO": "99% @ 350ms",
                "Pass?": "✅",
                "Objective": "99% < 350ms",
                "Margin": "Below by 77.5ms",
                "Num. Requests Over Threshold (% of total)": "0 (0.0%)",
            },
            {
                "SLO": "95% @ 200ms",
                "Pass?": "❌",
                "Objective": "95% < 200ms",
                "Margin": "Above by 69.3ms",
                "Num. Requests Over Threshold (% of total)": "15 (48.4%)",
            },
        ],
    )


def test_the_samples_figures_give_the_samples_lines() -> None:
    sample = SAMPLE_TEXT.splitlines()
    ours = render_markdown(SAMPLE).splitlines()
    tables_end = sample.index("---") - 2
    assert ours[:tables_end] == sample[:tables_end]
    rule = ours.index("---")
    assert ours[rule - 2 : rule + 3] == ["", "", "---", "", ""]


def test_our_sections_are_between_the_samples_tables_and_its_rule() -> None:
    sample = SAMPLE_TEXT.splitlines()
    ours = render_markdown(SAMPLE).splitlines()
    tables_end = sample.index("---") - 2
    added = [line for line in ours[tables_end : ours.index("---")] if line.startswith("**")]
    assert added == [
        "**Response time and service time**:",
        "**Answers by Status**:",
        "**Load**:",
        "**Injection**:",
    ]


@pytest.mark.parametrize("report", EXAMPLES.values(), ids=EXAMPLES)
def test_the_parser_of_the_sample_reads_every_report_of_ours(report: Report) -> None:
    parsed = parse_report(render_markdown(report))
    assert [scenario.count for scenario in parsed.scenarios] == [len(s.items) for s in report.scenarios]
    items = [item for scenario in parsed.scenarios for item in scenario.items]
    assert [item.verdict.lower() for item in items] == [item.verdict for item in report.items]
    assert [item.overview["Num. Requests"] for item in items] == [str(i.run.requests) for i in report.items]
    assert [len(item.slos) for item in items] == [len(item.slos) for item in report.items]
    assert [[row["Latency Percentile"] for row in item.percentiles] for item in items] == [
        ["p25", "p50", "p75", "p95", "p99"] for _ in items
    ]


# --- what the sample does not show -----------------------------------------------------------------


def test_a_single_call_has_bullets_for_faults_and_its_expectation() -> None:
    text = render_markdown(SINGLE)
    assert (
        "**Strategy**: single shot\n\n"
        "**Faults Applied**:\n"
        "- Latency: ➡️🖧, Per Read/Write Op.: false, Mean: 300.00 ms, Stddev: 20.00 ms\n\n"
        "**Expectation**: Response time Under 490ms | Status Code 200\n\n"
        "**Run Overview**:\n\n"
    ) in text


def test_a_call_shows_its_operation_headers_and_body() -> None:
    text = render_markdown(SINGLE)
    assert (
        "**Call**:\n\n"
        "- Operation ID: `create_order`\n"
        "- Method: `POST`\n"
        "- Timeout: -\n"
        "- Headers:\n"
        "  - Authorization: `xxxxxx`\n"
        "  - Content-Type: `application/json`\n"
        "- Body?: Yes\n"
    ) in text


def test_a_repeat_has_a_row_for_each_call_and_marks_the_baseline() -> None:
    rows = section(render_markdown(REPEAT), "Calls").splitlines()
    assert cells(rows[0]) == ["Call", "Step", "Status", "Time (ms)", "First Byte (ms)", "Met?", "Why"]
    assert cells(rows[2]) == ["0 (baseline)", "-", "200", "11.20", "10.90", "-", "-"]
    assert cells(rows[7]) == [
        "5",
        "500",
        "200",
        "510.30",
        "509.90",
        "no",
        "response time: expected under 490 ms, got 510.30 ms",
    ]
    assert "- stepped: latency.mean_ms" in rows
    assert only_item(REPEAT).strategy == "repeat 5 times with a step of 100"


def test_impact_shows_both_runs_the_difference_and_its_interval() -> None:
    rows = [cells(line) for line in section(render_markdown(LOAD), "Impact").splitlines() if line]
    assert rows[0] == ["Figure", "Baseline", "With Faults", "Difference", "95% Interval", "Shown?"]
    assert [row[0] for row in rows[2:]] == ["mean", "p50", "p95", "p99", "errors"]
    assert rows[6] == ["errors", "0.00 %", "0.00 %", "+0.00 %", "-1.30 % to +1.30 %", "no"]
    assert rows[4][5] == "yes"


def test_the_mean_is_the_mean() -> None:
    times = LOAD.items[0].run.response
    assert only_item(LOAD).overview["Mean Latency (ms)"] == f"{times.mean_ms:.2f}"
    assert f"{times.mean_ms:.2f}" != f"{times.percentiles[1].ms:.2f}"


def test_response_time_and_service_time_stand_beside_each_other() -> None:
    rows = section(render_markdown(INCONCLUSIVE), "Response time and service time").splitlines()
    assert cells(rows[2]) == ["mean", "737.10", "-", "702.10"]
    assert "- Response time counts from the intended start, service time from the send." in rows
    assert "- There were too many requests to keep each: figures have 3 digits." in rows


def test_errors_are_listed_by_class_with_the_most_frequent_first() -> None:
    rows = section(render_markdown(FAILED), "Errors by Class").splitlines()
    assert rows[2:5] == ["| status_5xx | 9 (5.6%) |", "| reset | 2 (1.2%) |", "| timeout | 1 (0.6%) |"]


def test_the_load_shows_dropped_and_late_requests() -> None:
    rows = section(render_markdown(INCONCLUSIVE), "Load").splitlines()
    head, run = cells(rows[0]), cells(rows[2])
    assert dict(zip(head, run, strict=True)) == {
        "Run": "with faults",
        "Target Rate": "30.00/s",
        "Achieved Rate": "24.20/s",
        "Dropped": "12 (4.0%)",
        "Late Starts": "6 (2.1%)",
        "Lateness p50": "0.40 ms",
        "p99": "38.00 ms",
        "Max": "51.50 ms",
    }


def test_the_injection_shows_the_proxys_own_lateness() -> None:
    rows = section(render_markdown(LOAD), "Injection").splitlines()
    assert rows[2] == "| 600 | 600 | 135 | 135 | 0.062 ms | 0.210 ms | 0.420 ms |"
    assert rows[4:6] == ["- latency: injected 135", "- proxy: 127.0.0.1:3180 → localhost:9090"]


@pytest.mark.parametrize(
    ("report", "word"),
    [(LOAD, "Passed"), (FAILED, "Failed"), (INCONCLUSIVE, "Inconclusive"), (NOT_EXERCISED, "Not exercised")],
)
def test_each_verdict_has_its_word_and_its_reasons(report: Report, word: str) -> None:
    text = render_markdown(report)
    assert only_item(report).verdict == word
    assert ("**Reasons**:" in text) == (word != "Passed")


def test_warnings_of_objectives_are_listed_with_the_items_own() -> None:
    lines = section(render_markdown(INCONCLUSIVE), "Warnings").splitlines()
    assert lines[:2] == [
        "- 2.1 % of the starts were more than 10 ms late",
        "- SLO P99 < 300ms: 150 requests are few for 99 %: at least 1000 are wanted",
    ]


def test_an_objective_with_windows_names_the_worst_one() -> None:
    lines = section(render_markdown(LOAD), "Worst Windows").splitlines()
    assert lines[0] == "- SLO P99 < 300ms: the figures are of the 5 s from 5 s on"
    assert only_item(LOAD).slos[1]["Objective"] == "99% < 300ms (each 5s)"


def test_too_few_requests_show_no_difference() -> None:
    item = LOAD.items[0]
    item = replace(item, impact=tuple(replace(each, enough=False) for each in item.impact))
    report = replace(LOAD, scenarios=(replace(LOAD.scenarios[0], items=(item,)),))
    rows = [cells(line) for line in section(render_markdown(report), "Impact").splitlines() if line]
    assert [row[5] for row in rows[2:]] == ["too few requests"] * 5


def test_without_a_sample_there_are_dashes_and_no_figures() -> None:
    item = only_item(ZERO_SAMPLES)
    assert item.verdict == "Unfinished"
    assert list(item.overview.values()) == ["0", "0 (0.0%)", "-", "-", "-", "0", "0 ms"]
    assert {row["Latency (ms)"] for row in item.percentiles} == {"-"}
    assert list(item.slos[0].values())[1:] == ["-", "95% < 300ms", "-", "0 (0.0%)"]


def test_a_partial_report_is_marked_before_anything_else() -> None:
    lines = render_markdown(PARTIAL).splitlines()
    assert lines[:3] == ["# Scenarios Report", "", "> **Partial report**: interrupted after 1 of 3 items"]


def test_no_faults_are_called_none() -> None:
    item = replace(LOAD.items[0], faults=())
    report = replace(LOAD, scenarios=(replace(LOAD.scenarios[0], items=(item,)),))
    assert "**Faults Applied**:\nnone\n\n**Expectation**" in render_markdown(report)


def test_no_expectation_has_no_line() -> None:
    item = replace(LOAD.items[0], expectation=ReportedExpectation())
    report = replace(LOAD, scenarios=(replace(LOAD.scenarios[0], items=(item,)),))
    assert "**Expectation**" not in render_markdown(report)
    assert only_item(LOAD).expectation == "All SLO are valid"


def test_a_figure_that_is_no_number_is_a_dash() -> None:
    run = LOAD.items[0].run
    item = replace(LOAD.items[0], run=replace(run, response=replace(run.response, mean_ms=nan)))
    report = replace(LOAD, scenarios=(replace(LOAD.scenarios[0], items=(item,)),))
    assert only_item(report).overview["Mean Latency (ms)"] == "-"


def test_a_report_of_nothing_is_a_report() -> None:
    assert parse_report(render_markdown(EMPTY)).scenarios == []


# --- texts from outside ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://h/![x](http://evil.test/p.png)*a*", "http://h/%21[x]%28http://evil.test/p.png%29%2Aa%2A"),
        ("http://[::1]:8080/a_b", "http://[::1]:8080/a_b"),
    ],
)
def test_a_url_makes_no_markup(url: str, shown: str) -> None:
    item = LOAD.items[0]
    report = replace(
        LOAD,
        scenarios=(replace(LOAD.scenarios[0], items=(replace(item, call=replace(item.call, url=url)),)),),
    )
    assert f"`GET` {shown} |" in render_markdown(report)


def test_hostile_texts_stay_texts() -> None:
    text = render_markdown(HOSTILE)
    assert "\x1b" not in text
    assert "\x00" not in text
    outside_code = re.sub(r"(`+)[^`].*?\1", "", text)
    assert re.findall(r"(?<!\\)<script", outside_code) == []
    item = only_item(HOSTILE)
    assert item.url == "http://h/a%7Cb%60c%60%0A%3Cd%3E?q=[0m"
    assert item.slos[0]["SLO"].startswith(r"a\|b \`c\` \<script")


@given(st.text())
def test_no_text_breaks_a_table_or_a_heading(text: str) -> None:
    item = LOAD.items[0]
    result = replace(item.slos[0], slo=replace(item.slos[0].slo, title=text), warning=text)
    fault = replace(item.faults[0], written=text, description=text)
    hostile = replace(
        item,
        call=replace(item.call, url="http://h/" + text, operation_id=text, headers={text: text}),
        slos=(result, item.slos[1]),
        faults=(fault, item.faults[0]),
        reasons=(text,),
        routes=(text,),
    )
    scenario = replace(LOAD.scenarios[0], title="title " + text, description=text, items=(hostile,))
    report = replace(LOAD, scenarios=(scenario,), partial=text, seed=text)
    parsed = parse_report(render_markdown(report))
    (read,) = parsed.scenarios[0].items
    assert read.url.startswith("http://h/")
    assert [row["Pass?"] for row in read.slos] == ["✅", "✅"]
    assert [row["Timeline"] for row in read.faults] == ["0% `.xx.xx.xx.` 100%"] * 2
    assert read.overview == only_item(LOAD).overview


# docs/report-side-by-side.md is current, and compares every part of the sample


def test_the_page_is_what_the_reports_give() -> None:
    assert PAGE.read_text("utf-8") == side_by_side_page(), (
        "run `python -m tests.scenario.report.side_by_side`"
    )


def test_the_page_compares_every_heading_and_every_head_of_a_table() -> None:
    assert structure(SAMPLE_TEXT) == [
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
