"""A server with some calls in its log, and a browser that shows its portal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.report.chromium import Page
from tests.web.portal.browser import Browser
from tests.web.portal.serving import Served, serving


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as running:
        running.called("echo", message="first", extras={"user": {"id": 7}})
        running.called("slow", milliseconds=20)
        running.called("progress", steps=2, step_ms=1)
        running.called("flaky", fail_rate=1, seed="abc", call_id=9007199254740993)
        running.called("error", message="out of luck", category="timeout", as_tool=True)
        yield running


@pytest.fixture
def browser(page: Page, served: Served) -> Browser:
    return Browser(page, served.page)
