from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from faultkit.scenario.report.report_model import Report, Verdict
from faultkit.scenario.report.scenario_page import render_html
from tests.scenario.report import measured
from tests.scenario.report.examples import (
    ALL_KINDS,
    EMPTY,
    EXAMPLES,
    HOSTILE,
    LOAD,
    PARTIAL,
    REPEAT,
    SINGLE,
)

REPORTS: dict[str, Report] = {**EXAMPLES, "showcase": measured.SHOWCASE, "edges": measured.EDGES}
VOID = {"br", "link", "meta", "wbr"}


class Tree(HTMLParser):
    """Complains about elements that are not closed in order; keeps tags, attributes and texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"an attribute twice: {tag} {attrs}"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def attributes(self, name: str) -> list[str]:
        return [value for _, attributes in self.tags if (value := attributes.get(name)) is not None]


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_is_well_formed_and_the_same_each_time(name: str) -> None:
    page = render_html(REPORTS[name])
    Tree(page)
    assert page == render_html(REPORTS[name])
    assert page.startswith("<!doctype html>\n")


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_runs_no_script_and_sends_no_request(name: str) -> None:
    page = render_html(REPORTS[name])
    tree = Tree(page)
    assert {tag for tag, _ in tree.tags} & {"script", "img", "iframe", "object", "embed", "form"} == set()
    assert [key for _, attributes in tree.tags for key in attributes if key.startswith("on")] == []
    assert tree.attributes("src") == []
    assert [link for link in tree.attributes("href") if not link.startswith("#")] == ["data:,"]
    style = page[page.index("<style>") : page.index("</style>")]
    assert re.findall(r"url\(|@import|https?:", style) == []


@pytest.mark.parametrize("name", REPORTS)
def test_every_link_within_the_page_leads_somewhere_and_ids_are_unique(name: str) -> None:
    tree = Tree(render_html(REPORTS[name]))
    ids = tree.attributes("id")
    assert len(ids) == len(set(ids)) == len(REPORTS[name].items)
    assert {link[1:] for link in tree.attributes("href") if link.startswith("#")} <= set(ids)


@pytest.mark.parametrize("name", REPORTS)
def test_every_drawing_has_a_text_for_screen_readers(name: str) -> None:
    tree = Tree(render_html(REPORTS[name]))
    drawings = [attributes for tag, attributes in tree.tags if tag == "svg" and "viewbox" not in attributes]
    assert all(each.get("aria-label") or each.get("aria-hidden") for each in drawings)


def test_figures_that_are_not_numbers_do_not_get_into_drawings() -> None:
    for report in REPORTS.values():
        assert re.findall(r'="[^"]*\b(?:nan|inf)\b[^"]*"', render_html(report)) == []


def test_hostile_texts_are_shown_and_not_obeyed() -> None:
    page = render_html(HOSTILE)
    assert "<script>" not in page
    assert page.isprintable() or not re.search("[\x00-\x08\x1b\ufffe]", page)
    assert "<script>alert(1)</script>" in Tree(page).text


def test_half_a_surrogate_pair_does_not_keep_a_page_from_being_written(tmp_path: Path) -> None:
    odd = replace(LOAD, scenarios=(replace(LOAD.scenarios[0], title="odd \ud800 title"),))
    (tmp_path / "report.html").write_text(render_html(odd), "utf-8")
    assert "odd \ufffd title" in (tmp_path / "report.html").read_text("utf-8")


def verdicts(*given: Verdict) -> Report:
    item = SINGLE.items[0]
    return measured.report_of(*(replace(item, verdict=verdict) for verdict in given))


@pytest.mark.parametrize(
    ("report", "headline", "verdict_class"),
    [
        (verdicts("passed"), "Passed", "passed"),
        (verdicts("failed"), "Failed", "failed"),
        (verdicts("not exercised"), "Not exercised", "inconclusive"),
        (verdicts("passed", "passed"), "All 2 passed", "passed"),
        (verdicts("passed", "failed", "inconclusive"), "1 of 3 failed", "failed"),
        (verdicts("passed", "inconclusive"), "1 of 2 passed", "inconclusive"),
        (replace(verdicts("passed", "passed"), partial="stopped"), "All 2 passed", "inconclusive"),
        (EMPTY, "Nothing was run", "inconclusive"),
    ],
)
def test_the_headline_sums_up_the_verdicts(report: Report, headline: str, verdict_class: str) -> None:
    assert f'<p class="headline {verdict_class}">{headline}</p>' in render_html(report)


def test_the_head_counts_every_verdict() -> None:
    assert re.findall(r"<li class=\"[a-z-]+\"><b>(\d+)</b> ([a-z ]+)</li>", render_html(ALL_KINDS)) == [
        ("2", "passed"),
        ("2", "failed"),
        ("1", "inconclusive"),
        ("1", "not exercised"),
        ("1", "unfinished"),
    ]


def test_a_partial_report_is_marked() -> None:
    assert "This report is partial. interrupted after 1 of 3 items" in Tree(render_html(PARTIAL)).text


def test_a_load_item_shows_both_kinds_of_times_and_the_error_of_the_injection() -> None:
    text = Tree(render_html(LOAD)).text
    for words in (
        "Response time 95 % confidence Service time Baseline response",
        "135 releases; late by p50 0.06 ms, p99 0.21 ms, worst 0.42 ms",
        "600 connections, 600 requests, 135 injections",
        "Above by 0.10%",
    ):
        assert words in text


def test_a_repeat_item_shows_every_call_and_what_was_not_met() -> None:
    text = Tree(render_html(REPEAT)).text
    assert "latency.mean_ms" in text
    assert "response time: expected under 490 ms, got 510.30 ms" in text
    assert "It breaks at latency.mean_ms = 500." in text


def test_the_place_of_a_fault_is_shown_in_words() -> None:
    page = render_html(ALL_KINDS)
    assert "<td>answers</td>" in page
    assert "<td>requests</td>" in page
    assert "🖧" not in page


def test_with_many_items_those_that_passed_are_folded_up() -> None:
    cards = re.findall(
        r'<details class="card ([a-z-]+)" id="item-\d+"( open)?>', render_html(measured.many(30))
    )
    assert len(cards) == 30
    assert {card for card in cards} == {("passed", ""), ("failed", " open")}


@pytest.mark.parametrize(("items", "is_open"), [(2, " open"), (3, " open"), (4, ""), (8, "")])
def test_up_to_three_items_every_card_is_open(items: int, is_open: str) -> None:
    cards = re.findall(
        r'<details class="card ([a-z-]+)" id="item-\d+"( open)?>', render_html(measured.many(items))
    )
    assert set(cards) == {("failed", " open"), ("passed", is_open)}


def test_each_cell_of_the_overview_names_its_column() -> None:
    page = render_html(measured.many(2))
    row = page[page.index("<nav") : page.index("</nav>")].split("<tr>")[-1]
    assert re.findall(r'<td[^>]* data-head="([^"]+)"', row) == [
        *("Verdict", "Call", "Faults", "Requests", "Errors", "p50", "p95", "SLOs kept")
    ]
