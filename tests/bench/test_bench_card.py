"""Checks of the fidelity benchmark and the card that shows them."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from bench.card import draw_card, scale_of
from bench.checks import Check
from bench.experiments import bulk_check, loss_check

SVG = "{http://www.w3.org/2000/svg}"


def _check(value: float, low: float | None, high: float | None, judged: bool = True) -> Check:
    return Check("G", "a < b & c", "1", "2", "µs", value, 0.0, (low, high), (-5.0, 500.0), judged)


@pytest.mark.parametrize(
    ("value", "low", "high", "word"),
    [
        (0.0, 0.0, None, "PASS"),
        (-0.1, 0.0, None, "MISS"),
        (250.0, None, 250.0, "PASS"),
        (250.1, None, 250.0, "MISS"),
        (0.1, -0.2, 0.2, "PASS"),
        (-0.3, -0.2, 0.2, "MISS"),
    ],
)
def test_bounds_belong_to_what_is_allowed(
    value: float, low: float | None, high: float | None, word: str
) -> None:
    assert _check(value, low, high).word == word


def test_what_is_only_told_gets_no_verdict() -> None:
    assert _check(999.0, None, 1.0, judged=False).word == "–"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(0.0, None, "≥ 0 µs"), (None, 250.0, "≤ 250 µs"), (-0.2, 0.2, "-0.2 to 0.2 µs"), (None, None, "–")],
)
def test_what_is_allowed_can_be_read(low: float | None, high: float | None, text: str) -> None:
    assert _check(0.0, low, high).allowed_text() == text


def test_loss_is_allowed_what_chance_allows_at_the_requested_rate() -> None:
    likely, unlikely = loss_check("x", 330, 6400), loss_check("x", 400, 6400)
    assert likely.allowed == unlikely.allowed == (4.149, 5.958)
    assert (likely.word, unlikely.word) == ("PASS", "MISS")


def test_bulk_is_judged_by_its_share_of_pass_through() -> None:
    assert [check.word for check in bulk_check(1.0, 4.0, 10)] == ["PASS", "–"]
    assert [check.word for check in bulk_check(0.9, 4.0, 10)] == ["MISS", "–"]


def test_a_scale_holds_bounds_wish_and_value() -> None:
    scale = scale_of(_check(300.0, None, 250.0))
    assert (scale.low, scale.high) == (-75.0, 375.0)
    assert scale.x(-1e9) == scale.x(scale.low) < scale.x(0) < scale.x(scale.high) == scale.x(1e9)


def test_a_scale_of_a_single_point_has_a_width() -> None:
    assert scale_of(Check("G", "l", "1", "2", "", 0.0, wanted=0.0)).high > 0


def test_the_card_is_well_formed_and_counts_its_targets() -> None:
    checks = [_check(1.0, 0.0, None), _check(9.0, None, 5.0), _check(1.0, None, None, judged=False)]
    root = ElementTree.fromstring(draw_card("A <card>", "one & two", checks))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert root.tag == f"{SVG}svg"
    assert texts.count("a < b & c") == 3
    assert texts.count("PASS") == texts.count("MISS") == 1
    assert "1/2" in texts
    assert len(list(root.iter(f"{SVG}circle"))) == 3 + 1  # and one in the legend


def test_an_empty_card_is_well_formed() -> None:
    assert ElementTree.fromstring(draw_card("t", "s", [])).tag == f"{SVG}svg"
