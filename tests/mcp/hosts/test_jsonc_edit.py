"""JSON with comments: one member changes, and nothing else does."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.documents.jsonc import read_jsonc
from faultkit.mcp.hosts.jsonc_edit import with_member, without_member

SETTINGS = """\
// Mine.
{
    "theme": "dark", // not light
    /* "old": 1, */
    "servers": {
        "db": {"command": "db", "args": ["//no comment", "a,b"]}, // keep
    },
}
"""


def test_a_member_is_added_as_its_neighbours_are_laid_out() -> None:
    assert (
        with_member(SETTINGS, ("servers", "fault"), {"command": "fault", "args": ["agent"]})
        == """\
// Mine.
{
    "theme": "dark", // not light
    /* "old": 1, */
    "servers": {
        "db": {"command": "db", "args": ["//no comment", "a,b"]}, // keep
        "fault": {
            "command": "fault",
            "args": [
                "agent"
            ]
        },
    },
}
"""
    )


@pytest.mark.parametrize(
    ("text", "path", "wanted"),
    [
        ("", ("a", "b"), '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("{}", ("a",), '{\n  "a": 1\n}'),
        ("{ // none yet\n}\n", ("a",), '{ // none yet\n  "a": 1\n}\n'),
        ('{"x": 0}', ("a",), '{"x": 0, "a": 1}'),
        ('{\n\t"x": 0 // nought\n}', ("a",), '{\n\t"x": 0, // nought\n\t"a": 1\n}'),
        ('{\r\n  "x": {}\r\n}\r\n', ("x", "a"), '{\r\n  "x": {\r\n    "a": 1\r\n  }\r\n}\r\n'),
        ('\ufeff{\n  "a": 0\n}', ("a",), '\ufeff{\n  "a": 1\n}'),
        ('{"a": [0, /* x */ 2,],}', ("a",), '{"a": 1,}'),
    ],
)
def test_a_value_is_set_wherever_its_place_is(text: str, path: tuple[str, ...], wanted: str) -> None:
    assert with_member(text, path, 1) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a": 1}', "{}"),
        ('{"a": 1, "b": 2}', '{ "b": 2}'),
        ('{"b": 2, "a": 1}', '{"b": 2 }'),
        ('{\n  "b": 2, // two\n  "a": 1\n}\n', '{\n  "b": 2 // two\n}\n'),
        ('{\n  "a": 1,\n  // two\n  "b": 2\n}\n', '{\n  // two\n  "b": 2\n}\n'),
        ('{\r\n  "b": 2,\r\n  "a": 1,\r\n}\r\n', '{\r\n  "b": 2,\r\n}\r\n'),
        ('{"b": {"a": 1}}', '{"b": {"a": 1}}'),
        ("", ""),
    ],
)
def test_a_member_is_taken_away(text: str, wanted: str) -> None:
    assert without_member(text, ("a",)) == wanted


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "expected the whole of it to be an object, got a list"),
        ('{"a": "x"}', "expected a to be an object, got a text"),
        ('{"a": {}, "a": {}}', 'expected "a" once, got it 2 times'),
    ],
)
def test_what_has_no_place_for_a_member_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        with_member(text, ("a", "b"), 1)


_KEYS = st.sampled_from(["a", "b", "fault", "ü", 'q"', ""])
_PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(_KEYS, _PLAIN, max_size=4)


@given(_OBJECTS, st.sampled_from([None, 2, "\t"]), st.booleans(), _KEYS, _PLAIN)
def test_any_text_has_the_new_member_and_all_old_ones(
    document: dict[str, Any], indent: int | str | None, has_comments: bool, key: str, value: Any
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    if has_comments and indent is not None:
        text = text.replace("\n", " // why\n")
    new = with_member(text, (key,), value)
    assert read_jsonc(new) == {**document, key: value}
    assert new.count("// why") >= text.count("// why") - json.dumps(document.get(key), indent=2).count("\n")
    assert read_jsonc(without_member(new, (key,))) == {k: v for k, v in document.items() if k != key}
