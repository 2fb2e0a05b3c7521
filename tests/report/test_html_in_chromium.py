"""The HTML report in a real browser: drawn, no console errors, self-contained, and no wider than a phone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from faultkit.scenario.report.report_model import Report
from faultkit.scenario.report.scenario_page import render_html
from tests.report.chromium import Page
from tests.scenario.report import measured
from tests.scenario.report.examples import ALL_KINDS, EMPTY, HOSTILE

REPORTS: dict[str, Report] = {
    "showcase": measured.SHOWCASE,
    "edges": measured.EDGES,
    "all-kinds": ALL_KINDS,
    "hostile": HOSTILE,
    "empty": EMPTY,
    "folded": measured.many(15),
    "many": measured.many(200),
}

BOXES = """
[...document.querySelectorAll('details[open] svg, header svg')].map(svg => {
  const box = svg.getBoundingClientRect();
  return [svg.getAttribute('class') || 'lines', box.width, box.height];
})
"""
DRAWN = """
[...document.querySelectorAll('details[open] .drawing :is(path, rect.bar, circle)')].map(shape => {
  const box = shape.getBoundingClientRect();
  return box.width + box.height;
})
"""
OUTSIDE = """
[...document.querySelectorAll('body *')].filter(each =>
  !each.closest('.scroll') && !each.classList.contains('unseen') &&
  each.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5
).map(each => each.outerHTML.slice(0, 120))
"""
TICKS = """
[...document.querySelectorAll('.drawing')].flatMap(drawing => {
  const boxes = [...drawing.querySelectorAll('text.tick')]
    .map(text => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([one, a], index) => boxes.slice(index + 1).filter(([, b]) =>
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2
  ).map(([other]) => one + ' over ' + other));
})
"""
Measure = Callable[[str, int], dict[str, Any]]
MEASURES = {
    "boxes": BOXES,
    "shapes": DRAWN,
    "widths": "[document.documentElement.scrollWidth, innerWidth]",
    "outside": OUTSIDE,
    "overlapping ticks": TICKS,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    found = {name: folder / f"{name}.html" for name in REPORTS}
    for name, path in found.items():
        path.write_text(render_html(REPORTS[name]), "utf-8")
    return found


@pytest.fixture(scope="module")
def measured_at(page: Page, files: dict[str, Path]) -> Measure:
    """Return what a report measures at a width. It is laid out once for all tests of it."""

    @cache
    def measure(name: str, width: int) -> dict[str, Any]:
        page.show(files[name], width)
        return {key: page.value(expression) for key, expression in MEASURES.items()}

    return measure


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_opens_without_complaint_and_without_a_request(
    page: Page, files: dict[str, Path], name: str
) -> None:
    page.show(files[name])
    assert page.complaints == []
    assert [url for url in page.requested if not url.startswith("data:")] == [files[name].as_uri()]


@pytest.mark.parametrize("name", ["showcase", "edges", "all-kinds", "hostile"])
@pytest.mark.parametrize("width", [360, 1200])
def test_charts_are_drawn(measured_at: Measure, name: str, width: int) -> None:
    boxes = measured_at(name, width)["boxes"]
    assert {kind for kind, _, _ in boxes} >= {"drawing", "lines", "windows", "stack"}
    assert [box for box in boxes if box[1] < 50 or box[2] < 8] == []
    shapes = measured_at(name, width)["shapes"]
    assert len(shapes) > 20
    assert min(shapes) > 0


def test_each_kind_of_chart_is_on_the_page(page: Page, files: dict[str, Path]) -> None:
    page.show(files["showcase"])
    captions = page.value(
        "[...document.querySelectorAll('#item-1 figcaption')].map(each => each.textContent)"
    )
    assert captions == [
        "Response time over time",
        "Percentiles of the response time",
        "Baseline against fault",
    ]
    for selector in (
        "#item-1 .bullet",
        "#item-1 rect.window",
        "#item-2 rect.errors",
        "#item-2 .class-timeout",
    ):
        assert page.value(f"document.querySelector('{selector}').getBoundingClientRect().width") > 1, selector


@pytest.mark.parametrize(
    "name",
    [
        # Two hundred cards are laid out like fifteen, but measuring them takes long.
        pytest.param(name, marks=pytest.mark.thorough if name == "many" else ())
        for name in REPORTS
    ],
)
def test_nothing_is_wider_than_a_phone(measured_at: Measure, name: str) -> None:
    assert measured_at(name, 360)["widths"] == [360, 360]
    assert measured_at(name, 360)["outside"] == []


OVERVIEW = """
[...document.querySelectorAll('nav .scroll')].map(box => [
  box.scrollWidth - box.clientWidth,
  [...box.querySelectorAll('tbody td')].filter(cell => {
    const seen = cell.getBoundingClientRect();
    return seen.width < 30 || seen.height < 10 || seen.right > innerWidth;
  }).length,
  getComputedStyle(box.querySelector('tbody tr:last-child td:nth-child(6)'), '::before').content,
])
"""


def test_a_phone_shows_the_figures_of_the_overview_without_scrolling(
    page: Page, files: dict[str, Path]
) -> None:
    page.show(files["folded"], 380)
    assert page.value(OVERVIEW) == [[0, 0, '"p50"']]
    page.show(files["folded"], 1200)
    assert page.value(OVERVIEW) == [[0, 0, "none"]]


@pytest.mark.parametrize("name", ["showcase", "edges", "all-kinds"])
@pytest.mark.parametrize("width", [360, 1200])
def test_labels_of_axes_do_not_lie_on_each_other(measured_at: Measure, name: str, width: int) -> None:
    assert measured_at(name, width)["overlapping ticks"] == []


CONTRAST = """
(() => {
  const light = colour => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map(part => part / 255)
      .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const behind = each => {
    for (let node = each; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (!colour.endsWith(', 0)')) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const low = new Set();
  for (const each of document.querySelectorAll('body *')) {
    if (![...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())) continue;
    if (each.closest('title')) continue;
    const style = getComputedStyle(each);
    const ink = each instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(ink), light(behind(each))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) low.add(`${each.tagName}.${each.getAttribute('class')} ${ratio.toFixed(2)}`);
  }
  return [...low];
})()
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_has_enough_contrast(page: Page, files: dict[str, Path], dark: bool) -> None:
    page.show(files["all-kinds"], dark=dark)
    assert page.value("matchMedia('(prefers-color-scheme: dark)').matches") is dark
    assert page.value(CONTRAST) == []


def test_on_paper_folded_cards_are_open_and_the_page_is_white(page: Page, files: dict[str, Path]) -> None:
    page.show(files["folded"], dark=True, paper=True)
    assert page.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    height = "document.querySelector('details:not([open]) .tiles').getBoundingClientRect().height"
    assert page.value(height) > 20


def test_a_folded_card_opens_without_a_script(page: Page, files: dict[str, Path]) -> None:
    page.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.show(files["folded"])
        folded = "document.querySelectorAll('details:not([open])').length"
        before = page.value(folded)
        place = page.value(
            "(box => [box.x + 30, box.y + 10])((document.querySelector('details:not([open]) summary')"
            ".scrollIntoView({block: 'center', behavior: 'instant'}), "
            "document.querySelector('details:not([open]) summary').getBoundingClientRect()))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            page.ask(
                "Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1
            )
        assert page.value(folded) == before - 1
    finally:
        page.ask("Emulation.setScriptExecutionDisabled", value=False)
