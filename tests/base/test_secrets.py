"""Secrets never reach a report: not in headers, not in URLs, not in rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.secrets import mask_headers, mask_rule, mask_url
from faultkit.faults.http.http_error import HttpError
from faultkit.plan import Match, Rule, dump_rule


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "authorization",
        "Proxy-Authorization",
        "Cookie",
        "Set-Cookie",
        "X-Api-Key",
        "X-Auth-Token",
        "x-amz-security-token",
        "Client-Secret",
        "X-Password",
        "X-Session-Id",
    ],
)
def test_a_header_that_sounds_secret_is_masked(name: str) -> None:
    assert mask_headers({name: "s3cret"}) == {name: "xxxxxx"}


def test_other_headers_stay_and_pairs_are_as_good_as_a_mapping() -> None:
    pairs = (("Accept", "*/*"), ("Content-Type", "text/plain"), ("COOKIE", "a=b"))
    assert mask_headers(pairs) == {"Accept": "*/*", "Content-Type": "text/plain", "COOKIE": "xxxxxx"}


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("http://localhost:9090/a?b=c#d", "http://localhost:9090/a?b=c#d"),
        ("https://user:pw@host/a", "https://xxxxxx@host/a"),
        ("https://ghp_token@host", "https://xxxxxx@host"),
        ("https://a:p@ss@host/", "https://xxxxxx@host/"),
        ("https://host/?api_key=1&page=2", "https://host/?api_key=xxxxxx&page=2"),
        ("https://host/?page=2&Access_Token=a%20b#x", "https://host/?page=2&Access_Token=xxxxxx#x"),
        ("https://host/?to%6Ben=1", "https://host/?to%6Ben=xxxxxx"),
        ("https://host/?a=1;password=2", "https://host/?a=1;password=xxxxxx"),
        ("https://host/#access_token=abc&state=1", "https://host/#access_token=xxxxxx&state=1"),
        ("https://host/?token=", "https://host/?token="),
        ("https://host/?token=a=b", "https://host/?token=xxxxxx"),
        ("https://host/path@x?mail=a@b", "https://host/path@x?mail=a@b"),
        ("//user@host/", "//xxxxxx@host/"),
        ("https://host/?sig=abc&code=1&zip_code=8", "https://host/?sig=xxxxxx&code=xxxxxx&zip_code=8"),
        ("https://host/?next=https%3A%2F%2Fu%3Ap%40h%2F", "https://host/?next=xxxxxx"),
        ("https://host/?next=https%3A%2F%2Fh%2F", "https://host/?next=https%3A%2F%2Fh%2F"),
        ("", ""),
    ],
)
def test_a_url_keeps_all_but_its_secrets(url: str, masked: str) -> None:
    assert mask_url(url) == masked


def test_a_header_whose_value_is_a_credential_is_masked_whatever_its_name() -> None:
    assert mask_headers({"X-Up": "Bearer abc", "X-Down": "basic YTpi", "X-Note": "Bearers of news"}) == {
        "X-Up": "xxxxxx",
        "X-Down": "xxxxxx",
        "X-Note": "Bearers of news",
    }


@given(st.text())
def test_masking_twice_is_masking_once(text: str) -> None:
    assert mask_url(mask_url(text)) == mask_url(text)


@given(st.from_regex(r"S[A-Z0-9]{8}S", fullmatch=True), st.sampled_from(("token", "PASSWORD", "my_secret_1")))
def test_no_secret_of_a_query_is_left(secret: str, name: str) -> None:
    assert secret not in mask_url(f"http://u:{secret}@h/p?q=1&{name}={secret}&r=2#{name}={secret}")


def test_a_rule_keeps_all_but_the_values_of_secret_headers() -> None:
    match = Match(path="/a", headers=(("Authorization", "Bearer s3cret*"), ("Accept", "text/*")))
    plain = dump_rule(Rule("rule", HttpError(), match=match))
    masked = mask_rule(plain)
    assert masked == {
        "name": "rule",
        "fault": "http_error",
        "match": {"path": "/a", "headers": {"Authorization": "xxxxxx", "Accept": "text/*"}},
    }
    assert plain["match"]["headers"]["Authorization"] == "Bearer s3cret*"  # type: ignore[index]
    assert mask_rule({"name": "rule", "fault": "refuse"}) == {"name": "rule", "fault": "refuse"}
