"""JSON with comments: what it says, where it stands, and what is wrong with it."""

from __future__ import annotations

import re

import pytest

from faultkit.base.documents.jsonc import kind_of, parse_jsonc, read_jsonc

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
