"""A page of HTML that needs nothing else: no script, no font, no request. Others say what stands in it."""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.report.markup import Markup, element
from faultkit.report.style import STYLE

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Told to the browser, too: whatever may get into the page, nothing is fetched and nothing runs."""


def page(title: str, tool: str, body: Iterable[Markup | None], more_style: str = "") -> str:
    """The same parts give the same page, to the byte. `tool`: what made it."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=tool),
        # Else a browser asks the server for one.
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", Markup(STYLE + more_style)),
    )
    whole = element("html", head, element("body", element("div", *body, class_="page")), lang="en")
    return f"<!doctype html>\n{whole}\n"
