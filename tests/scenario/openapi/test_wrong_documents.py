"""Malformed documents: they give scenarios that parse, or an error that names the mistake."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.errors import InputError
from faultkit.scenario.openapi.openapi_document import Spec, read_spec, source_of
from faultkit.scenario.openapi.operations import operations_of
from faultkit.scenario.openapi.templates import TEMPLATES, scenario_document
from faultkit.scenario.scenario_keys import parse_scenario
from tests.scenario.openapi.documents import SPECS, operation, spec_of

Place = tuple[str | int, ...]

JUNK: list[Any] = [
    *(None, True, False, 5, -1, 1.5, 10**30, 1e300),
    *("", "x", "/", "{x}", "#/nope", "\0", "a\nb", "ö", "(((", "string", "array"),
    *([], [1], ["x", "x"], ["null"], {}, {"a": 1}, {"$ref": 5}),
    *({"$ref": f"#/components/schemas/{name}"} for name in ("Book", "Order")),
]


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        yield (*here, key)
        yield from places(each, (*here, key))


WHOLE = [read_spec(source_of(str(SPECS / name))) for name in ("library.yaml", "orders.json")]
PLACES = [(spec, place) for spec in WHOLE for place in places(spec.document)]


@given(st.sampled_from(PLACES), st.sampled_from(JUNK), st.sampled_from([0, 1]))
def test_junk_in_one_place_does_no_harm(where: tuple[Spec, Place], junk: Any, minor: int) -> None:
    spec, place = where
    document = copy.deepcopy(spec.document)
    holder: Any = document
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = copy.deepcopy(junk)
    try:
        operations = operations_of(Spec(spec.source, document, minor))
    except InputError:
        return
    problems: list[InputError] = []
    for each in operations:
        parse_scenario(scenario_document(TEMPLATES[0], each), problems)
    assert problems == []


def test_a_way_that_leads_through_itself_is_an_error() -> None:
    paths = {"/a": {"$ref": "#/paths/~1a/x"}}
    with pytest.raises(InputError, match="leads back to itself"):
        operations_of(spec_of({"paths": paths}))


def test_names_that_no_header_can_have_are_left_out() -> None:
    parameters = [{"name": "not a name", "in": "header", "required": True, "schema": {}}]
    schemes = {"securitySchemes": {"k": {"type": "apiKey", "in": "header", "name": "a:b"}}}
    call = operation({"parameters": parameters, "security": [{"k": []}]}, components=schemes)
    assert (call.headers, call.config_headers) == ({}, {})


def test_an_operation_id_is_one_line_of_what_can_be_seen() -> None:
    assert operation({"operationId": "a\0b\n c"}).operation_id == "a b c"
