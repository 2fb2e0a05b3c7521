"""Searches in reports: their sentence first, in every format, and the comparison with an earlier one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from faultkit.scenario.report.report_files import render_report
from faultkit.scenario.report.report_model import Report, ReportedStrategy, ScenarioReport
from faultkit.scenario.report.results_document import from_document, to_document
from faultkit.scenario.report.review import review_report
from faultkit.scenario.report.scenario_text import item_line
from faultkit.scenario.report.search_chart import search_chart
from faultkit.scenario.report.search_model import SearchLevel, SearchReport
from faultkit.scenario.report.search_wording import compared, comparison_sentence, search_sentence
from faultkit.scenario.search_report import judge_search
from tests.scenario.report.examples import LOAD

FOUND = SearchReport(
    setting="faults.latency.mean",
    unit="ms",
    harmless=0.0,
    harmful=1000.0,
    spacing="linear",
    whole=False,
    outcome="found",
    reason="",
    held=176.0,
    broken=190.0,
    estimate=182.0,
    low=178.0,
    high=187.0,
    is_cliff=False,
    objectives=("Answers come soon",),
    broken_objective="Answers come soon",
    levels=(
        SearchLevel(0.0, "held", 400, 400, 98.1, 100.0, "Answers come soon", 95.0),
        SearchLevel(176.0, "held", 900, 880, 95.4, 99.0, "Answers come soon", 95.0),
        SearchLevel(183.0, "undecided", 500, 475, 92.0, 97.2, "Answers come soon", 95.0),
        SearchLevel(1000.0, "broken", 120, 0, 0.0, 7.0, "Answers come soon", 95.0),
    ),
    requests=6000,
    budget_requests=6000,
    budget_s=300.0,
    spent_s=297.4,
)
BRACKET = "Shown to hold up to 176 ms, shown to be broken from 190 ms."
SENTENCE = f"Your SLO breaks at about 182 ms (95 % interval 178–187). {BRACKET}"
NO_ESTIMATE: dict[str, Any] = {"estimate": None, "low": None, "high": None}
HOLDS = replace(FOUND, outcome="holds", held=1000.0, broken=None, broken_objective=None, **NO_ESTIMATE)
BROKEN = replace(FOUND, outcome="already_broken", held=None, broken=0.0, **NO_ESTIMATE)


@pytest.mark.parametrize(
    ("search", "sentence"),
    [
        (FOUND, SENTENCE),
        (HOLDS, "Your SLO holds up to 1000 ms, the whole range."),
        (BROKEN, "Your SLO is already broken at 0 ms, the harmless end of the range."),
        (
            replace(FOUND, is_cliff=True, reason="At once.", **NO_ESTIMATE),
            f"Your SLO breaks between 176 and 190 ms, at once: a cliff. {BRACKET} At once.",
        ),
        (
            replace(FOUND, objectives=("Answers come soon", "No errors")),
            SENTENCE.replace("Your SLO", 'Your SLO "Answers come soon"'),
        ),
        (
            replace(
                FOUND,
                outcome="inconclusive",
                reason="The harmful end of the range could not be decided.",
                broken=None,
                wanted_requests=24_000,
                wanted_s=1200.0,
                **NO_ESTIMATE,
            ),
            "It is not known where your SLO breaks. The harmful end of the range could not be decided. "
            "Shown to hold up to 176 ms. A budget of about 20m may decide it.",
        ),
        (
            replace(
                FOUND,
                setting="faults.http_error.probability",
                unit="",
                held=0.04,
                broken=0.06,
                estimate=0.05,
                low=0.045,
                high=0.055,
            ),
            "Your SLO breaks at about a probability of 0.05 (95 % interval 0.045–0.055). Shown to hold up to "
            "a probability of 0.04, shown to be broken from a probability of 0.06.",
        ),
    ],
)
def test_the_result_is_a_sentence(search: SearchReport, sentence: str) -> None:
    assert search_sentence(search) == sentence


@pytest.mark.parametrize(
    ("search", "breaks_above", "verdict", "reason"),
    [
        (FOUND, None, "passed", None),
        (FOUND, 176.0, "passed", None),
        (FOUND, 177.0, "failed", "shown to hold only up to 176 ms, and 177 ms was expected"),
        (HOLDS, 1000.0, "passed", None),
        (BROKEN, None, "failed", "Your SLO is already broken at 0 ms"),
        (replace(FOUND, outcome="inconclusive"), 150.0, "inconclusive", "It is not known where"),
        (replace(FOUND, outcome="inconclusive"), 180.0, "inconclusive", "It is not known where"),
        (replace(FOUND, outcome="inconclusive"), 190.0, "failed", "shown to hold only up to 176 ms"),
    ],
)
def test_the_verdict_is_by_the_bound_that_is_shown(
    search: SearchReport, breaks_above: float | None, verdict: str, reason: str | None
) -> None:
    found, reasons = judge_search(replace(search, breaks_above=breaks_above), ())
    assert found == verdict
    assert (reasons[0].startswith(reason)) if reason else reasons == ()


def test_a_setting_that_is_searched_downwards_must_hold_down_to_its_bound() -> None:
    down = replace(
        FOUND, harmless=1000.0, harmful=1.0, held=120.0, broken=80.0, estimate=100.0, low=90.0, high=110.0
    )
    assert judge_search(replace(down, breaks_above=150.0), ())[0] == "passed"
    assert judge_search(replace(down, breaks_above=100.0), ())[0] == "failed"
    worse = replace(down, held=220.0, broken=180.0, estimate=200.0, low=190.0, high=210.0)
    assert compared(down, worse) == "worse"


def test_a_run_that_was_stopped_is_unfinished_whatever_it_has() -> None:
    assert judge_search(FOUND, (), cut_short="it was stopped") == ("unfinished", ("it was stopped",))


LOWER = replace(FOUND, held=100.0, broken=150.0, estimate=130.0, low=120.0, high=140.0)


@pytest.mark.parametrize(
    ("before", "now", "result"),
    [
        (FOUND, FOUND, "no difference"),
        (FOUND, LOWER, "worse"),
        (LOWER, FOUND, "better"),
        (FOUND, replace(LOWER, broken=180.0), "worse"),
        (FOUND, replace(LOWER, broken=180.0, **NO_ESTIMATE), "no difference"),
        (FOUND, HOLDS, "better"),
        (HOLDS, FOUND, "worse"),
        (HOLDS, HOLDS, "no difference"),
        (FOUND, BROKEN, "worse"),
        (BROKEN, BROKEN, "no difference"),
        (
            FOUND,
            replace(FOUND, outcome="inconclusive", held=None, broken=None, **NO_ESTIMATE),
            "no difference",
        ),
    ],
)
def test_two_searches_differ_if_their_bounds_or_intervals_are_apart(
    before: SearchReport, now: SearchReport, result: str
) -> None:
    assert compared(before, now) == result
    assert comparison_sentence(before, now).lower().startswith(result)


def report_of(search: SearchReport) -> Report:
    searched = replace(
        LOAD.items[0],
        strategy=ReportedStrategy("search", stepped=search.setting, duration_s=300.0, rps=20.0),
        baseline=None,
        impact=(),
        slos=(),
        search=search,
    )
    scenario = ScenarioReport("A search", None, "a.yaml", 1, (searched,))
    return Report("faultkit 1", "2026-01-01T00:00:00+00:00", "2026-01-01T00:05:00+00:00", 1, (scenario,))


@pytest.mark.parametrize("extension", ["md", "html", "txt", "xml", "json"])
def test_every_format_has_the_levels_and_all_but_data_the_sentence(extension: str) -> None:
    rendered = render_report(report_of(FOUND), f"report.{extension}")
    assert "176" in rendered
    if extension == "json":
        assert json.loads(rendered)["scenarios"][0]["items"][0]["search"]["held"] == 176
    else:
        flat = " ".join(rendered.split())
        assert SENTENCE in flat
        assert "Response time and service time" not in flat
        assert flat.index(SENTENCE) < flat.index("95.4 %")


def test_a_search_survives_the_way_through_a_results_file() -> None:
    report = report_of(replace(FOUND, breaks_above=150.0))
    assert from_document(to_document(report)) == report


def test_the_line_of_an_item_has_the_sentence() -> None:
    assert SENTENCE in item_line(report_of(FOUND).items[0])


def test_a_review_says_nothing_about_figures_of_all_values_together() -> None:
    assert review_report(report_of(FOUND)).findings == ()


def test_the_chart_shades_the_bracket_and_marks_each_level_from_harmless_to_harmful() -> None:
    drawn = search_chart(FOUND)
    assert drawn.count('class="dot held"') == 2
    assert drawn.count('class="dot undecided"') == drawn.count('class="dot broken"') == 1
    assert 'class="window" x="17.6%" y="0" width="1.4%"' in drawn
    assert ">1000 ms<" in drawn
    downwards = search_chart(
        replace(FOUND, harmless=1000.0, harmful=1.0, spacing="log", held=100.0, broken=10.0)
    )
    assert 'class="window" x="33.33%"' in downwards
    assert "(log scale)" in downwards
