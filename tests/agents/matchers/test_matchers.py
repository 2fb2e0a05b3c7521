"""Each matcher accepts the right values, and explains what is wrong with the others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.agents.matchers.matcher_table import MATCHERS, asserts_nothing, check, match
from faultkit.agents.matchers.text_matchers import distance
from faultkit.base.errors import InputError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

HOLDS: list[tuple[str, Any, Any]] = [
    ("exact", {"a": [1, None]}, {"a": [1.0, None]}),
    ("exact", None, None),
    ("exact", ["a"], ("a",)),
    ("subset", ["a"], ("b", "a")),
    ("contains", "port", "report"),
    ("contains", "search", ["search", "order"]),
    ("contains", {"a": 1}, [{"a": 1}]),
    ("contains", "port", {"content": [{"text": "a report"}]}),
    ("contains-all", ["a", "c"], "abc"),
    ("contains-any", ["x", "c"], "abc"),
    ("icontains", "REPORT", "a Report"),
    ("icontains", "STRASSE", "straße"),
    ("starts-with", "ab", "abc"),
    ("ends-with", "bc", "abc"),
    ("regex", r"^in\w+ \d+$", "incident 42"),
    ("regex", "[[a]", "a"),
    ("levenshtein", {"to": "kitten", "max": 3}, "sitting"),
    ("subset", {"a": {"b": 1}, "l": [1, 3]}, {"a": {"b": 1, "c": 2}, "l": [1, 2, 3], "z": 0}),
    ("subset", [{"name": "order"}], [{"name": "search"}, {"name": "order", "args": {}}]),
    ("snapshot", {"a": 1}, {"a": 1}),
    ("numeric", 3, 3.0),
    ("numeric", 3, " 3 "),
    ("numeric", {"gt": 2, "ge": 3, "lt": 4, "le": 3}, 3),
    ("numeric", {"between": [3, 4]}, 3),
    ("numeric", {"close": {"to": 0.3, "within": 1e-9}}, 0.1 + 0.2),
    ("type", "integer", 2.0),
    ("type", ["string", "null"], None),
    ("type", "array", []),
    ("length", 3, "abc"),
    ("length", {"ge": 1}, {"a": 1}),
    ("schema", SCHEMA, {"n": 1}),
    ("is-json", True, '{"n": 1}'),
    ("is-json", SCHEMA, '{"n": 1}'),
    ("is-json", False, "{"),
    ("is-xml", True, "<a><b/></a>"),
    ("is-xml", False, "<a>"),
    ("not", {"contains": "x"}, "abc"),
    ("oneOf", [{"contains": "a"}, {"contains": "x"}], "abc"),
    ("anyOf", [{"contains": "a"}, {"contains": "b"}], "abc"),
    ("allOf", [{"contains": "a"}, {"not": {"contains": "x"}}], "abc"),
]

FAILS: list[tuple[str, Any, Any, str]] = [
    ("exact", True, 1, "expected exactly this:\n- true\n+ 1"),
    ("exact", {"a": 1, "b": 2}, {"a": 1, "c": 3}, "expected exactly this:\n- b: 2\n+ c: 3"),
    ("exact", [1, [2]], [1, [3], 4], "expected exactly this:\n- [1][0]: 2\n+ [1][0]: 3\n+ [2]: 4"),
    (
        "exact",
        "the report 42",
        "the report 41",
        'expected exactly this:\n- "the report 42"\n+ "the report 41"\n  they differ from character 13 on',
    ),
    ("exact", "a\nb\nc", "a\nx\nc", "expected exactly this:\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c"),
    ("contains", "x", "abc", 'expected something that contains "x", got "abc"'),
    ("contains", "sea", ["search"], 'expected something that contains "sea", got ["search"]'),
    ("contains", 1, [True], "expected something that contains 1, got [true]"),
    (
        "contains-all",
        ["a", "x", "y"],
        "abc",
        'expected something that contains all of them, but "x", "y" is not in "abc"',
    ),
    ("contains-any", ["x", "y"], "abc", 'expected something that contains one of "x", "y", got "abc"'),
    ("icontains", "X", "abc", 'expected something that contains "X" in any case, got "abc"'),
    ("starts-with", "b", "abc", 'expected a text that starts with "b", got "abc"'),
    ("ends-with", "b", 3, 'expected a text that ends with "b", got 3'),
    ("regex", "^b", "abc", 'expected a text that matches "^b", got "abc"'),
    ("regex", "1", 1, 'expected a text that matches "1", got 1'),
    (
        "levenshtein",
        {"to": "kitten", "max": 2},
        "sitting",
        'expected a text at most 2 edits away from "kitten", got "sitting"',
    ),
    ("subset", {"a": 1}, {"a": 2, "b": 3}, "expected at least this:\n- a: 1\n+ a: 2"),
    ("subset", {"a": {"b": 1}}, {"a": {"c": 2}}, "expected at least this:\n- a.b: 1"),
    (
        "subset",
        [3, 1],
        [1, 2, 3],
        "expected at least this:\n- [0]: 3\n+ [0]: 1\n- [1]: 1\n+ [1]: 2\n+ [2]: 3",
    ),
    ("snapshot", {"a": 1}, {"a": 2}, "expected what the snapshot holds:\n- a: 1\n+ a: 2"),
    ("numeric", 3, 4, "expected the number 3, got 4"),
    ("numeric", {"gt": 3, "lt": 9}, 3, "expected a number > 3, got 3"),
    ("numeric", {"ge": 5, "le": 1}, 3, "expected a number >= 5 and <= 1, got 3"),
    ("numeric", {"between": [4, 5]}, 3, "expected a number from 4 to 5, got 3"),
    ("numeric", {"close": {"to": 1, "within": 0.5}}, 3, "expected a number within 0.5 of 1, got 3"),
    ("numeric", 1, True, "expected a number, got true"),
    ("numeric", 1, "one", 'expected a number, got "one"'),
    ("type", "integer", 1.5, "expected a value of type integer, got 1.5"),
    ("type", ["number", "null"], False, "expected a value of type number or null, got false"),
    ("length", 2, "abc", 'of its length: expected the number 2, got 3; it is "abc"'),
    ("length", 2, 3, "expected a text, a list or a mapping, which have a length, got 3"),
    ("schema", SCHEMA, {"n": "1"}, "expected what the schema says:\n$.n: '1' is not of type 'integer'"),
    (
        "schema",
        {"$ref": "http://127.0.0.1:9/elsewhere"},
        {},
        "expected what the schema says:\n"
        'the schema refers to "http://127.0.0.1:9/elsewhere", which is not in it',
    ),
    (
        "is-json",
        True,
        "{",
        'expected JSON, got "{": Expecting property name enclosed in double quotes: line 1 column 2 (char 1)',
    ),
    ("is-json", True, 3, "expected JSON, got 3: not a text"),
    ("is-json", False, "1", 'expected a text that is no JSON, got "1"'),
    ("is-xml", True, "<a>", 'expected XML, got "<a>": no element found: line 1, column 3'),
    ("is-xml", False, "<a/>", 'expected a text that is no XML, got "<a/>"'),
    ("not", {"contains": "a"}, "abc", 'expected that contains "a" does not hold, but it does of "abc"'),
    (
        "oneOf",
        [{"contains": "a"}, {"starts-with": "a"}],
        "abc",
        'expected exactly one of them to hold, but 2 do (contains, starts-with) of "abc"',
    ),
    (
        "anyOf",
        [{"contains": "x"}, {"exact": 1}],
        "abc",
        'expected one of them to hold, but none does:\n  expected something that contains "x", got "abc"\n'
        '  expected exactly this:\n  - 1\n  + "abc"',
    ),
    (
        "allOf",
        [{"contains": "a"}, {"contains": "x"}],
        "abc",
        'expected something that contains "x", got "abc"',
    ),
]


@pytest.mark.parametrize(("matcher", "wanted", "got"), HOLDS)
def test_it_holds(matcher: str, wanted: Any, got: Any) -> None:
    if matcher != "snapshot":
        check(matcher, wanted)
    assert match(matcher, wanted, got) is None


@pytest.mark.parametrize(("matcher", "wanted", "got", "problem"), FAILS)
def test_it_does_not_hold_and_says_why(matcher: str, wanted: Any, got: Any, problem: str) -> None:
    if matcher != "snapshot":
        check(matcher, wanted)
    assert match(matcher, wanted, got) == problem


def test_every_matcher_is_seen_to_hold_and_to_fail() -> None:
    assert {case[0] for case in HOLDS} == {case[0] for case in FAILS} == set(MATCHERS)


@pytest.mark.parametrize(
    ("matcher", "wanted", "problem"),
    [
        ("contians", "x", 'unknown matcher; did you mean "contains"?'),
        (
            "llm-jury",
            "x",
            "llm-jury asks a language model, whose verdict may differ the next time: not supported; "
            "state what must hold by contains, regex, schema or numeric",
        ),
        ("is-sql", True, "a matcher of mcptest that Faultkit does not support"),
        ("contains-all", [], "expected a list of texts, got an empty list"),
        ("contains-any", ["a", 1], "[1]: expected a text, got 1"),
        ("icontains", "", 'expected a text, got ""'),
        (
            "regex",
            "(",
            'expected a regular expression, got "(": missing ): ( '
            "(the syntax is that of RE2, without lookaround and backreferences)",
        ),
        ("levenshtein", {"to": "a"}, "max: expected a whole number of at least 0, got nothing"),
        ("levenshtein", {"to": "a", "mx": 1}, 'mx: unknown key; did you mean "max"?'),
        ("snapshot", 3, "expected true or the name of a snapshot, got 3"),
        ("numeric", {}, "expected at least one of gt, ge, lt, le, between, close, got none"),
        ("numeric", {"gt": True}, "gt: expected a number, got true"),
        ("numeric", {"between": [2, 1]}, "between: expected the lower number first, got 2 and 1"),
        ("numeric", {"close": {"to": 1}}, "close.within: expected a number, got nothing"),
        (
            "type",
            "text",
            'expected a type, got "text"; expected one of string, integer, number, boolean, '
            "array, object, null",
        ),
        ("length", "3", 'expected a number or limits (gt, ge, lt, le, between, close), got "3"'),
        ("schema", True, "expected a JSON schema (a mapping), got true"),
        (
            "schema",
            {"properties": {"a": {"type": "text"}}},
            "properties.a.type: expected a JSON schema: 'text' is not valid under any of the given schemas",
        ),
        ("is-json", 1, "expected a JSON schema (a mapping), got 1"),
        ("is-xml", 1, "expected true or false, got 1"),
        ("not", {"contains": "a", "regex": "b"}, "expected one matcher and its argument, got 2 of them"),
        ("anyOf", [], "expected a list of matchers, got an empty list"),
        ("allOf", [{"contain": 1}], '[0].contain: unknown matcher; did you mean "contains"?'),
        (
            "not",
            {"snapshot": True},
            "snapshot: expected outside other matchers: a snapshot is of one target",
        ),
    ],
)
def test_what_could_never_be_judged_is_refused(matcher: str, wanted: Any, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        check(matcher, wanted)
    assert str(raised.value) == problem


@given(JSON, JSON)
def test_exact_is_equality_as_json_has_it(one: Any, other: Any) -> None:
    assert match("exact", one, one) is None
    assert match("subset", one, one) is None
    problem = match("exact", one, other)
    assert (problem is None) is (match("exact", other, one) is None)
    assert (match("not", {"exact": one}, other) is None) is (problem is not None)


@given(st.sampled_from([name for name in MATCHERS if MATCHERS[name].schema]), JSON, JSON)
def test_whatever_is_wanted_and_whatever_comes_a_matcher_never_breaks(
    name: str, wanted: Any, got: Any
) -> None:
    try:
        check(name, wanted)
    except InputError:
        return
    if name != "snapshot":
        match(name, wanted, got)


@given(st.text("abc", max_size=8), st.text("abc", max_size=8), st.integers(0, 8))
def test_the_distance_is_that_of_the_plain_table(one: str, other: str, most: int) -> None:
    assert distance(one, other, most) == min(_plain_distance(one, other), most + 1)


def _plain_distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one):
        above, row = row, [place + 1]
        for column, each in enumerate(other):
            row.append(min(above[column] + (letter != each), above[column + 1] + 1, row[-1] + 1))
    return row[-1]


def test_long_values_are_cut_and_long_differences_counted() -> None:
    problem = match("exact", list(range(100)), [])
    assert problem is not None
    assert problem.splitlines()[-1] == "… and 88 more"
    assert len(match("contains", "x", "a" * 1000) or "") < 200


@pytest.mark.parametrize("pattern", [".*", "a?", "^b*", "x*$", "(?s).*", "a|"])
def test_a_pattern_that_matches_in_every_text_asserts_nothing(pattern: str) -> None:
    assert asserts_nothing("regex", pattern)
    assert all(match("regex", pattern, text) is None for text in ("", "q\nr", "\0"))


@pytest.mark.parametrize("pattern", ["^$", "^a*$", ".+", r"\b", "a", r"a*\z"])
def test_a_pattern_that_a_text_can_miss_asserts_something(pattern: str) -> None:
    assert not asserts_nothing("regex", pattern)
