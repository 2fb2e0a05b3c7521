"""Styles of parameters: the table of the specification, for color = blue, a list and an object."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.scenario.openapi.request_parts import encode_allow_reserved, in_header, in_path, in_query

ONE = "blue"
LIST = ["blue", "black"]
OBJECT = {"R": 100, "G": 200}


@pytest.mark.parametrize(
    ("style", "explode", "value", "text"),
    [
        ("simple", False, ONE, "blue"),
        ("simple", False, LIST, "blue,black"),
        ("simple", True, LIST, "blue,black"),
        ("simple", False, OBJECT, "R,100,G,200"),
        ("simple", True, OBJECT, "R=100,G=200"),
        ("label", False, ONE, ".blue"),
        ("label", False, LIST, ".blue,black"),
        ("label", True, LIST, ".blue.black"),
        ("label", False, OBJECT, ".R,100,G,200"),
        ("label", True, OBJECT, ".R=100.G=200"),
        ("matrix", False, ONE, ";color=blue"),
        ("matrix", False, LIST, ";color=blue,black"),
        ("matrix", True, LIST, ";color=blue;color=black"),
        ("matrix", False, OBJECT, ";color=R,100,G,200"),
        ("matrix", True, OBJECT, ";R=100;G=200"),
        ("simple", False, ["a,b", "c/d"], "a%2Cb,c%2Fd"),
    ],
)
def test_a_path_value(style: str, explode: bool, value: Any, text: str) -> None:
    assert in_path("color", value, style, explode) == text


@pytest.mark.parametrize(
    ("style", "explode", "value", "text"),
    [
        ("form", True, ONE, "color=blue"),
        ("form", True, LIST, "color=blue&color=black"),
        ("form", False, LIST, "color=blue,black"),
        ("form", True, OBJECT, "R=100&G=200"),
        ("form", False, OBJECT, "color=R,100,G,200"),
        ("spaceDelimited", False, LIST, "color=blue%20black"),
        ("spaceDelimited", False, OBJECT, "color=R%20100%20G%20200"),
        ("pipeDelimited", False, LIST, "color=blue%7Cblack"),
        ("pipeDelimited", True, LIST, "color=blue&color=black"),
        ("deepObject", True, OBJECT, "color%5BR%5D=100&color%5BG%5D=200"),
        ("form", True, "a b&c=ö{}", "color=a%20b%26c%3D%C3%B6%7B%7D"),
        ("form", True, [True, None, 1.5], "color=true&color=&color=1.5"),
        ("form", True, [{"a": 1}], "color=%7B%22a%22%3A1%7D"),
    ],
)
def test_a_query_value(style: str, explode: bool, value: Any, text: str) -> None:
    assert "&".join(f"{name}={each}" for name, each in in_query("color", value, style, explode)) == text


def test_allowed_reserved_marks_stay_unless_they_would_end_the_value() -> None:
    assert in_query("to", "/a?b=c&d#e", "form", True, encode_allow_reserved) == [("to", "/a?b=c%26d%23e")]


def test_a_header_value_is_not_encoded() -> None:
    assert in_header(["a b", "c"], False) == "a b,c"
    assert in_header(OBJECT, True) == "R=100,G=200"
