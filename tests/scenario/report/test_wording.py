"""Words: one and many, below and above, and figures that there are none of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.load.slo import Slo, SloResult
from faultkit.scenario.report.report_model import Strategy
from faultkit.scenario.report.review import review
from faultkit.scenario.report.scenario_markdown import render_markdown
from faultkit.scenario.report.scenario_page import render_html
from faultkit.scenario.report.scenario_text import render_text
from faultkit.scenario.report.wording import margin_text, slo_measured, strategy_text
from tests.scenario.report.examples import LOAD
from tests.scenario.report.measured import SLOW, added, fault, load_item, report_of
from tests.scenario.report.sample_parser import parse_report

LATENCY = Slo("latency", "fast", 95, 200)
ERROR = Slo("error", "sound", 99, 1)
AVAILABILITY = Slo("availability", "there", 99, None)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (SloResult(LATENCY, True, 122.5, 77.5, 0, 31), "Below by 77.5ms"),
        (SloResult(LATENCY, False, 269.3, -69.3, 15, 31), "Above by 69.3ms"),
        (SloResult(ERROR, True, 0.0, 1.0, 0, 31), "Below by 1.00%"),
        (SloResult(ERROR, False, 3.0, -2.0, 1, 31), "Above by 2.00%"),
        (SloResult(AVAILABILITY, True, 100.0, 1.0, 0, 31), "Above by 1.00%"),
        (SloResult(AVAILABILITY, False, 97.0, -2.0, 1, 31), "Below by 2.00%"),
        (SloResult(LATENCY, False, None, None, 31, 31, "no answer"), "-"),
        (SloResult(AVAILABILITY, None, 99.5, 0.5, 1, 200, "dropped"), "-"),
    ],
)
def test_a_margin_says_on_which_side_the_figure_lies(result: SloResult, text: str) -> None:
    assert margin_text(result) == text


def test_an_objective_without_an_answer_is_shown_with_its_warning_everywhere() -> None:
    warning = "300 of 300 requests failed: at 95% there is no answer."
    lost = SloResult(LATENCY, False, None, None, 300, 300, warning)
    item = replace(LOAD.items[0], slos=(lost,), verdict="failed")
    report = report_of(item)
    assert slo_measured(lost) == "p95 without answer"
    (row,) = parse_report(render_markdown(report)).scenarios[0].items[0].slos
    assert (row["Pass?"], row["Margin"]) == ("❌", "-")
    assert warning in render_markdown(report)
    assert warning in " ".join(render_text(report).split())
    assert warning in render_html(report)
    assert "fast: p95 without answer." in {finding.remark.much for finding in review(report).findings}


@pytest.mark.parametrize(
    ("strategy", "text", "original"),
    [
        (
            Strategy("load", duration_s=10, clients=1, rps=3),
            "load for 10s with 1 client @ 3 RPS",
            "load for 10s with 1 clients @ 3 RPS",
        ),
        (
            Strategy("load", duration_s=10, clients=2),
            "load for 10s with 2 clients, as fast as may be",
            "load for 10s with 2 clients, as fast as may be",
        ),
        (
            Strategy("repeat", count=1, step=5),
            "repeat 1 time with a step of 5",
            "repeat 1 times with a step of 5",
        ),
    ],
)
def test_one_is_not_many_but_where_the_original_says_so(strategy: Strategy, text: str, original: str) -> None:
    assert strategy_text(strategy) == text
    assert strategy_text(strategy, original=True) == original


def test_markdown_keeps_the_words_of_the_original_and_the_others_do_not() -> None:
    report = report_of(load_item(added(120), fault(SLOW, 20), duration_s=1, rps=20))
    assert "with 1 clients @" in render_markdown(report)
    assert "with 1 client @" in render_text(report)
    assert "with 1 client @" in render_html(report)


def test_an_interval_that_too_few_requests_give_is_none() -> None:
    report = report_of(load_item(added(120), fault(SLOW, 400), duration_s=20, rps=20))
    tables = {
        line.split("|")[1].strip(): line.split("|")[3].strip()
        for line in render_markdown(report).splitlines()
        if line.startswith("| p") and line.count("|") == 5
    }
    assert tables["p99.9"] == "too few to say"
    assert " to " in tables["p50"]
    assert tables["p50"] != "too few to say"
    few = report_of(load_item(added(120), fault(SLOW, 10), duration_s=1, rps=10))
    lines = [line.split() for line in render_text(few).splitlines() if line.strip().startswith("p99 ")]
    assert [" ".join(line[2:6]) for line in lines if len(line) == 7] == ["too few to say"]


def test_a_difference_without_an_interval_shows_none() -> None:
    few = report_of(load_item(added(120), fault(SLOW, 10), duration_s=1, rps=10))
    rows = [line for line in render_markdown(few).splitlines() if line.endswith("too few requests |")]
    assert rows
    assert all(row.split("|")[5].strip() == "-" for row in rows)
