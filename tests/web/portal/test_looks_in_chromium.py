"""The look of the portal, measured in a real browser: no errors, no foreign requests, no wider than a phone,
no layout shifts, enough contrast, and what callers sent is only text."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.report.chromium import Page
from tests.report.test_html_in_chromium import CONTRAST, OUTSIDE
from tests.web.portal.browser import Browser
from tests.web.portal.serving import Served, serving

EVIL = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>' + "x" * 300
VIEWS = {
    "overview": (
        "#/overview",
        "document.querySelector('.breakdown tbody a') && document.querySelector('.column')",
    ),
    "calls": ("#/calls?from=1h&success=false", "document.querySelector('.call-table tbody tr')"),
    "detail": ("#/calls?call=OPEN", "document.querySelector('.detail .json')"),
    "tools": ("#/tools?tool=flaky", "document.querySelector('form.try')"),
    "keys": ("#/keys", "document.querySelector('.keys tbody tr')"),
}
SOME_VIEWS = [
    name if name in ("calls", "keys") else pytest.param(name, marks=pytest.mark.thorough) for name in VIEWS
]
SHIFTS = """
new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) if (!each.hadRecentInput) sum += each.value;
  }).observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => setTimeout(() => done(sum), 50));
})
"""
UNNAMED = """
[...document.querySelectorAll('button, a[href], input, select, textarea')].filter((each) =>
  each.checkVisibility() &&
  !(each.innerText?.trim() || each.getAttribute('aria-label') || each.labels?.length)
).map((each) => each.outerHTML.slice(0, 100))
"""
PLACE = """
(box => [box.x, box.y, box.width, box.height])(document.querySelector('.detail').getBoundingClientRect())
"""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as running:
        running.called("echo", message=EVIL, extras={EVIL: [1, None, {"deep": EVIL}]})
        running.called("error", message=EVIL, category=EVIL)
        running.called("error", message=EVIL, category=EVIL, as_tool=True)
        running.called(EVIL)
        running.called("progress", steps=2, step_ms=1)
        running.admin_key = running.keys.create("w" * 60, ("read", "call", "admin"))[1]
        yield running


@pytest.fixture
def browser(page: Page, served: Served) -> Browser:
    return Browser(page, served.page)


def show(browser: Browser, served: Served, view: str, *, width: int = 1280, dark: bool = False) -> None:
    fragment, shown = VIEWS[view]
    if view == "keys":
        browser.sign_in(served.admin_key)
    with_id = fragment.replace("OPEN", served.first_id())
    browser.open(with_id, width=width, dark=dark)
    browser.until(shown)


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_loads_without_errors_layout_shifts_or_foreign_requests(
    browser: Browser, served: Served, view: str
) -> None:
    show(browser, served, view)
    assert browser.errors == []
    assert {urlsplit(url).netloc for url in browser.page.requested} == {f"127.0.0.1:{served.port}"}
    assert browser.run(SHIFTS) < 0.05
    assert browser.page.value(CONTRAST) == []


@pytest.mark.parametrize("view", SOME_VIEWS)
def test_in_the_dark_every_text_stands_out_and_none_of_them_is_markup(
    browser: Browser, served: Served, view: str
) -> None:
    show(browser, served, view, dark=True)
    assert browser.page.value("matchMedia('(prefers-color-scheme: dark)').matches") is True
    assert browser.page.value(CONTRAST) == []
    assert browser.page.value("window.hacked ?? 0") == 0
    assert browser.page.value("document.querySelectorAll('main img, main script').length") == 0
    assert ("onerror=" in browser.text("main")) is (view in ("overview", "calls", "detail"))


@pytest.mark.parametrize("view", SOME_VIEWS)
def test_on_a_phone_nothing_is_too_wide_or_without_a_name_and_nothing_jumps(
    browser: Browser, served: Served, view: str
) -> None:
    show(browser, served, view, width=360)
    assert browser.page.value("[document.documentElement.scrollWidth, innerWidth]") == [360, 360]
    assert browser.page.value(OUTSIDE) == []
    assert browser.page.value(UNNAMED) == []
    assert browser.run(SHIFTS) < 0.05


def test_the_switch_goes_from_the_system_to_light_to_dark_and_is_remembered(browser: Browser) -> None:
    browser.open(dark=True)
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = browser.page.value(colour)
    browser.click("#theme")
    light = browser.page.value(colour)
    assert light != dark
    browser.open(dark=True)
    assert browser.page.value(colour) == light
    browser.click("#theme")
    assert browser.page.value(colour) == dark
    browser.click("#theme")
    assert browser.page.value("document.documentElement.dataset.theme ?? 'system'") == "system"


def test_tab_reaches_the_content_first_and_every_stop_can_be_seen(browser: Browser, served: Served) -> None:
    show(browser, served, "calls")
    browser.press("Tab")
    assert browser.focused == "Skip to content"
    browser.press("Enter")
    assert browser.page.value("document.activeElement.id") == "view"
    assert browser.fragment.startswith("#/calls")
    stops = []
    for _ in range(30):
        browser.press("Tab")
        stops.append(
            browser.page.value(
                "(each => [each.className, each.matches(':focus-visible')])(document.activeElement)"
            )
        )
    assert all(seen for name, seen in stops if name != "")
    assert ["open", True] in stops, "one stop in the table"
    assert stops.count(["open", True]) <= 2, "and not one for each row"


def test_the_call_takes_the_whole_of_a_phone_and_the_keys(browser: Browser, served: Served) -> None:
    show(browser, served, "calls", width=360)
    browser.click(".call-table tbody tr .said")
    browser.until("document.querySelector('.detail .json')")
    assert browser.page.value(PLACE) == [0, 0, 360, 800]
    assert (
        browser.page.value("document.activeElement.getAttribute('aria-label')") == "Close the call (Escape)"
    )
    browser.press("Escape")
    browser.until("document.querySelector('.detail').hidden")


def test_an_unreachable_server_is_shown_and_the_page_recovers(browser: Browser, served: Served) -> None:
    show(browser, served, "overview")
    browser.page.ask(
        "Network.emulateNetworkConditions",
        offline=True,
        latency=0,
        downloadThroughput=-1,
        uploadThroughput=-1,
    )
    try:
        browser.choose(".heading .choice:last-child select", "15m")
        browser.until("document.querySelector('.trouble').innerText.includes('No connection')")
    finally:
        browser.page.ask(
            "Network.emulateNetworkConditions",
            offline=False,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )
    browser.click(".trouble button")
    browser.until("document.querySelector('.trouble').innerText === ''")
