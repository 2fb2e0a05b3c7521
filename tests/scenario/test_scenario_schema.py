"""The JSON Schema of a scenario accepts what the parser accepts, and rejects the usual mistakes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from faultkit.base.errors import InputError
from faultkit.faults import PROXY_FAULTS
from faultkit.scenario.scenario_keys import parse_scenario, scenario_schema
from faultkit.scenario.written_faults import COMMON_KEYS
from tests.scenario.documents import scenario_documents

SCHEMA = scenario_schema()
DEFS = SCHEMA["$defs"]
VALIDATOR = Draft202012Validator(SCHEMA)
SLOW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def problems_of(document: object) -> list[InputError]:
    problems: list[InputError] = []
    parse_scenario(document, problems)
    return problems


def test_the_schema_is_a_schema_of_its_draft_and_plain_json() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_fault_of_the_table_is_a_type() -> None:
    assert set(PROXY_FAULTS) < set(DEFS["fault"]["properties"]["type"]["enum"])


def test_no_setting_of_a_fault_has_the_name_of_a_common_key() -> None:
    names = {name for fault in PROXY_FAULTS.values() for name in fault.settings()}
    assert names & set(COMMON_KEYS) == set()


@SLOW
@given(scenario_documents())
def test_parser_and_schema_both_accept_every_valid_document(document: dict[str, Any]) -> None:
    assert problems_of(document) == []
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []


def places(node: Any) -> list[tuple[Any, Any]]:
    """Yield every container of a document with each of its keys or indexes."""
    if isinstance(node, dict):
        return [(node, key) for key in node] + [place for each in node.values() for place in places(each)]
    if isinstance(node, list):
        found = [(node, index) for index in range(len(node))]
        return found + [place for each in node for place in places(each)]
    return []


ODD = st.sampled_from(
    (None, True, -1, 0, 3, 0.5, "", "x", "10", "10s", "5%", [], {}, ["GET"], {"a": 1}, 10**400)
)


@SLOW
@given(scenario_documents(), st.data())
def test_whatever_the_parser_takes_the_schema_takes(document: dict[str, Any], data: st.DataObject) -> None:
    changed = copy.deepcopy(document)
    container, key = data.draw(st.sampled_from(places(changed)))
    if data.draw(st.booleans()):
        container[key] = data.draw(ODD)
    else:
        del container[key]
    if not problems_of(changed):
        assert [error.message for error in VALIDATOR.iter_errors(changed)] == []


FREE = {"headers", "segments", "body"}
"""Mappings whose keys are the user's own."""


@SLOW
@given(scenario_documents(), st.data())
def test_both_refuse_an_unknown_key_wherever_it_stands(document: dict[str, Any], data: st.DataObject) -> None:
    changed = copy.deepcopy(document)
    mappings = [changed, *_closed_mappings(changed)]
    data.draw(st.sampled_from(mappings))["unheard-of"] = 1
    assert problems_of(changed)
    assert not VALIDATOR.is_valid(changed)


def _closed_mappings(node: Any) -> list[dict[str, Any]]:
    found = []
    for container, key in places(node):
        if isinstance(container[key], dict) and key not in FREE:
            found.append(container[key])
    below_free = [place for c, k in places(node) if k in FREE for place in places({"": c[k]})]
    barred = {id(container[key]) for container, key in below_free}
    return [mapping for mapping in found if id(mapping) not in barred]


BASE: dict[str, Any] = {
    "title": "a",
    "items": [
        {
            "call": {"method": "GET", "url": "http://localhost/"},
            "context": {
                "faults": [{"type": "latency", "mean": 5}],
                "strategy": {"mode": "load", "duration": "10s", "clients": 1, "rps": 1},
                "slo": [{"type": "latency", "objective": 95, "threshold": 300}],
            },
            "expect": {"status": 200},
        }
    ],
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("title",), None),
        (("items",), []),
        (("items", 0, "call"), None),
        (("items", 0, "call", "url"), "localhost/ping"),
        (("items", 0, "call", "url"), "ftp://localhost/ping"),
        (("items", 0, "call", "timeout"), "500"),
        (("items", 0, "call", "timeout"), 0),
        (("items", 0, "call", "body"), 5),
        (("items", 0, "call", "headers"), {"X-Id": 5}),
        (("items", 0, "context", "runs_on"), {"platform": "kubernetes"}),
        (("items", 0, "context", "upstreams"), "example.com"),
        (("items", 0, "context", "strategy", "mode"), "burst"),
        (("items", 0, "context", "strategy", "duration"), "10"),
        (("items", 0, "context", "strategy", "duration"), 10),
        (("items", 0, "context", "strategy", "clients"), 0),
        (("items", 0, "context", "strategy", "rps"), -1),
        (("items", 0, "context", "strategy", "rps"), None),
        (("items", 0, "context", "strategy", "count"), 5),
        (("items", 0, "context", "faults", 0, "type"), "lattency"),
        (("items", 0, "context", "faults", 0, "mean"), -5),
        (("items", 0, "context", "faults", 0, "mean"), "5ms"),
        (("items", 0, "context", "faults", 0, "mean_ms"), 5),
        (("items", 0, "context", "faults", 0, "side"), "upstream"),
        (("items", 0, "context", "faults", 0, "probability"), 2),
        (("items", 0, "context", "faults", 0, "match"), {"path": "/x"}),
        (("items", 0, "context", "faults", 0), {"type": "bandwidth", "unit": "Mbps"}),
        (("items", 0, "context", "faults", 0), {"type": "httperror", "status_code": 99}),
        (("items", 0, "context", "faults", 0), {"type": "httperror", "side": "client"}),
        (("items", 0, "context", "slo", 0, "slo_type"), "latency"),
        (("items", 0, "context", "slo", 0, "type"), "speed"),
        (("items", 0, "context", "slo", 0, "objective"), 100),
        (("items", 0, "context", "slo", 0, "threshold"), None),
        (("items", 0, "context", "slo", 0), {"type": "error", "objective": 99, "threshold": 101}),
        (("items", 0, "context", "proxy"), {"proxies": ["9090"]}),
        (("items", 0, "expect", "status"), 99),
        (("items", 0, "expect", "all_slo_are_valid"), "yes"),
    ],
)
def test_both_refuse_the_usual_mistakes(path: tuple[Any, ...], value: object) -> None:
    assert problems_of(BASE) == []
    assert VALIDATOR.is_valid(BASE)
    changed = copy.deepcopy(BASE)
    container: Any = changed
    for key in path[:-1]:
        container = container[key]
    container[path[-1]] = value
    assert len(problems_of(changed)) == 1
    assert not VALIDATOR.is_valid(changed)
