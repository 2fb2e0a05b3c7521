"""Reading JSON in the text of a model, whatever stands around it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.llm.prompt import json_values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ("\ufeff [1, 2] ", [[1, 2]]),
        ('```json\n{"a": 1}\n```', [{"a": 1}]),
        ('~~~\n{"a": 1}\n~~~', [{"a": 1}]),
        ('````\n{"a": "```"}\n````', [{"a": "```"}]),
        ('Yes: {"a": {"b": [1]}} and {"c": 2}.', [{"a": {"b": [1]}}, {"c": 2}]),
        ('I mean {this}: {"a": 1}', [{"a": 1}]),
        ('<think>{"a": 0}</think>\n{"a": 1}', [{"a": 1}]),
        ('{"a": 1}\n```json\n{"a": 2}\n```', [{"a": 2}]),
        ('{"a": "two\nlines"}', [{"a": "two\nlines"}]),
        ('{"a": NaN}', []),
        ('{"a": "\\ud800"}', []),
        ('{"a": 1', []),
        ("no", []),
        ("", []),
        ("3", []),
        ('"{}"', [{}]),
        ("[" * 100_000, []),
        ("{" * 100_000, []),
    ],
)
def test_values_are_found(text: str, values: list[Any]) -> None:
    assert list(json_values(text)) == values


plain_words = st.text(st.characters(blacklist_characters="{}[]`~<", blacklist_categories=["Cs"]), max_size=30)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
values = st.dictionaries(
    st.text(st.characters(blacklist_categories=["Cs"]), max_size=5),
    st.one_of(scalars, st.text(st.characters(blacklist_categories=["Cs"]), max_size=20)),
)


@given(plain_words, values, plain_words)
def test_words_around_a_value_change_nothing(before: str, value: dict[str, Any], after: str) -> None:
    assert list(json_values(f"{before}{json.dumps(value)}{after}")) == [value]


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    assert all(isinstance(value, (dict, list)) for value in json_values(text))
