"""Hosts and origins that may call a local server."""

from __future__ import annotations

import pytest

from faultkit.base.http.callers import is_allowed_caller
from faultkit.base.http.http_exchange import HttpRequest

LOOPBACK = ("localhost", "127.0.0.1", "::1")
PAGE = "https://app.example.org"


def request(host: str | None = "localhost:8767", origin: str | None = None) -> HttpRequest:
    headers = {name: value for name, value in (("host", host), ("origin", origin)) if value is not None}
    return HttpRequest("POST", "/mcp", headers, list(headers.items()), b"", "127.0.0.1:5")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]:80", "[::1]"])
@pytest.mark.parametrize("origin", [None, "http://localhost:3000", "http://[::1]"])
def test_names_of_our_own_may_call(host: str, origin: str | None) -> None:
    assert is_allowed_caller(request(host, origin), LOOPBACK)
    assert is_allowed_caller(request(host, origin), LOOPBACK, ())


@pytest.mark.parametrize(
    "host", [None, "", "evil.example", "localhost.evil.example", "[::2]:80", "127.0.0.1.x"]
)
def test_other_hosts_may_not(host: str | None) -> None:
    assert not is_allowed_caller(request(host), LOOPBACK)
    assert not is_allowed_caller(request(host, PAGE), LOOPBACK, (PAGE,))


@pytest.mark.parametrize(
    "origin", ["", "null", PAGE, "http://localhost.evil.example", "http://[::1", "localhost"]
)
def test_other_origins_may_not(origin: str) -> None:
    assert not is_allowed_caller(request(origin=origin), LOOPBACK)
    assert not is_allowed_caller(request(origin=origin), LOOPBACK, ())


def test_a_page_that_is_named_may_call_and_only_as_it_is_named() -> None:
    assert is_allowed_caller(request(origin=PAGE), LOOPBACK, (PAGE,))
    for other in (PAGE + ":8443", PAGE.replace("https", "http"), PAGE + ".evil.example"):
        assert not is_allowed_caller(request(origin=other), LOOPBACK, (PAGE,))


def test_where_any_host_will_do_a_page_may_call_the_one_that_it_is_from() -> None:
    assert is_allowed_caller(request("tools.example.org:8767"), None, ())
    assert is_allowed_caller(request("tools.example.org:8767", "http://tools.example.org"), None, ())
    assert not is_allowed_caller(request("tools.example.org:8767", PAGE), None, ())
    assert is_allowed_caller(request("tools.example.org:8767", PAGE), None, (PAGE,))


def test_who_asks_for_no_check_gets_none() -> None:
    assert is_allowed_caller(request("anything", PAGE), None)
