"""Filters as texts: unknown names and wrong values are errors."""

from __future__ import annotations

import pytest

from faultkit.audit.filter import Filter, Param, param_value, parse_filter
from faultkit.base.errors import InputError
from faultkit.base.times import parse_time, time_text

NOW_US = 1_790_000_000_000_000

BAD = (
    ("colour", "red", "colour: expected one of the filters tool, user,"),
    ("success", "yes", 'success: expected true or false, got "yes"'),
    ("success", "", 'success: expected true or false, got ""'),
    ("tool", "", "tool: expected a text, got nothing"),
    ("q", "a\0", "q: expected a text without NUL"),
    ("from", "yesterday", 'from: expected a time such as "2026-01-31T12:00:00Z"'),
    ("to", "2026-13-01", 'to: expected a time such as "2026-01-31T12:00:00Z"'),
    ("limit", "0", 'limit: expected a whole number from 1 to 1000, got "0"'),
    ("limit", "1001", "limit: expected a whole number from 1 to 1000"),
    ("limit", "²", "limit: expected a whole number from 1 to 1000"),
    ("offset", "-1", 'offset: expected a whole number from 0 to 9223372036854775807, got "-1"'),
    ("offset", "9" * 30, "offset: expected a whole number from 0 to"),
    ("param.", "x", "param.: expected a path such as param.seed"),
    ("param.a..b", "x", "param.a..b: expected a path such as param.seed"),
    ("param.a", "\0", "param.a: expected a text without NUL"),
)


@pytest.mark.parametrize(("name", "text", "problem"), BAD)
def test_a_bad_filter_is_an_error_that_names_it(name: str, text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_filter([(name, text)], NOW_US)
    assert str(caught.value).startswith(problem)


def test_a_filter_is_given_once() -> None:
    with pytest.raises(InputError, match=r"^tool: expected once"):
        parse_filter([("tool", "a"), ("tool", "b")], NOW_US)


def test_a_time_span_that_ends_before_it_begins_is_an_error() -> None:
    with pytest.raises(InputError, match=r"^to: expected a time after"):
        parse_filter([("from", "1m"), ("to", "2m")], NOW_US)


def test_times_are_moments_or_how_long_ago() -> None:
    assert parse_time("15m", NOW_US) == NOW_US - 15 * 60 * 1_000_000
    assert parse_time("1970-01-01T00:00:01Z", NOW_US) == 1_000_000
    assert parse_time("1970-01-01T01:00:00+01:00", NOW_US) == 0
    assert parse_time("1969-12-31T23:59:59.999999", NOW_US) == -1
    assert time_text(NOW_US + 1) == "2026-09-21T14:13:20.000001Z"
    assert parse_time(time_text(NOW_US + 1), NOW_US) == NOW_US + 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-1.5", -1.5),
        ("true", True),
        ("null", None),
        ('"5"', "5"),
        ("abc", "abc"),
        ("", ""),
        ("{}", "{}"),
        ("NaN", "NaN"),
        ("1e999", "1e999"),
        ('"open', '"open'),
    ],
)
def test_values_have_the_type_that_they_look_like(text: str, value: object) -> None:
    found = param_value(text)
    assert found == value
    assert type(found) is type(value)


def test_params_add_up() -> None:
    found = parse_filter([("param.a.b", "1"), ("param.a.c", "x")], NOW_US)
    assert found == Filter(params=(Param(("a", "b"), 1), Param(("a", "c"), "x")))
