"""Plain text: call, faults, figures, objectives and verdict in 100 columns, with aligned tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.scenario.report.report_model import Report
from faultkit.scenario.report.scenario_text import WIDTH, item_line, latency_text, render_item, render_text
from tests.scenario.report.examples import EXAMPLES, FAILED, LOAD, PARTIAL, SAMPLE, SINGLE, ZERO_SAMPLES


def test_an_item_is_shown_from_its_verdict_to_its_sections() -> None:
    lines = render_item(SAMPLE.items[0])
    assert lines[:14] == [
        "PASSED: GET http://localhost:9090",
        "  strategy    load for 10s with 1 client @ 3 RPS",
        "  fault       xxxxxxxxxx Jitter: ➡️🖧Amplitude: 150.00ms, Frequence 5.00Hz",
        "  requests    31 in 10 seconds and 329 ms: 3.00/s of 3.00/s",
        "  errors      0 (0.0%)",
        "  statuses    200: 31",
        "  latency     mean 199.92, min 83.65, p50 199.92, p95 269.28, p99 272.49, max 272.49 (ms)",
        "",
        "  Objectives",
        "    SLO          Kept?   Objective    Margin                 Over",
        "    99% @ 350ms  kept    99% < 350ms  Below by 77.5ms    0 (0.0%)",
        "    95% @ 200ms  missed  95% < 200ms  Above by 69.3ms  15 (48.4%)",
        "",
        "  Response time and service time",
    ]


def test_a_run_is_said_to_have_faults_only_where_some_were_set() -> None:
    (item,) = LOAD.items
    broken, plain = render_item(item), render_item(replace(item, faults=(), baseline=None, impact=()))
    assert any(line.startswith("    with faults ") for line in broken)
    assert any(line.startswith("    no faults ") for line in plain)
    assert "with faults" not in "\n".join(plain).lower()


def test_numbers_stand_right_and_words_left() -> None:
    lines = render_item(LOAD.items[0])
    begin = lines.index("  Impact")
    assert lines[begin + 1 : begin + 4] == [
        "    Figure  Baseline  With Faults  Difference  95% Interval              Shown?",
        "    mean    10.52 ms     78.40 ms   +67.88 ms  +63.68 ms to +72.08 ms    yes",
        "    p50     10.09 ms     13.75 ms    +3.66 ms  -5.84 ms to +13.16 ms     no",
    ]


def test_a_failure_gives_its_reason_right_below_the_verdict_and_its_errors_by_class() -> None:
    lines = render_item(FAILED.items[0])
    assert lines[:2] == [
        "FAILED: GET http://localhost:9090/",
        "  because     SLO errors < 1%: 7.5 % of the requests failed, less than 1 % was wanted",
    ]
    assert "  errors      12 (7.5%): status_5xx 9, reset 2, timeout 1" in lines


def test_a_partial_report_is_marked_at_its_top_and_at_its_end() -> None:
    lines = render_text(PARTIAL).splitlines()
    assert lines[3] == "PARTIAL     interrupted after 1 of 3 items"
    assert lines[-2:] == [
        "2 items: 1 passed, 1 unfinished",
        "This report is partial: interrupted after 1 of 3 items",
    ]


def test_without_a_sample_there_is_no_latency() -> None:
    assert latency_text(ZERO_SAMPLES.items[0].run.response) == "none measured"


def test_an_item_fits_on_one_line() -> None:
    assert item_line(SINGLE.items[0]) == (
        "Passed        POST https://xxxxxx@shop.example/orders?token=xxxxxx&page=2 · latency · "
        "1 request, 0 errors (0.0%) · p95 312.40 ms"
    )
    assert item_line(FAILED.items[0]) == (
        "Failed        GET http://localhost:9090/ · httperror, packetloss · 160 requests, 12 errors (7.5%) · "
        "p95 14.99 ms · 0 of 2 SLOs kept · "
        "SLO errors < 1%: 7.5 % of the requests failed, less than 1 % was wanted"
    )
    assert item_line(ZERO_SAMPLES.items[0]) == (
        "Unfinished    GET http://localhost:9090/ · latency · 0 requests, 0 errors (0.0%) · "
        "0 of 1 SLO kept · localhost:9090 cannot be reached: connection refused"
    )


@pytest.mark.parametrize("report", EXAMPLES.values(), ids=EXAMPLES)
def test_no_line_is_wider_than_the_page(report: Report) -> None:
    assert [line for line in render_text(report).splitlines() if len(line) > WIDTH] == []


@given(st.text(max_size=300))
def test_no_text_steers_the_terminal_or_leaves_the_page(text: str) -> None:
    item = LOAD.items[0]
    fault = replace(item.faults[0], written=text, description=text)
    slo = replace(item.slos[0], slo=replace(item.slos[0].slo, title=text), warning=text)
    odd = replace(
        item, call=replace(item.call, url=text), faults=(fault,), slos=(slo,), reasons=(text,), routes=(text,)
    )
    scenario = replace(LOAD.scenarios[0], title=text, description=text, items=(odd,))
    whole = render_text(replace(LOAD, scenarios=(scenario,), partial=text, seed=text))
    assert whole.replace("\n", "").isprintable()
    assert max(map(len, whole.splitlines())) <= WIDTH
    assert item_line(odd).isprintable()
