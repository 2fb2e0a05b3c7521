"""Corrupt value: a wrong value of the right type that can be traced."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from faultkit.faults.call.corrupt_value import CorruptValue
from faultkit.faults.call_fault import Send
from faultkit.faults.json_leaves import Leaf
from tests.faults.call.judged import CALL, frames, given, judged, result


def corrupted(value: dict[str, Any], schema: Any = None, seed: object = 1) -> tuple[dict[str, Any], str]:
    verdict = CorruptValue().judge(CALL, given(seed, schema=schema))
    assert verdict.frames is not None
    (frame,) = verdict.frames(result(value))
    assert isinstance(frame, Send)
    assert isinstance(frame.message, dict)
    found: dict[str, Any] = frame.message["result"]
    return found, verdict.marker


def test_one_word_of_a_text_becomes_the_marker() -> None:
    found, marker = corrupted({"content": [{"type": "image"}, {"type": "text", "text": "see you at nine"}]})
    assert found == {"content": [{"type": "image"}, {"type": "text", "text": f"{marker} you at nine"}]}


def test_the_same_lie_is_told_in_the_structure_and_in_the_text() -> None:
    truth = {"city": "Paris", "days": 3}
    for text in (json.dumps(truth), "3 days in Paris", "Paris"):
        found, marker = corrupted({"content": [{"type": "text", "text": text}], "structuredContent": truth})
        assert found["structuredContent"] == {"city": marker, "days": 3}
        assert marker in found["content"][0]["text"]
        assert "Paris" not in found["content"][0]["text"]


def test_text_that_is_json_stays_json() -> None:
    found, marker = corrupted({"content": [{"type": "text", "text": '{"a":[1,"b"]}'}]})
    assert json.loads(found["content"][0]["text"]) == {"a": [1, marker]}


def test_markers_differ_by_call_and_by_seed() -> None:
    assert len({judged(CorruptValue(), seed=seed).marker for seed in range(1000)}) == 1000
    assert judged(CorruptValue(), seed=5).marker == judged(CorruptValue(), seed=5).marker


@pytest.mark.parametrize(
    ("schema", "truth", "lie"),
    [
        ({"type": "string", "enum": ["on", "off"]}, "on", "off"),
        ({"type": "string", "const": "on"}, "on", "on"),
        ({"type": "string", "maxLength": 10}, "on", "canary-5a2"),
        ({"type": "integer"}, 5, 386_862),
        ({"type": "integer", "minimum": 1, "maximum": 9}, 5, 1),
        ({"type": "integer", "minimum": 1, "maximum": 9}, 1, 9),
        ({"type": "integer", "minimum": 10**9}, 10**9, 10**9 + 386_862),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5, 0.5),
        ({"type": "number"}, 0.5, 386_862.5),
        ({"type": "boolean"}, True, False),
    ],
)
def test_what_a_schema_says_of_a_value_is_kept(schema: dict[str, Any], truth: object, lie: object) -> None:
    found, _ = corrupted(
        {"content": [], "structuredContent": {"v": truth}}, {"type": "object", "properties": {"v": schema}}
    )
    assert found["structuredContent"] == {"v": lie}
    assert type(found["structuredContent"]["v"]) is type(truth)


def test_a_bound_value_is_left_alone_if_there_is_a_free_one() -> None:
    schema = {"properties": {"state": {"enum": ["on", "off"]}, "note": {"type": "string"}}}
    for seed in range(20):
        truth = {"state": "on", "note": "fine"}
        found, marker = corrupted({"content": [], "structuredContent": truth}, schema, seed)
        assert found["structuredContent"] == {"state": "on", "note": marker}


numbers = st.integers(-1000, 1000)


@for_all(
    st.fixed_dictionaries(
        {}, optional={k: numbers for k in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")}
    ),
    st.data(),
)
def test_a_wrong_number_is_as_valid_as_the_right_one(schema: dict[str, int], data: st.DataObject) -> None:
    value = data.draw(numbers | st.floats(-1000, 1000))
    validator = Draft202012Validator(schema)
    if validator.is_valid(value):
        other = Leaf((), schema).other_number(value, 123_456)
        assert validator.is_valid(other)
        assert type(other) is type(value)


def test_a_result_without_any_value_stays_as_it_is() -> None:
    assert frames(CorruptValue(), result({"content": []})) == (Send(result({"content": []})),)
