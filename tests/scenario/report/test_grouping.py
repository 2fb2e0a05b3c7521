"""A remark that holds for many items is shown once, with their numbers."""

from __future__ import annotations

from dataclasses import replace

from faultkit.scenario.report.review import render_review, review
from tests.scenario.report.measured import SLOW, added, fault, hole, load_item, one_request, report_of


def test_the_same_remark_is_told_once_with_its_items() -> None:
    few = load_item(added(120), fault(SLOW, 20), duration_s=1, rps=20)
    report = report_of(few, few, few, hole(), few)
    text = render_review(review(report))
    assert text.count("too few requests") == 1
    assert (
        "### There are too few requests for firm figures.\n\n"
        "Items 1 to 3, 5, `GET http://127.0.0.1:9090/orders` (Orders survive a slow warehouse)\n\n"
        "- **How much**: 20 requests.\n"
    ) in text


def test_figures_that_differ_stand_beside_their_items() -> None:
    few = load_item(added(120), fault(SLOW, 20), duration_s=1, rps=20)
    one = replace(one_request(), slos=())
    text = render_review(review(report_of(few, one, few)))
    assert "- **How much**: Items 1, 3: 20 requests. Item 2: 1 request.\n" in text


def test_many_calls_are_counted_after_the_first_few() -> None:
    few = load_item(added(120), fault(SLOW, 20), duration_s=1, rps=20)
    items = [replace(few, call=replace(few.call, url=f"http://h/{n}")) for n in range(17)]
    text = render_review(review(report_of(*items)))
    assert "Items 1 to 17, `GET http://h/0`, `GET http://h/1`, `GET http://h/2`, 14 more (Orders" in text


def test_as_data_each_item_keeps_its_findings() -> None:
    few = load_item(added(120), fault(SLOW, 20), duration_s=1, rps=20)
    said = review(report_of(few, few))
    assert [finding.item for finding in said.findings if finding.rule == "too-few-samples"] == [1, 2]
