"""Texts that a regular expression matches."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.scenario.openapi.scalar_example import text_matching


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^abc$", "abc"),
        (r"a|b", "a"),
        (r"^(a|b)c$", "ac"),
        (r"^(?:x){3}$", "xxx"),
        (r"^a?b*c+$", "c"),
        (r"^\d{2,4}$", "00"),
        (r"^\w\s\.\/$", "a ./"),
        (r"^[x-z]$", "x"),
        (r"^[\d_]$", "1"),
        (r"^[^abc]$", "d"),
        (r"^[^a-zA-Z0-9]$", " "),
        (r"^[a\-z]$", "a"),
        (r"^[-+]$", "-"),
        (r"^.$", "a"),
        (r"^\x41A$", "AA"),
        (r"^\D\S\W$", "aa-"),
        (r"^a{2}?b$", "aab"),
        (r"^\$\{x\}$", "${x}"),
        (r"", ""),
        (r"^$", ""),
    ],
)
def test_a_simple_pattern_gives_a_text(pattern: str, text: str) -> None:
    assert text_matching(pattern) == text


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?=a)b",
        r"(?<n>a)",
        r"(a)\1",
        r"\bword\b",
        r"\p{L}",
        "(",
        "[a",
        "a{99999}",
        "*",
        "[z-a]",
        r"a\b",
        "(?P<x>a)",
    ],
)
def test_any_other_pattern_gives_none(pattern: str) -> None:
    assert text_matching(pattern) is None


def test_repeats_are_taken_as_often_as_the_length_asks() -> None:
    assert text_matching(r"^[a-z]+$", 5) == "aaaaa"
    assert text_matching(r"^[a-z]+-\d*$", 4) == "aa-0"
    assert text_matching(r"^[a-z]{1,3}$", 5) is None
    assert text_matching(r"^[a-z]+$", 0, 0) is None
    assert text_matching(r"x", 3) == "xaa"
    assert text_matching(r"^((a{1000}){1000}){1000}$") is None


pieces = st.sampled_from(
    [
        r"a",
        r"\d",
        r"[a-f]",
        r"[^a-f]",
        r"(?:ab|c)",
        r"\.",
        r"x?",
        r"\w+",
        r"\s*",
        r"[0-9]{2,3}",
        r"(q){2}",
        "é",
    ]
)


@given(st.lists(pieces, max_size=8), st.booleans())
def test_the_text_matches_the_pattern(parts: list[str], anchored: bool) -> None:
    pattern = f"^{''.join(parts)}$" if anchored else "".join(parts)
    text = text_matching(pattern)
    assert text is not None
    assert re.search(pattern, text)


def test_a_pattern_cannot_hang_the_search_for_its_example() -> None:
    assert text_matching("^(?:(?:a?){30}a{30})$") == "a" * 30
    assert text_matching("^(a+)+$") == "a"
