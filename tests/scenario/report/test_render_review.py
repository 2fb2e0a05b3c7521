"""A review as text: equal remarks are grouped, and `fault scenario review` writes it to a file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from faultkit.cli.main import invoke
from faultkit.scenario.report.report_files import write_report
from faultkit.scenario.report.review import render_review, review_report
from tests.scenario.report.examples import ALL_KINDS
from tests.scenario.report.measured import SLOW, added, fault, hole, load_item, one_request, report_of


def test_the_same_remark_is_shown_once_with_its_items() -> None:
    few = load_item(added(120), fault(SLOW, 20), duration_s=1, rps=20)
    report = report_of(few, few, few, hole(), few)
    text = render_review(review_report(report))
    assert text.count("too few requests") == 1
    assert (
        "### There are too few requests for firm figures.\n\n"
        "Items 1 to 3, 5, `GET http://127.0.0.1:9090/orders` (Orders survive a slow warehouse)\n\n"
        "- **How much**: 20 requests.\n"
    ) in text


def test_figures_that_differ_stand_beside_their_items() -> None:
    few = load_item(added(120), fault(SLOW, 20), duration_s=1, rps=20)
    one = replace(one_request(), slos=())
    text = render_review(review_report(report_of(few, one, few)))
    assert "- **How much**: Items 1, 3: 20 requests. Item 2: 1 request.\n" in text


def test_many_calls_are_counted_after_the_first_few() -> None:
    few = load_item(added(120), fault(SLOW, 20), duration_s=1, rps=20)
    items = [replace(few, call=replace(few.call, url=f"http://h/{n}")) for n in range(17)]
    text = render_review(review_report(report_of(*items)))
    assert "Items 1 to 17, `GET http://h/0`, `GET http://h/1`, `GET http://h/2`, 14 more (Orders" in text


def test_as_data_each_item_keeps_its_findings() -> None:
    few = load_item(added(120), fault(SLOW, 20), duration_s=1, rps=20)
    reviewed = review_report(report_of(few, few))
    assert [finding.item for finding in reviewed.findings if finding.rule == "too-few-samples"] == [1, 2]


# The command checks the path of its output before it reads the results


def test_a_review_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_report(ALL_KINDS, "results.json")
    assert invoke(["scenario", "review", "--report", "review.md"]) == 0
    assert Path("review.md").read_text("utf-8") == render_review(review_report(ALL_KINDS))


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("no/review.md", 'expected a folder that exists, got "no"'),
        ("review.pdf", 'expected a file that ends in .md, got ".pdf"'),
    ],
)
def test_a_place_that_cannot_be_written_is_wrong_input(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    path: str,
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_report(ALL_KINDS, "results.json")
    assert invoke(["scenario", "review", "--report", path]) == 2
    assert capsys.readouterr().err == f"error: {path}: {why}\n"
    assert os.listdir(tmp_path) == ["results.json"]
