"""JSON paths find what the library of Chaos Toolkit finds, and need it for filters and functions only."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonpath2.path import Path

from faultkit.chaos.steps.json_path import find

SHOP = {
    "items": [{"n": 1, "price": 3}, {"n": 2, "price": 9, "tags": ["a", "b"]}],
    "a b": {"d": [1, 2, 3, 4]},
    "none": None,
    "ü": 1,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", [SHOP]),
        ("$.none", [None]),
        ("$.missing", []),
        ("$.items[*].n", [1, 2]),
        (" $ . items [ 0 ] . n ", [1]),
        ("$.items[-1].n", [2]),
        ("$.items[2]", []),
        ("$.items[0,1].price", [3, 9]),
        ('$["a b"].d[1:3]', [2, 3]),
        ('$["a b"]["d"][::2]', [1, 3]),
        ('$["a b"].d[-2:]', [3, 4]),
        ("$..n", [1, 2]),
        ("$..tags[*]", ["a", "b"]),
        ("$..[0]", [{"n": 1, "price": 3}, "a", 1]),
        ("$.items.n", []),
        ("$.items[1].*", [2, 9, ["a", "b"]]),
    ],
)
def test_a_path_finds_values_in_order(path: str, found: list[Any]) -> None:
    assert find(path, SHOP) == found
    assert [match.current_value for match in Path.parse_str(path).match(SHOP)] == found


def test_escapes_of_json_work_where_the_library_finds_nothing() -> None:
    assert find('$["\\u00fc"]', SHOP) == [1]


@pytest.mark.parametrize(
    "path",
    ["", "items", "$[", "$.", "$.a b", "$.a-b", "$['a']", "$[01]", "$[1", "$[a]", "$x", "$...a", "$[::0]"],
)
def test_a_bad_path_is_a_value_error_and_prints_nothing(path: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError):
        find(path, SHOP)
    assert capfd.readouterr() == ("", "")


def test_a_bad_path_is_shown_in_its_error() -> None:
    for path in ("$['(']", '$["\\q"]'):
        with pytest.raises(ValueError, match=re.escape(repr(path))):
            find(path, SHOP)


def test_a_value_with_very_many_levels_is_a_value_error() -> None:
    value: Any = {"a": 1}
    for _ in range(2000):
        value = [value]
    with pytest.raises(ValueError, match="fewer levels"):
        find("$..a", value)


def test_filters_and_functions_are_those_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find("$.items[*][?(@.price > 5)].n", SHOP) == [2]
    assert find("$.items.length()", SHOP) == [2]
    assert find('$["?("]', {"?(": 1}) == [1]
    monkeypatch.setitem(sys.modules, "jsonpath2.path", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        find("$.items.length()", SHOP)
    assert caught.value.name == "jsonpath2.path"
    assert find("$.items[*].n", SHOP) == [1, 2]


_NAMES = st.sampled_from(["a", "b", "c"])
_VALUES = st.recursive(
    st.none() | st.integers(0, 3) | _NAMES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=15,
)
_NUMBERS = st.integers(-5, 5).map(str)
_BOUNDS = st.just("") | _NUMBERS
_SUBSCRIPTS = st.one_of(
    st.just("*"),
    _NUMBERS,
    _NAMES.map('"{}"'.format),
    st.builds("{}:{}".format, _BOUNDS, _BOUNDS),
    st.builds("{}:{}:{}".format, _BOUNDS, _BOUNDS, st.integers(1, 3)),
)
_PARTS = st.one_of(
    st.builds(".{}".format, _NAMES),
    st.builds("..{}".format, _NAMES),
    st.sampled_from([".*", "..*", "..[*]"]),
    st.lists(_SUBSCRIPTS, min_size=1, max_size=3).map(lambda each: f"[{','.join(each)}]"),
)


@given(_VALUES, st.lists(_PARTS, max_size=4).map(lambda parts: "$" + "".join(parts)))
def test_any_path_finds_what_the_library_finds(value: Any, path: str) -> None:
    assert find(path, value) == [match.current_value for match in Path.parse_str(path).match(value)]


def test_a_bad_path_for_the_library_prints_nothing_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="line 1"):
        find("$[?(@.a ==)]", [])
    assert capfd.readouterr() == ("", "")
