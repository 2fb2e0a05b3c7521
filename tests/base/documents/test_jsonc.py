"""JSON with comments: its data, places and mistakes; an edit changes one member and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.documents.jsonc import kind_of, parse_jsonc, read_jsonc, remove_member, set_member

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


def test_comments_and_trailing_commas_are_read_over() -> None:
    assert read_jsonc(SETTINGS) == {
        "theme": "dark",
        "servers": {"db": {"command": "db", "args": ["//no comment", "a,b"]}},
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "line 1: expected a name in quotes or a closing brace, got the end of the text"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3: expected a comma or a closing brace, got '\"b\": 2'"),
        ('{"a": nope}', "line 1: expected a value, got 'nope}'"),
        ('{"a": "x}\n', "line 1: expected a text in quotes that ends on its line"),
        ("{} {}", "line 1: expected nothing more, got '{}'"),
        ("{'a': 1}", "expected a name in quotes"),
        ("[" * 5000, "expected JSON, got too many levels of it"),
        ('{"a": NaN}', "expected a value"),
        ("/* no end", "expected a value"),
    ],
)
def test_what_is_no_json_is_told_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        read_jsonc(text)


def test_everything_has_its_place_in_the_text() -> None:
    whole = parse_jsonc(SETTINGS)
    servers = whole.get("servers")
    assert servers is not None
    db = servers.get("db")
    assert db is not None
    assert SETTINGS[db.start : db.end] == '{"command": "db", "args": ["//no comment", "a,b"]}'
    assert [SETTINGS[each.start : each.value.start] for each in servers.members] == ['"db": ']
    assert whole.get("old") is None


def test_of_a_key_that_is_there_twice_the_last_counts_unless_it_may_be_there_once_only() -> None:
    text = '{"a": 1,\n "b": {"c": 1, "c": 2}}'
    assert read_jsonc(text) == {"a": 1, "b": {"c": 2}}
    inner = parse_jsonc(text).get("b")
    assert inner is not None
    last = inner.get("c")
    assert last is not None
    assert last.plain == 2
    with pytest.raises(ValueError, match=r'^line 2: key "c" is given twice$'):
        parse_jsonc(text, once=True)


def test_kinds_are_named_in_a_word() -> None:
    values: tuple[object, ...] = ({}, [], "", True, None, 1.5)
    assert [kind_of(each) for each in values] == [
        *("an object", "a list", "a text", "true or false", "null", "a number"),
    ]


EDITED_SETTINGS = """\
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
        set_member(EDITED_SETTINGS, ("servers", "fault"), {"command": "fault", "args": ["agent"]})
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
    assert set_member(text, path, 1) == wanted


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
    assert remove_member(text, ("a",)) == wanted


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
        set_member(text, ("a", "b"), 1)


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
    new = set_member(text, (key,), value)
    assert read_jsonc(new) == {**document, key: value}
    assert new.count("// why") >= text.count("// why") - json.dumps(document.get(key), indent=2).count("\n")
    assert read_jsonc(remove_member(new, (key,))) == {k: v for k, v in document.items() if k != key}
