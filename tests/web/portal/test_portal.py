"""The files of the page as they are served: complete, with their types, and without inline scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse

import pytest

from faultkit.web.portal_page import page_files
from tests.web.portal.serving import WAIT_S, Served, serving

INDEX = page_files()["index.html"].body.decode()
SCRIPTS = {name: file.body.decode() for name, file in page_files().items() if name.endswith(".js")}
STYLES = {name: file.body.decode() for name, file in page_files().items() if name.endswith(".css")}
MOST_LINES = 300


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """The page itself is public, because it asks for the key."""
    with serving(anonymous=False) as running:
        yield running


def fetch(served: Served, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", served.port, timeout=WAIT_S)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("path", ["/portal", "/portal/"])
def test_the_page_is_served_without_a_key(served: Served, path: str) -> None:
    answer, body = fetch(served, path)
    assert (answer.status, answer.getheader("content-type")) == (200, "text/html; charset=utf-8")
    assert body.decode() == INDEX


def test_every_file_is_served_with_its_type(served: Served) -> None:
    types = {
        ".js": "text/javascript; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".svg": "image/svg+xml",
    }
    for name, file in page_files().items():
        answer, body = fetch(served, f"/portal/{name}")
        assert (answer.status, body) == (200, file.body)
        if name != "index.html":
            assert answer.getheader("content-type") == types[name[name.rfind(".") :]]


def test_no_script_and_no_style_may_run_but_those_that_are_files(served: Served) -> None:
    answer, _ = fetch(served, "/portal")
    policy = answer.getheader("content-security-policy", "").split("; ")
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"} <= set(
        policy
    )
    assert {"frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} <= set(policy)
    assert "unsafe" not in " ".join(policy)
    assert answer.getheader("x-content-type-options") == "nosniff"
    assert answer.getheader("referrer-policy") == "no-referrer"


def test_what_has_not_changed_is_not_sent_again(served: Served) -> None:
    answer, _ = fetch(served, "/portal/js/main.js")
    etag = answer.getheader("etag")
    assert etag is not None
    again, body = fetch(served, "/portal/js/main.js", **{"if-none-match": etag})
    assert (again.status, body) == (304, b"")
    other, body = fetch(served, "/portal/js/main.js", **{"if-none-match": '"0"'})
    assert (other.status, len(body)) == (200, len(page_files()["js/main.js"].body))


def test_head_has_the_headers_alone(served: Served) -> None:
    answer, body = fetch(served, "/portal", "HEAD")
    assert (answer.status, answer.getheader("content-length"), body) == (200, str(len(INDEX.encode())), b"")


@pytest.mark.parametrize(
    "path", ["/portal/no.js", "/portal/../portal.py", "/portal/js", "/portal/%2e%2e/portal.py", "/portalx"]
)
def test_there_is_nothing_else(served: Served, path: str) -> None:
    assert fetch(served, path)[0].status == 404


def test_a_page_is_not_written_to(served: Served) -> None:
    answer, _ = fetch(served, "/portal", "POST")
    assert (answer.status, "GET" in answer.getheader("allow", "")) == (405, True)


def test_the_page_names_only_files_that_there_are_and_all_style_sheets() -> None:
    named = set(re.findall(r'(?:href|src)="/portal/([^"]+)"', INDEX))
    assert named <= set(page_files())
    assert {name for name in named if name.endswith(".css")} == set(STYLES)
    imported = {f"js/{name}" for text in SCRIPTS.values() for name in re.findall(r'from "\./([^"]+)"', text)}
    assert imported | {"js/main.js", "js/theme.js"} == set(SCRIPTS)


def test_nothing_comes_from_elsewhere_and_nothing_is_inline() -> None:
    everything = {name: file.body.decode() for name, file in page_files().items()}
    away = {
        name: found for name, text in everything.items() if (found := re.findall(r"https?://[^\s\"]+", text))
    }
    assert away == {"icon.svg": ["http://www.w3.org/2000/svg"], "js/dom.js": ["http://www.w3.org/2000/svg"]}
    assert re.findall(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=", INDEX) == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_text_never_becomes_markup_or_code(name: str) -> None:
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function|srcdoc"
    )
    assert re.findall(forbidden, SCRIPTS[name]) == []


@pytest.mark.parametrize("name", [*SCRIPTS, *STYLES])
def test_a_file_is_small_and_begins_with_a_comment(name: str) -> None:
    text = (SCRIPTS | STYLES)[name]
    assert len(text.splitlines()) < MOST_LINES
    assert text.startswith(("/*", "//"))
