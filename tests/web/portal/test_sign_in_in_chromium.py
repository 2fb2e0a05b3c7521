"""Signing in to a server that requires a key, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.report.chromium import Page
from tests.web.portal.browser import Browser
from tests.web.portal.serving import Served, serving

_UNTIL_REFUSED = """
(async () => {
  const headers = { "x-api-key": sessionStorage.getItem("faultkit-key") };
  while ((await fetch("/api/v1/portal/me", { headers })).status === 200);
})()
"""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(anonymous=False) as running:
        yield running


@pytest.fixture
def browser(page: Page, served: Served) -> Iterator[Browser]:
    browser = Browser(page, served.page)
    yield browser
    browser.run("sessionStorage.clear()")


def key_of(served: Served, name: str, *scopes: str) -> str:
    return served.keys.create(name, scopes)[1]


def signed_in(browser: Browser, key: str, fragment: str = "") -> None:
    browser.open(fragment)
    browser.type(".sign-in input", key)
    browser.press("Enter")
    browser.until("document.querySelector('#who')?.innerText.includes('Sign out')")


def test_the_page_asks_for_a_key_and_goes_on_to_where_one_wanted(browser: Browser, served: Served) -> None:
    browser.open("#/calls?category=auth")
    browser.until("document.querySelector('.sign-in')")
    assert browser.page.value("document.activeElement.type") == "password"
    browser.type(".sign-in input", "fk_wrong")
    browser.press("Enter")
    browser.until(
        "document.querySelector('.problem').innerText.startsWith('The server does not accept this key')"
    )
    assert browser.page.value("sessionStorage.length") == 0
    key = key_of(served, "ops", "read", "call", "admin")
    browser.type(".sign-in input", key)
    browser.press("Enter")
    browser.until("document.querySelector('.call-table tbody tr')")
    # The refused requests are in the log, too.
    assert "not authenticated" in browser.text(".call-table tbody")
    assert browser.text("#who span") == "ops"
    urls = browser.page.requested
    assert [url for url in urls if key in url] == []
    assert key not in browser.page.value("document.documentElement.outerHTML")


def test_a_reload_keeps_the_key_and_signing_out_forgets_it(browser: Browser, served: Served) -> None:
    signed_in(browser, key_of(served, "short", "read"))
    browser.open()
    browser.until("document.querySelector('#who')?.innerText.includes('short')")
    browser.click("#who button")
    browser.until("document.querySelector('.sign-in')")
    assert browser.page.value("sessionStorage.length") == 0
    assert browser.page.value("localStorage.length") == 0


def test_a_key_that_is_revoked_meanwhile_leads_back_to_the_door(browser: Browser, served: Served) -> None:
    signed_in(browser, key_of(served, "gone", "read"))
    browser.until("document.querySelector('.breakdown tbody tr')")
    assert served.keys.revoke("gone")
    # The server may accept it for another second.
    browser.run(_UNTIL_REFUSED)
    browser.run("location.hash = '#/tools'")
    browser.until(
        "document.querySelector('.sign-in .problem')?.innerText.startsWith('Your key is no longer accepted')"
    )


def test_actions_beyond_the_scopes_of_a_key_are_disabled_with_a_reason(
    browser: Browser, served: Served
) -> None:
    signed_in(browser, key_of(served, "reader", "read"), "#/tools?tool=echo")
    browser.until("document.querySelector('form.try')")
    assert browser.page.value("document.querySelector('form.try .primary').disabled") is True
    assert "scope “call”" in browser.text("form.try")
    browser.run("location.hash = '#/keys'")
    browser.until("document.querySelector('main').innerText.includes('scope “admin”')")
