"""URLs of upstreams, and where a server sends its clients."""

from __future__ import annotations

import pytest

from faultkit.base.errors import InputError
from faultkit.base.http.http_url import HttpUrl, parse_url
from faultkit.mcp.upstreams.http_upstream import check_url

FORM = "upstream: expected a URL such as http://127.0.0.1:8000/mcp, got "


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://h:81/a?b#c", HttpUrl("http", "h", 81, "h:81", "/a?b")),
        ("https://H", HttpUrl("https", "h", 443, "H", "/")),
        ("http://[::1]:5/mcp", HttpUrl("http", "::1", 5, "[::1]:5", "/mcp")),
    ],
)
def test_a_url_says_where_to_connect_and_what_to_ask_for(url: str, address: HttpUrl) -> None:
    assert parse_url(url) == address


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://h:99999/mcp", f'{FORM}"http://h:99999/mcp" (port out of range 0-65535)'),
        ("http://h:x/mcp", FORM),
        ("http://h:0/mcp", FORM),
        ("http://[::1/mcp", FORM),
        ("ftp://h/mcp", FORM),
        ("http:///mcp", FORM),
        ("http://h/a b", "upstream: expected a URL of ASCII and without blanks"),
        ("http://hé/mcp", "upstream: expected a URL of ASCII and without blanks"),
        ("http://h/é", "upstream: expected a URL of ASCII and without blanks"),
        ("http://u:p@h/mcp", "upstream: expected a URL without user and password, got one with them"),
    ],
)
def test_a_url_that_nobody_could_be_asked_for_is_refused(url: str, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        check_url(url)
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize(
    ("location", "there"),
    [
        ("http://h/b", ("http", "h", 80, "/b")),
        ("b?c", ("http", "h", 80, "/a/b?c")),
        ("//other/b", ("http", "other", 80, "/b")),
        ("mailto:x", None),
        ("http://[", None),
    ],
)
def test_a_location_is_read_from_where_it_was_found(
    location: str, there: tuple[str, str, int, str] | None
) -> None:
    found = parse_url("http://h/mcp").redirected("/a/", location)
    assert there == (None if found is None else (*found.origin, found.target))
