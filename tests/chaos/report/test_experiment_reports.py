"""Reports of experiments: text, Markdown, JUnit, HTML, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from faultkit.chaos.report.experiment_formats import (
    journal_json,
    render_chaos_html,
    render_chaos_junit,
    render_chaos_markdown,
    render_chaos_text,
)
from faultkit.chaos.report.journal_report import OUTCOMES, chaos_report
from tests.chaos.report.journals import DAY, ONE, journal
from tests.report.chromium import Page


def test_a_run_is_read_from_its_journal() -> None:
    [run] = ONE.runs
    assert [(phase.name, phase.began_s, phase.ended_s, phase.met) for phase in run.phases] == [
        ("gate", 0.0, 0.1, True),
        ("method", 0.1, 2.2, True),
        ("recheck", 2.2, 2.4, False),
        ("rollback", 2.4, 2.5, True),
    ]
    assert [(check.phase, check.met) for check in run.checks] == [("gate", True), ("recheck", False)]
    assert run.broken_s == (0.1, 2.5)
    assert DAY.not_run == ("last",)
    assert not DAY.held


def test_a_run_that_was_cut_short_has_open_ends() -> None:
    whole = journal("cut")
    events = [each for each in whole["faultkit"]["events"] if each["at_s"] < 0.2]
    stopped = [*events, {"kind": "stopping", "at_s": 0.2, "why": "it was asked to stop"}]
    cut = journal("cut", "aborted", events=stopped, duration_seconds=0.3)
    [run] = chaos_report("cut", [cut], "t").runs
    assert run.stopped == "it was asked to stop"
    assert [(act.name, act.ok, act.ended_s) for act in run.acts] == [("cut", None, 0.3)]
    assert (run.phases[-1].name, run.phases[-1].ended_s) == ("method", 0.3)


def test_the_text_says_what_came_of_it_and_why() -> None:
    assert render_chaos_text(ONE).splitlines() == [
        "plain: The steady state deviated",
        "  gate      ok      0.10 s",
        "  method    ok      2.10 s",
        "  recheck   MISSED  0.20 s",
        "  rollback  ok      0.10 s",
        "            undone: remove rule cut",
        "  not met   recheck: the shop answers: expected 200, got 503",
    ]
    assert render_chaos_text(DAY).splitlines()[-2:] == ["Black Friday: 1 of 4 held", "not run: last"]


def test_markdown_cannot_be_broken_out_of() -> None:
    text = render_chaos_markdown(DAY)
    assert text.startswith("# Black Friday\n")
    assert "| plain | deviated | yes | no | ok | 2.5 |" in text
    assert "| &lt;b>a\\|b&lt;/b> \\*x\\* | rollback_failed |" in text
    assert "<script" not in text
    assert "Not run: last." in text


def test_junit_passes_only_what_held() -> None:
    [suite] = ET.fromstring(render_chaos_junit(DAY))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("5", "1", "3")
    cases = {case.get("name"): [each.tag for each in case] for case in suite.iter("testcase")}
    assert cases["with fallback"] == []
    assert (cases["plain"], cases["odd"], cases["last"]) == (["failure"], ["error"], ["error"])


def test_json_is_the_journal_or_all_of_them() -> None:
    one = journal("plain", "deviated")
    assert json.loads(journal_json(ONE, [one])) == one
    document = json.loads(journal_json(DAY, [one, one]))
    assert (document["gameday"], document["held"], document["not_run"], len(document["journals"])) == (
        "Black Friday",
        False,
        ["last"],
        2,
    )


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_every_outcome_has_a_page(outcome: str) -> None:
    page = render_chaos_html(chaos_report("x", [journal("x", outcome)], "t"))
    assert OUTCOMES[outcome] in page


def test_the_page_holds_no_markup_of_others() -> None:
    page = render_chaos_html(DAY)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


_OUTSIDE = """
[...document.querySelectorAll('body *')].filter(each =>
  !each.closest('.scroll') && !each.closest('svg') && !each.classList.contains('unseen') &&
  each.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5
).map(each => each.outerHTML.slice(0, 120))
"""
_MARKS = "document.querySelectorAll('.timeline .look, .timeline .act, .timeline .undone').length"


def test_the_page_is_drawn_quiet_and_no_wider_than_a_phone(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_chaos_html(DAY), "utf-8")
    for width, dark in ((1200, False), (1200, True), (390, False)):
        page.show(file, width, dark=dark)
        assert page.requested == [file.as_uri()]
        assert page.complaints == []
        assert page.value(_OUTSIDE) == []
        # Two checks, an action and an undo for each of the three that ran.
        assert page.value(_MARKS) == 12
