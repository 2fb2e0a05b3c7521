"""Reports of a search of two settings: the sentence, the map in each format, the picture, the comparison."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.load.search.share_evidence import Decision
from faultkit.scenario.frontier_report import judge_frontier
from faultkit.scenario.report.frontier_chart import frontier_chart
from faultkit.scenario.report.frontier_model import FrontierPair, FrontierReport, FrontierSetting
from faultkit.scenario.report.frontier_wording import (
    compared_frontiers,
    frontier_comparison,
    frontier_sentence,
    map_rows,
)
from faultkit.scenario.report.report_files import render_report
from faultkit.scenario.report.report_model import Report, ReportedStrategy, ScenarioReport
from faultkit.scenario.report.results_document import from_document, to_document
from faultkit.scenario.report.review import review_report
from faultkit.scenario.report.scenario_text import item_line
from tests.scenario.report.examples import LOAD

LATENCY = FrontierSetting("faults.latency.mean", "ms", "linear", (0.0, 100.0, 200.0))
LOSS = FrontierSetting("faults.packet_loss.rate", "", "linear", (0.0, 0.1, 0.2, 0.3))
TITLE = "Answers come soon"
SEEN = (200, 190, 91.5, 98.0, TITLE, 90.0)
UNSEEN = (0, 0, None, None, None, None)
DECISIONS: dict[str, Decision] = {"h": "held", "b": "broken", "u": "undecided"}


def pairs_of(*rows: str) -> tuple[FrontierPair, ...]:
    """Return the pairs of rows such as `HhuB`: one for each latency, from no loss on. Capital letters were
    measured."""
    return tuple(
        FrontierPair(first, second, DECISIONS[sign.lower()], *(SEEN if sign.isupper() else UNSEEN))
        for first, row in zip(LATENCY.values, rows, strict=True)
        for second, sign in zip(LOSS.values, row, strict=True)
    )


FOUND = FrontierReport(
    first=LATENCY,
    second=LOSS,
    outcome="found",
    reason="",
    pairs=pairs_of("HhHU", "hHBb", "Bbbb"),
    objectives=(TITLE,),
    requests=1800,
    budget_requests=6000,
    budget_s=300.0,
    spent_s=97.2,
)
COUNTS = "Of 12 pairs of values, 5 hold, 6 are broken and 1 is undecided."
ALONG_LATENCY = "between 100 and 200 ms of latency.mean while packet_loss.rate is 0"
SENTENCE = (
    f"Your SLO breaks {ALONG_LATENCY}, and beyond 0.2 of packet_loss.rate, if at all, while latency.mean is "
    f"0 ms. {COUNTS}"
)
HOLDS = replace(FOUND, outcome="holds", pairs=pairs_of("Hhhh", "hhhh", "hhhH"))
BROKEN = replace(FOUND, outcome="already_broken", pairs=pairs_of("Bbbb", "bbbb", "bbbb"))
LOWER = replace(FOUND, pairs=pairs_of("HhBb", "BBBb", "Bbbb"))


@pytest.mark.parametrize(
    ("frontier", "sentence"),
    [
        (FOUND, SENTENCE),
        (
            replace(FOUND, pairs=pairs_of("HhBb", "hHBb", "Bbbb"), objectives=(TITLE, "No errors")),
            f"One of your SLOs breaks {ALONG_LATENCY}, and between 0.1 and 0.2 of packet_loss.rate while "
            "latency.mean is 0 ms. Of 12 pairs of values, 4 hold and 8 are broken.",
        ),
        (
            replace(FOUND, pairs=pairs_of("HhhH", "hhhh", "HBbb"), reason="The budget was spent."),
            "Your SLO breaks nowhere up to 200 ms of latency.mean, the whole range, while packet_loss.rate "
            "is 0, and nowhere up to 0.3 of packet_loss.rate, the whole range, while latency.mean is 0 ms. "
            "Of 12 pairs of values, 9 hold and 3 are broken. The budget was spent.",
        ),
        (HOLDS, "Your SLO holds up to latency.mean 200 ms and packet_loss.rate 0.3, both harmful ends."),
        (
            BROKEN,
            "Your SLO is already broken at latency.mean 0 ms and packet_loss.rate 0, both harmless ends.",
        ),
        (
            replace(
                FOUND,
                outcome="inconclusive",
                reason="The pair of both harmless ends could not be decided.",
                pairs=pairs_of("Uuuu", "uuuu", "uuuu"),
                wanted_requests=24_000,
                wanted_s=1200.0,
            ),
            "It is not known where your SLO breaks. The pair of both harmless ends could not be decided. Of "
            "12 pairs of values, 0 hold, 0 are broken and 12 are undecided. A budget of about 20m may decide "
            "it.",
        ),
    ],
)
def test_the_result_is_a_sentence(frontier: FrontierReport, sentence: str) -> None:
    assert frontier_sentence(frontier) == sentence


@pytest.mark.parametrize(
    ("frontier", "verdict"),
    [
        (FOUND, "passed"),
        (HOLDS, "passed"),
        (BROKEN, "failed"),
        (replace(FOUND, outcome="inconclusive", reason="A reason."), "inconclusive"),
        (None, "inconclusive"),
    ],
)
def test_the_verdict_fails_only_if_the_harmless_pair_is_broken(
    frontier: FrontierReport | None, verdict: str
) -> None:
    assert judge_frontier(frontier, ())[0] == verdict
    assert judge_frontier(frontier, (), cut_short="stopped") == ("unfinished", ("stopped",))


def test_a_fault_that_never_acted_proves_nothing() -> None:
    idle = replace(LOAD.items[0].faults[0], injected=0)
    assert judge_frontier(FOUND, (idle,)) == ("not exercised", (f"{idle.written} never acted",))


def report_of(frontier: FrontierReport) -> Report:
    searched = replace(
        LOAD.items[0],
        strategy=ReportedStrategy("search", stepped="a and b", duration_s=300.0, rps=20.0),
        baseline=None,
        impact=(),
        slos=(),
        frontier=frontier,
    )
    scenario = ScenarioReport("A search", None, "a.yaml", 1, (searched,))
    return Report("faultkit 1", "2026-01-01T00:00:00+00:00", "2026-01-01T00:05:00+00:00", 1, (scenario,))


@pytest.mark.parametrize("extension", ["md", "html", "txt", "xml"])
def test_every_format_has_the_sentence_before_the_measured_pairs(extension: str) -> None:
    flat = " ".join(render_report(report_of(FOUND), f"report.{extension}").split())
    assert flat.index(SENTENCE) < flat.index("packet_loss.rate 0.3")
    assert "Response time and service time" not in flat


def test_text_and_markdown_have_the_map_with_the_harmful_end_at_the_top() -> None:
    assert map_rows(FOUND) == (
        ("0.3", "?", "broken", "broken"),
        ("0.2", "held", "broken", "broken"),
        ("0.1", "held", "held", "broken"),
        ("0", "held", "held", "broken"),
    )
    assert map_rows(replace(FOUND, pairs=pairs_of("Hhhu", "BBBb", "Bbbb")))[0][1] == "·"
    markdown = render_report(report_of(FOUND), "report.md")
    assert "| packet_loss.rate | 0 ms | 100 ms | 200 ms |" in markdown
    assert "| 0.1 | held | held | broken |" in markdown
    text = render_report(report_of(FOUND), "report.txt")
    assert re.search(r"packet_loss.rate +0 ms +100 ms +200 ms\n.*\n? *0.3 +\? +broken +broken", text)


def test_junit_has_the_edges_as_properties() -> None:
    document = render_report(report_of(FOUND), "report.xml")
    assert 'name="1.pairs_held" value="5"' in document
    assert 'value="held up to 0.1, broken from 0.2"' in document


def test_a_frontier_survives_the_way_through_a_results_file() -> None:
    report = report_of(FOUND)
    assert from_document(to_document(report)) == report
    document: Any = json.loads(render_report(report, "results.json"))
    frontier = document["scenarios"][0]["items"][0]["frontier"]
    assert frontier["pairs"][3]["decision"] == "undecided"
    del frontier["pairs"][3]
    with pytest.raises(InputError, match=r"frontier.pairs: expected 12, one for each pair of values, got 11"):
        from_document(document)


def test_the_line_of_an_item_has_the_sentence_and_a_review_no_figures_of_all_pairs() -> None:
    assert SENTENCE in item_line(report_of(FOUND).items[0])
    assert review_report(report_of(FOUND)).findings == ()


def test_the_picture_has_a_sign_for_each_pair_and_lines_along_the_frontier() -> None:
    drawn = frontier_chart(FOUND)
    assert (drawn.count(">✓<"), drawn.count(">✕<"), drawn.count(">?<")) == (5, 6, 1)
    assert drawn.count("faint") - 1 == sum(not pair.requests for pair in FOUND.pairs)
    assert "faults.latency.mean (ms) →" in drawn
    assert "faults.packet_loss.rate ↑" in drawn
    assert "latency.mean 0 ms, packet_loss.rate 0.3: undecided, 95 % of 200 requests good" in drawn
    assert "latency.mean 0 ms, packet_loss.rate 0.1: held, follows from other pairs" in drawn
    lines = set(re.findall(r'<line class="edge" x1="([^"]+)" x2="([^"]+)" y1="([^"]+)" y2="([^"]+)"', drawn))
    # Rows are 28 px high, and the first begins below the 20 px of the title.
    assert lines == {
        ("0%", "33.33%", "48", "48"),
        ("33.33%", "33.33%", "48", "76"),
        ("33.33%", "66.67%", "76", "76"),
        ("66.67%", "66.67%", "76", "104"),
        ("66.67%", "66.67%", "104", "132"),
        ("33.33%", "33.33%", "20", "48"),
    }


@pytest.mark.parametrize(
    ("before", "now", "result", "sentence"),
    [
        (
            FOUND,
            LOWER,
            "worse",
            "Worse than the baseline: 3 pairs that held are broken, the first at latency.mean 0 ms, "
            "packet_loss.rate 0.2.",
        ),
        (
            LOWER,
            FOUND,
            "better",
            "Better than the baseline: 3 pairs that were broken hold, the first at latency.mean 0 ms, "
            "packet_loss.rate 0.2.",
        ),
        (
            FOUND,
            replace(FOUND, pairs=pairs_of("HhUB", "hHBb", "Bbbb")),
            "no difference",
            "No difference to the baseline is shown: no pair changed from held to broken or back.",
        ),
    ],
)
def test_two_maps_differ_by_pairs_that_are_decided_both_times(
    before: FrontierReport, now: FrontierReport, result: str, sentence: str
) -> None:
    assert compared_frontiers(before, now) == result
    assert frontier_comparison(before, now) == sentence
