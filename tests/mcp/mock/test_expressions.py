"""Names in answers, results, samples of schemas, and the language of conditions."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.documents.schema_example import smallest_value
from faultkit.mcp.mock.expressions import fill_names, has_names, parse_condition, unknown_name
from faultkit.mcp.mock.mock_model import mock_result

ANSWER_NAMES = {
    "args": {"q": "tea", "n": 2, "deep": {"list": ["a", {"b": True}]}, "a-b": 1, "no": None},
    "call": 4,
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ("found ${args.q}", "found tea"),
        ("${ args.q }${call}", "tea4"),
        ("${args.q}", "tea"),
        ("${args.n}", 2),
        ("n=${args.n}", "n=2"),
        ("${args.deep}", {"list": ["a", {"b": True}]}),
        ("d=${args.deep.list}", 'd=["a", {"b": true}]'),
        ("${args.deep.list.1.b}", True),
        ("${args.deep.list.9}", None),
        ("${args.q.x}", None),
        ("[${args.missing}]", "[]"),
        ("${args.missing}", None),
        ("[${args.no}]", "[]"),
        ("${args.a-b}", 1),
        ("$args.q {args.q} ${} ${args.q", "$args.q {args.q} ${} ${args.q"),
        ({"${args.q}": ["${args.n}", 5, None]}, {"${args.q}": [2, 5, None]}),
        ({"a": {"b": "${args.q}!"}}, {"a": {"b": "tea!"}}),
    ],
)
def test_names_are_filled_in(value: Any, expected: Any) -> None:
    assert fill_names(value, ANSWER_NAMES) == expected


@pytest.mark.parametrize(
    ("value", "has", "unknown"),
    [
        ("plain", False, None),
        ("${args.q}", True, None),
        (["x", {"a": "${tool}"}], True, None),
        ({"${args.q}": "x"}, False, None),
        (5, False, None),
        ("${arg.q}", True, "arg"),
        ({"a": ["${args.x}", "${foo}"]}, True, "foo"),
    ],
)
def test_names_are_seen_beforehand(value: Any, has: bool, unknown: str | None) -> None:
    assert (has_names(value), unknown_name(value)) == (has, unknown)


def test_an_argument_is_never_taken_for_a_template() -> None:
    assert fill_names("${args.q}", {"args": {"q": "${call}"}, "call": 1}) == "${call}"
    assert fill_names("<${args.q}>", {"args": {"q": "${call}"}, "call": 1}) == "<${call}>"


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("hi", {"content": [{"type": "text", "text": "hi"}]}),
        (5, {"content": [{"type": "text", "text": "5"}]}),
        (None, {"content": [{"type": "text", "text": "null"}]}),
        ([1, "é"], {"content": [{"type": "text", "text": '[1, "é"]'}]}),
        ([], {"content": [{"type": "text", "text": "[]"}]}),
        ({"a": 1}, {"content": [{"type": "text", "text": '{"a": 1}'}], "structuredContent": {"a": 1}}),
        ({"content": "x"}, {"content": [{"type": "text", "text": "x"}]}),
        ({"content": []}, {"content": []}),
        ({"content": [{"type": "image", "data": ""}]}, {"content": [{"type": "image", "data": ""}]}),
        ([{"type": "text", "text": "a"}], {"content": [{"type": "text", "text": "a"}]}),
        ({"structuredContent": {"a": 1}}, {"content": [], "structuredContent": {"a": 1}}),
        (
            {"content": "no", "isError": True, "_meta": {"k": 1}},
            {"content": [{"type": "text", "text": "no"}], "isError": True, "_meta": {"k": 1}},
        ),
    ],
)
def test_what_is_written_becomes_a_result(value: Any, result: dict[str, Any]) -> None:
    assert mock_result(value).document({}) == result


SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]},
    {"properties": {"a": {"type": "boolean"}}, "required": ["a"]},
    {"type": "array", "items": {"type": "number", "minimum": 3}, "minItems": 2},
    {"type": "string", "minLength": 3},
    {"type": ["integer", "null"]},
    {"enum": ["x", "y"]},
    {"const": 7},
    {"anyOf": [{"type": "null"}, {"type": "string"}]},
    {
        "type": "object",
        "properties": {"inner": {"$ref": "#/$defs/inner"}},
        "required": ["inner"],
        "$defs": {"inner": {"type": "object", "properties": {"x": {"default": 1.5}}, "required": ["x"]}},
    },
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_sample_fits_its_schema(schema: dict[str, Any]) -> None:
    jsonschema.validate(smallest_value(schema), schema)


def test_a_schema_without_end_has_a_sample_all_the_same() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    assert set(smallest_value(node)) == {"next"}
    assert smallest_value({"$ref": "#/nowhere"}) is None
    assert smallest_value("nonsense") is None
    assert smallest_value({"type": "array", "minItems": 10**9, "items": {}}) == [None] * 1000


# --- conditions ----------------------------------------------------------------------------------


ARGS: dict[str, Any] = {
    "city": "Oslo",
    "tags": ["a", "b"],
    "limit": 10,
    "share": 0.5,
    "exact": True,
    "none": None,
    "where": {"lat": 59.9, "names": ["x", "y"]},
    "odd key": 1,
}
NAMES = {"args": ARGS, "tool": "search", "call": 3}

HOLDS = [
    'args.city == "Oslo"',
    "args.city == 'Oslo'",
    "args['city'] == \"Oslo\"",
    'args["odd key"] == 1',
    'args.city != "Rome"',
    "args.limit > 9 && args.limit >= 10 && args.limit < 11 && args.limit <= 10",
    "args.limit == 10.0",
    "args.share * 2 == 1",
    "args.limit + 1 == 11",
    "args.limit - 1 == 9",
    "args.limit / 4 == 2.5",
    "args.limit % 3 == 1",
    "-args.limit == -10",
    "1 + 2 * 3 == 7",
    "(1 + 2) * 3 == 9",
    'args.city + "!" == "Oslo!"',
    "args.tags + ['c'] == ['a', 'b', 'c']",
    "size(args.tags) == 2",
    "size(args.city) == 4",
    "has(args.city)",
    "has(args.none)",
    "!has(args.nothing)",
    "!has(args.where.nothing)",
    "args.none == null",
    "args.exact",
    "args.exact == true",
    "args.exact != 1",
    "!(args.exact == 1)",
    "'a' in args.tags",
    "!('c' in args.tags)",
    "!(true in [1])",
    "'lat' in args.where",
    "'sl' in args.city",
    "args.city in ['Rome', 'Oslo']",
    "args.city.contains('sl')",
    "args.tags.contains('a')",
    "args.city.startsWith('Os')",
    "args.city.endsWith('lo')",
    "args.city.matches('^O.l')",
    "args.where.lat > 59",
    "args.where.names[1] == 'y'",
    "args.limit > 5 ? args.exact : false",
    "args.limit > 50 ? false : true",
    "false || true",
    "args.nothing == 1 || args.city == 'Oslo'",
    "args.city.nonsense == 1 || true",
    "1 / 0 == 1 || true",
    "string(args.limit) == '10'",
    "string(args.exact) == 'true'",
    "string(args.none) == 'null'",
    "int('12') == 12",
    "int(args.share) == 0",
    "tool == 'search'",
    "call == 3",
    r"'a\n\"b\'\\' == 'a" + '\\n"b' + r"\'\\'",
    "[1, [2]] == [1, [2]]",
    "[] == []",
    "true",
]
DOES_NOT = [
    'args.city == "Rome"',
    "args.nothing",
    "args.nothing == 1",
    "!args.nothing",
    "args.city",
    "args.limit",
    "!args.city",
    "!args.limit",
    "args.tags[2] == 'c'",
    "args.tags[-1] == 'b'",
    "args.tags['0'] == 'a'",
    "args.city > 5",
    "args.limit + args.city == 1",
    "args.exact + 1 == 2",
    "-args.exact == -1",
    "args.limit / 0 == 1",
    "args.limit % 0 == 1",
    "args.city * 3 == 'OsloOsloOslo'",
    "args.city % 3 == 1",
    "args.tags * 2 == []",
    "size(args.limit) == 2",
    "int(args.city) == 1",
    "int(args.tags) == 1",
    "args.city.matches(args.limit)",
    "args.city.startsWith(args.limit)",
    "args.limit.contains('1')",
    "args.city && true",
    "args.city ? true : true",
    "sampling.content.text == 'x'",
    "false && args.nothing",
]
WRONG = [
    ("", "got nothing"),
    ("   ", "got nothing"),
    ("args.city ==", "expected a value, got the end"),
    ("== 1", "expected a value, got '=='"),
    ("(1", "expected ')', got 'the end'"),
    ("args.", "expected a name, got the end"),
    ("args.1", "expected a name behind the dot, got '1'"),
    ("args[1", "expected ']', got 'the end'"),
    ("[1 2]", "expected ',', got '2'"),
    ("1 ? 2", "expected ':', got 'the end'"),
    ("true false", "expected an operator, got 'false'"),
    ("args.city = 1", "expected a condition, got '= 1' at character 9"),
    ("#", "expected a condition, got '#'"),
    ('"open', "expected a condition, got '\"open'"),
    ("arg.city == 1", "expected a name of args, tool, call, sampling, elicitation, roots, calls, got 'arg'"),
    ("len(args.city)", "expected one of has, size, string, int, got 'len'"),
    ("args.city.upper('x')", "expected one of contains, startsWith, endsWith, matches, got 'upper'"),
    ("args.city.matches('(?=O)')", "expected a pattern of RE2, got '(?=O)'"),
    ("args.city.matches('[')", "expected a pattern of RE2, got '['"),
    ("args.city.matches(1)", "expected a pattern of RE2, got 1"),
    ("(" * 60 + "1" + ")" * 60, "nested less deeply"),
    ("!" * 400 + "true", "expected at most 300 names, values and signs"),
    ("args" + ".a" * 400, "expected at most 300 names, values and signs"),
    ("9" * 5000, "digits"),
]


@pytest.mark.parametrize("text", HOLDS)
def test_a_condition_holds(text: str) -> None:
    assert parse_condition(text)(NAMES) is True


@pytest.mark.parametrize("text", DOES_NOT)
def test_a_condition_does_not_hold(text: str) -> None:
    assert parse_condition(text)(NAMES) is False


@pytest.mark.parametrize(("text", "problem"), WRONG)
def test_a_condition_that_cannot_be_read_says_why(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_condition(text)
    assert problem in str(error.value)


def test_the_longest_condition_that_is_read_can_also_be_asked() -> None:
    sums = " + ".join(["args.limit"] * 74)
    assert parse_condition(f"{sums} > 0")({"args": {"limit": 1}}) is True
    assert parse_condition("!" * 297 + "args.exact")({"args": {"exact": True}}) is False


def test_numbers_beyond_all_bounds_do_no_harm() -> None:
    assert parse_condition("int(args.x) == 1")({"args": {"x": float("inf")}}) is False
    assert parse_condition("args.x * 2 == args.x")({"args": {"x": float("inf")}}) is True


_SIGNS = """args args.a tool call 1 2.5 'x' " ( ) [ ] == != < in && || ! - + * / % ? : . , has( size( int(
string( .matches( .contains( null true x \\ é"""
_WORDS = st.sampled_from(_SIGNS.split())
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(_WORDS, max_size=40).map(" ".join) | st.text(max_size=60), _JSON)
def test_no_text_does_anything_but_hold_or_not_or_raise_a_value_error(text: str, value: Any) -> None:
    try:
        condition = parse_condition(text)
    except ValueError:
        return
    assert condition({"args": {"a": value}, "tool": "t", "call": 1}) in (True, False)


@pytest.mark.parametrize("pattern", ["'(a+)+$'", "args.pattern"])
def test_no_pattern_takes_longer_than_its_text_allows(pattern: str) -> None:
    holds = parse_condition(f"args.a.matches({pattern})")
    assert not holds({"args": {"a": "a" * 50_000 + "!", "pattern": "(a+)+$"}})
    assert holds({"args": {"a": "a" * 50_000, "pattern": "(a+)+$"}})
    assert not holds({"args": {"a": "a\ud800", "pattern": "(a+)+$"}})
