"""Expectations: each form, and that the forms of Chaos Toolkit mean the same as there."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from chaoslib.hypothesis import ensure_hypothesis_tolerance_is_valid, within_tolerance
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.errors import InputError
from faultkit.chaos.steps.expect_keys import parse_expect
from faultkit.chaos.steps.expectations import why_never_met
from tests.chaos.stage import HERE

OK = {"status": 200, "body": '{"items": [{"n": 1}, {"n": 2}]}', "elapsed_ms": 12.5}


@pytest.mark.parametrize(
    ("expect", "value", "why"),
    [
        (200, OK, None),
        (503, OK, "expected 503, got 200"),
        ([200, 204], OK, None),
        ([200, 204], {"status": 202}, "expected one of 200, 204, got 202"),
        ([1, 3], 2, None),
        ([1, 3], 4, "expected 1 to 3, got 4"),
        (["green", "yellow"], "red", 'expected one of "green", "yellow", got "red"'),
        ("open", {"status": "open"}, None),
        (True, True, None),
        (True, OK, 'expected true, got {"status": 200, '),
        ({"target": "elapsed_ms", "below": 300}, OK, None),
        ({"target": "elapsed_ms", "below": 10}, OK, "expected elapsed_ms below 10, got 12.5"),
        ({"above": 1, "at_most": 5}, 5, None),
        ({"above": 1, "at_most": 5}, 6, "expected of at most 5, got 6"),
        ({"above": 1}, "much", 'expected above 1, got "much"'),
        ({"above": 0}, True, "expected above 0, got true"),
        ({"not": 500}, OK, None),
        ({"one_of": ["a", "b"]}, "b", None),
        ({"between": [1, 2]}, "1.5", None),
        ({"matches": "^a+$"}, "aaa", None),
        ({"contains": "PONG"}, "+PONG\r\n", None),
        ({"length": 2}, [1], "expected of length 2, got [1]"),
        ({"target": "a.b", "equals": 3}, {"a": {"b": 3}}, None),
        ({"all": [{"above": 1}, {"below": 3}]}, 3, "expected below 3, got 3"),
        ({"type": "range", "range": [10, 20], "target": "elapsed_ms"}, OK, None),
        ({"type": "range", "range": [10, 20]}, None, "expected a number, got nothing"),
        ({"type": "regex", "pattern": "it+ems", "target": "body"}, OK, None),
        ({"type": "jsonpath", "path": "$.items[*].n", "target": "body", "expect": [1, 2]}, OK, None),
        (
            {"type": "jsonpath", "path": "$.items[*].n", "target": "body", "count": 3},
            OK,
            "expected $.items[*].n to find 3, got 2",
        ),
        (
            {"type": "jsonpath", "path": "$.none", "target": "body"},
            OK,
            "expected $.none to find something, got nothing",
        ),
        ({"type": "probe", "function": f"{HERE}:is_even"}, 4, None),
        ({"type": "probe", "function": f"{HERE}:is_even"}, 5, f"{HERE}:is_even says false of 5"),
    ],
)
def test_a_value_is_as_expected_or_the_reason_is_returned(expect: Any, value: Any, why: str | None) -> None:
    said = parse_expect(expect).why_not(value)
    assert said == why if why is None else said is not None and said.startswith(why)


@pytest.mark.parametrize(
    ("expect", "problem"),
    [
        (
            None,
            "expected a value, a list, or a mapping such as {target: elapsed_ms, below: 300}, got nothing",
        ),
        (
            float("nan"),
            "expected a value, a list, or a mapping such as {target: elapsed_ms, below: 300}, got nan",
        ),
        ([], "expected a value, a list, or a mapping such as"),
        ({}, "expected one of equals, not, one_of, above, "),
        ({"belw": 3}, 'belw: unknown key; did you mean "below"?'),
        ({"below": True}, "below: expected a number, got true"),
        ({"below": float("inf")}, "below: expected a number, got inf"),
        ({"between": [3, 1]}, "between: expected the smaller number first, got 3 and 1"),
        ({"type": "regexp"}, 'type: expected one of range, regex, jsonpath, probe, got "regexp"'),
        ({"type": "regex", "pattern": "("}, 'pattern: expected a regular expression, got "(": missing )'),
        ({"type": "range", "range": [1]}, "range: expected a list of two numbers, got a list"),
        ({"type": "jsonpath", "path": "$["}, "path: expected a JSON path such as $.items[*].name, got"),
        ({"type": "probe"}, "function: expected a function such as my.module:is_healthy, got nothing"),
        ({"all": []}, "all: expected a list of expectations, got a list"),
        ({"all": [{"above": "x"}]}, 'all[0].above: expected a number, got "x"'),
    ],
)
def test_what_cannot_be_expected_is_refused(expect: Any, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_expect(expect)
    assert str(caught.value).startswith(problem)


numbers = st.integers(-3, 3) | st.sampled_from([0.5, 1.0, 2.5])
values = (
    numbers
    | st.booleans()
    | st.sampled_from(["a", "b", "abc", "1.5"])
    | st.builds(lambda status, text: {"status": status, "stdout": text}, numbers, st.sampled_from(["a", "2"]))
)
tolerances = st.one_of(
    st.integers(-3, 3),
    st.booleans(),
    st.sampled_from(["a", "b", "abc"]),
    st.tuples(st.integers(-3, 0), st.integers(0, 3)).map(list),
    st.lists(numbers | st.sampled_from(["a", "b"]), min_size=3, max_size=4),
    st.builds(
        lambda low, high, target: {"type": "range", "range": [low, high], **target},
        st.integers(-3, 0),
        st.integers(0, 3),
        st.sampled_from([{}, {"target": "stdout"}, {"target": "status"}]),
    ),
    st.sampled_from(
        [{"type": "regex", "pattern": "b", "target": "stdout"}, {"type": "regex", "pattern": "^a"}]
    ),
)


@given(tolerances, values)
def test_tolerances_of_chaos_toolkit_mean_the_same_here(tolerance: Any, value: Any) -> None:
    ensure_hypothesis_tolerance_is_valid(tolerance)
    try:
        theirs = bool(within_tolerance(copy.deepcopy(tolerance), copy.deepcopy(value)))
    except Exception:
        return  # Chaos Toolkit ends the run, so there is nothing to compare with.
    ours = parse_expect(tolerance).why_not(value) is None
    # Faultkit compares a text with a status too; Chaos Toolkit never does.
    if isinstance(tolerance, str) and isinstance(value, dict):
        return
    assert ours == theirs


TCP = ("open", "refused")


@pytest.mark.parametrize(
    ("expect", "statuses", "why"),
    [
        (200, TCP, "expected a status, one of open, refused, got 200"),
        (["open", "closed"], TCP, 'expected a status, one of open, refused, got "closed"'),
        ([200, 204], TCP, "expected a status, one of open, refused, got 200"),
        (True, TCP, "expected a status, one of open, refused, got true"),
        ({"not": 200}, TCP, "expected a status, one of open, refused, got 200"),
        ({"target": "status", "one_of": [1]}, TCP, "expected a status, one of open, refused, got 1"),
        ({"target": "status", "below": 400}, TCP, "expected a status, one of open, refused, got a range"),
        ({"target": "status", "equals": "200"}, int, 'expected a status, a whole number, got "200"'),
        (0.5, int, "expected a status, a whole number, got 0.5"),
        ({"below": 300}, int, "expected a target, the number that is compared, got none"),
        ({"between": [1, 3]}, int, "expected a target, the number that is compared, got none"),
        ("open", TCP, None),
        ({"target": "status", "not": "refused"}, TCP, None),
        ({"target": "reply", "equals": "+PONG"}, TCP, None),
        ({"target": "elapsed_ms", "below": 300}, TCP, None),
        ([200, 204], int, None),
        ({"target": "status", "between": [200, 299]}, int, None),
        ({"contains": "status"}, int, None),
    ],
)
def test_a_status_that_a_check_never_finds_is_known_beforehand(
    expect: Any, statuses: Any, why: str | None
) -> None:
    assert why_never_met(parse_expect(expect), statuses) == why
