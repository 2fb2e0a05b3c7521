from __future__ import annotations

import json
import math
from dataclasses import fields

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultkit.base.errors import InputError
from faultkit.faults import FAULTS
from faultkit.faults.fault import Fault
from faultkit.faults.fault_data import dump_fault, fault_schema, fault_type, parse_fault
from faultkit.faults.fault_settings import plain
from faultkit.faults.stream.latency import Latency
from faultkit.testing.strategies import faults


def test_a_fault_is_made_from_its_kind_and_settings() -> None:
    assert parse_fault("latency", {"mean_ms": 250, "per": "operation"}) == Latency(
        mean_ms=250.0, per="operation"
    )


def test_a_whole_number_is_a_number() -> None:
    fault = parse_fault("latency", {"mean_ms": 250})
    assert isinstance(fault, Latency)
    assert type(fault.mean_ms) is float


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("latency", {"mean_ms": -1}, "mean_ms: expected a number of at least 0, got -1.0"),
        ("latency", {"mean_ms": "1"}, "mean_ms: expected a number of at least 0, got '1'"),
        ("latency", {"mean_ms": True}, "mean_ms: expected a number of at least 0, got true"),
        ("latency", {"mean_ms": None}, "mean_ms: expected a number of at least 0, got nothing"),
        ("latency", {"mean_ms": math.nan}, "mean_ms: expected a number of at least 0, got nan"),
        ("latency", {"mean_ms": math.inf}, "mean_ms: expected a number of at least 0, got inf"),
        ("latency", {"mean_ms": [1]}, "mean_ms: expected a number of at least 0, got [1]"),
        (
            "latency",
            {"distribution": "gauss"},
            "distribution: expected one of normal, uniform, pareto, pareto-normal, table, got 'gauss'",
        ),
        (
            "latency",
            {"distribution": ["normal"]},
            "distribution: expected one of normal, uniform, pareto, pareto-normal, table, got ['normal']",
        ),
        (
            "latency",
            {"distribution": "uniform", "min_ms": 2, "max_ms": 1},
            "max_ms: expected at least min_ms (2), got 1",
        ),
        ("bandwidth", {"rate": 0}, "rate: expected a number above 0, got 0.0"),
        ("packet_loss", {"rate": 1.5}, "rate: expected a number from 0 to 1, got 1.5"),
        ("limit_data", {"bytes": 1.0}, "bytes: expected a whole number of at least 0, got 1.0"),
        ("limit_data", {"bytes": False}, "bytes: expected a whole number of at least 0, got false"),
        ("http_error", {"call_upstream": 1}, "call_upstream: expected true or false, got 1"),
        ("http_error", {"body": 1}, "body: expected a text, got 1"),
        ("http_error", {"body": "\udcff"}, r"body: expected a text in UTF-8, got '\udcff'"),
        ("tool_error", {"text": "a\ud800"}, r"text: expected a text in UTF-8, got 'a\ud800'"),
        (
            "slow_close",
            {"delay": 1},
            "delay: unknown setting of slow_close 'delay'; did you mean 'delay_ms'? (known: delay_ms)",
        ),
        ("refuse", {"x": 1}, "x: unknown setting of refuse 'x' (known: none)"),
    ],
)
def test_an_error_names_the_setting_what_was_expected_and_what_came(
    kind: str, values: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        parse_fault(kind, values)
    assert str(caught.value) == message
    assert caught.value.path == message.partition(":")[0]


def test_a_number_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(InputError, match=r"^mean_ms: expected a number of at least 0, got 1000"):
        parse_fault("latency", {"mean_ms": 10**400})


def test_an_unknown_fault_is_answered_with_the_nearest_one_and_where_all_are() -> None:
    with pytest.raises(InputError) as caught:
        fault_type("packet-los")
    assert caught.value.path == ""
    assert str(caught.value) == (
        "unknown fault 'packet-los'; did you mean 'packet_loss'? (`fault faults` lists them all)"
    )


def test_an_unknown_fault_unlike_any_other_gets_no_guess() -> None:
    with pytest.raises(InputError, match=r"^unknown fault 'zzz' \(`fault faults` lists them all\)$"):
        parse_fault("zzz", {})


def test_only_what_differs_from_the_defaults_is_dumped() -> None:
    assert dump_fault(Latency()) == {}
    assert dump_fault(Latency(mean_ms=5, per="operation")) == {"per": "operation", "mean_ms": 5.0}


@pytest.mark.parametrize("cls", FAULTS.values(), ids=FAULTS)
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.filter_too_much], deadline=None)
def test_what_is_dumped_is_parsed_back_even_through_json(cls: type[Fault], data: st.DataObject) -> None:
    fault = data.draw(faults(cls))
    assert parse_fault(cls.kind, json.loads(json.dumps(dump_fault(fault)))) == fault


def test_every_setting_is_in_the_schema_with_its_default() -> None:
    for kind, cls in FAULTS.items():
        properties = fault_schema(cls)["properties"]
        assert isinstance(properties, dict), kind
        assert {name: each["default"] for name, each in properties.items()} == {
            field.name: plain(field.default) for field in fields(cls)
        }, kind


def test_the_schema_has_types_bounds_choices_and_units() -> None:
    assert fault_schema(FAULTS["jitter"]) == {
        "type": "object",
        "title": "jitter",
        "description": "The delay of bytes changes from moment to moment.",
        "properties": {
            "amplitude_ms": {
                "type": "number",
                "description": "Longest delay; each is drawn from 0 to it. [ms]",
                "minimum": 0,
                "default": 20.0,
            },
            "frequency_hz": {
                "type": "number",
                "description": "How often a second the delay changes; 0 keeps one delay. [Hz]",
                "minimum": 0,
                "maximum": 1e6,
                "default": 5.0,
            },
        },
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("kind", "name", "part"),
    [
        ("http_error", "status", {"type": "integer", "minimum": 200, "maximum": 599}),
        ("http_error", "body", {"type": ["string", "null"], "default": None}),
        ("http_error", "call_upstream", {"type": "boolean"}),
        ("bandwidth", "rate", {"type": "number", "exclusiveMinimum": 0}),
        ("dns", "outcome", {"type": "string", "enum": ["fail", "resolve"]}),
    ],
)
def test_the_schema_of_a_setting_says(kind: str, name: str, part: dict[str, object]) -> None:
    properties = fault_schema(FAULTS[kind])["properties"]
    assert isinstance(properties, dict)
    assert properties[name] | part == properties[name]
