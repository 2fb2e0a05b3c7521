"""The HTML page of results: a row and a card for each test, a lane for each call."""

from __future__ import annotations

import re
from html import unescape

from faultkit.agents.recovery.trace import TracedCall
from faultkit.agents.report.suite_page import render_html, timeline
from faultkit.agents.suite.gate import RecoveryGate
from faultkit.agents.suite.results import SuiteResult, SuiteResults
from tests.agents.report.samples import (
    ALL,
    CALM,
    CUT_SHORT,
    EMPTY,
    ENEMY,
    EVERY_VERDICT,
    FELL_BACK,
    LOOPED,
    PASSED,
    RETRIED,
    RETRIED_LATE,
    SAMPLES,
    TOOL_FAILED,
    hang,
    results,
    run_of,
    trace,
)
from tests.scenario.report.test_scenario_page import Tree


def lanes(drawn: str) -> list[str]:
    """Return the label of each lane."""
    return [
        unescape(said) for said in re.findall(r'<svg class="drawing" role="img" aria-label="(.*?)"', drawn)
    ]


def drawn(page: str, kind: str) -> list[tuple[str, str]]:
    """Return the start and the length of each bar of a kind."""
    return re.findall(rf'class="{kind}" x="([\d.]+%)" y="[\d.]+" width="([\d.]+%)"', page)


def test_every_page_is_closed_in_order_and_asks_for_nothing() -> None:
    for made in SAMPLES.values():
        page = render_html(made)
        tags = Tree(page).tags
        assert not {name for name, _ in tags} & {"script", "img", "iframe", "object"}
        assert not [each for _, each in tags if {"src", "onclick", "onerror", "style"} & set(each)]
        assert [each["href"] for name, each in tags if name == "link"] == ["data:,"]


def test_each_test_has_a_row_and_a_card_that_it_leads_to() -> None:
    tags = Tree(render_html(ALL)).tags
    links = [each["href"] for name, each in tags if name == "a"]
    cards = [f"#{each['id']}" for name, each in tags if name == "details" and "id" in each]
    assert links == cards == [f"#test-{number}" for number in range(1, len(EVERY_VERDICT) + 1)]


def test_the_headline_says_how_many_fail() -> None:
    for made, headline in (
        (ALL, "7 of 11 failing"),
        (EMPTY, "Nothing was run"),
        (CUT_SHORT, "Not all of it was run"),
    ):
        assert f">{headline}</p>" in render_html(made)


def test_cards_of_many_tests_are_folded_if_they_passed() -> None:
    many = SuiteResults((SuiteResult("a.yml", (PASSED,) * 12),), 0, "virtual")
    few = SuiteResults((SuiteResult("a.yml", (PASSED,) * 2),), 0, "virtual")
    assert 'class="card passed" id="test-1" open' not in render_html(many)
    assert 'class="card passed" id="test-1" open' in render_html(few)


def test_a_call_is_a_bar_from_its_begin_to_its_end() -> None:
    page = timeline(run_of(RETRIED_LATE, None))
    assert lanes(page) == [
        "call 1, files/search: timeout, fault stuck, from 0 ms, took 3,000 ms",
        "call 2, files/search: timeout, fault stuck, from 3,000 ms, took 3,000 ms",
        "call 3, files/search: ok, from 6,000 ms, took 40 ms",
        "Final reply: at 6,040 ms",
        "Time",
    ]
    assert drawn(page, "call faulted") == [("0%", "49.67%"), ("49.67%", "49.67%")]
    assert drawn(page, "call mended") == [("99.34%", "0.66%")]
    assert drawn(page, "window") == [("0%", "100%")] * 4


def test_detection_and_last_word_are_marked() -> None:
    page = timeline(run_of(RETRIED, None))
    assert page.count('class="noticed"') == 1
    assert "<title>noticed after 3,000 ms</title>" in page
    assert "<title>final reply at 3,040 ms</title>" in page
    assert 'class="word good"' in page


def test_a_call_of_another_tool_is_an_ordinary_one() -> None:
    page = timeline(run_of(FELL_BACK, None))
    assert len(drawn(page, "call ok")) == 2
    assert drawn(page, "call mended") == []


def test_the_limit_is_drawn_where_it_can_be_seen() -> None:
    assert timeline(run_of(RETRIED)).count('class="limit" x1="100%"') == 3
    far = run_of(RETRIED, RecoveryGate(3000, max_recovery_ms=600_000))
    assert 'class="limit"' not in timeline(far)


def test_a_run_without_a_last_word_says_what_ended_it() -> None:
    page = timeline(run_of(LOOPED))
    assert 'class="word bad"' in page
    assert "Final reply: ended by turns" in lanes(page)


def test_of_a_long_run_the_middle_is_left_out() -> None:
    page = timeline(run_of(LOOPED))
    assert "… 14 more" in page
    assert len(lanes(page)) == 12 + 4 + len(("final reply", "time"))


def test_a_run_that_took_no_time_has_no_axis() -> None:
    page = timeline(run_of(CALM))
    assert "No time passed on the virtual clock." in page
    assert 'class="tick"' not in page


def test_a_call_that_never_ended_reaches_to_the_end() -> None:
    never = TracedCall("search", 3000, None, "lost")
    page = timeline(run_of(trace(hang(0), never, at_ms=6000), None))
    assert drawn(page, "call failed") == [("50%", "50%")]


def test_hostile_text_stays_text() -> None:
    tree = Tree(render_html(ENEMY))
    assert any("</script><img src=x onerror=alert(1)>]]>&amp;" in text for text in tree.texts)
    assert not any("\u202e" in text or "\x1b" in text for text in tree.texts)


def test_the_overview_has_the_figures_of_a_row_in_words_too() -> None:
    page = render_html(results(PASSED, TOOL_FAILED))
    assert re.findall(r'<small class="brief">(.*?)</small>', page) == [
        "recovery 3,040 ms · 1 detection · retry · 2 calls · took 1.25 ms",
        "took 4 ms",
    ]
