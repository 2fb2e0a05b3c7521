"""The page of results in a real browser: no errors, drawings, fits a phone, readable in dark mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.agents.report.suite_page import render_html
from tests.agents.report.samples import ALL, ENEMY
from tests.report.chromium import Page
from tests.report.test_html_in_chromium import CONTRAST, OUTSIDE, TICKS

BARS = """
[...document.querySelectorAll('details[open] .timeline rect.call')]
  .map(bar => bar.getBoundingClientRect().width)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("suites")
    found = {name: folder / f"{name}.html" for name in ("all", "enemy")}
    for name, made in (("all", ALL), ("enemy", ENEMY)):
        found[name].write_text(render_html(made), "utf-8")
    return found


@pytest.mark.parametrize("name", ["all", "enemy"])
def test_a_page_is_quiet_and_fits_a_phone(page: Page, files: dict[str, Path], name: str) -> None:
    page.show(files[name], 360)
    assert page.complaints == []
    assert [url for url in page.requested if not url.startswith("data:")] == [files[name].as_uri()]
    assert page.value("[document.documentElement.scrollWidth, innerWidth]") == [360, 360]
    assert page.value(OUTSIDE) == []
    assert page.value(TICKS) == []


HIDDEN = """
[...document.querySelectorAll('nav .scroll')].map(box => box.scrollWidth - box.clientWidth)
"""
BRIEF = "[...document.querySelectorAll('nav .brief')].filter(text => text.offsetHeight > 0).length"


def test_the_overview_shows_its_figures_on_a_phone_without_scrolling(
    page: Page, files: dict[str, Path]
) -> None:
    page.show(files["all"], 360)
    assert page.value(HIDDEN) == [0]
    assert page.value(BRIEF) == len(ALL.rows)
    page.show(files["all"], 1200)
    assert page.value(BRIEF) == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_calls_are_drawn_and_every_text_stands_out(page: Page, files: dict[str, Path], dark: bool) -> None:
    page.show(files["all"], dark=dark)
    bars = page.value(BARS)
    assert len(bars) > 20
    assert min(bars) > 2
    assert page.value(CONTRAST) == []
