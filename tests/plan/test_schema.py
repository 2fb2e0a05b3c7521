"""The JSON Schema of a plan agrees with the parser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from faultkit.base.documents.key_tables import KeyTable
from faultkit.faults import FAULTS
from faultkit.plan import Match, Period, Rule, Trigger, plan_schema
from faultkit.plan.plan_keys import MATCH, RULE, TRIGGER
from faultkit.plan.schedule import PERIOD

SCHEMA: dict[str, Any] = plan_schema()
DEFS: dict[str, Any] = SCHEMA["$defs"]


def test_the_schema_is_plain_json_of_its_draft() -> None:
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(
    ("cls", "keys"), [(Match, MATCH), (Trigger, TRIGGER), (Period, PERIOD), (Rule, RULE)]
)
def test_the_keys_are_the_fields_of_the_values(cls: type, keys: KeyTable) -> None:
    # `with` holds the settings of the fault, which is a field of its own in the value.
    assert {f.name for f in fields(cls)} == set(keys.names) - {"with"}


def test_every_fault_of_the_table_has_its_settings_in_the_schema() -> None:
    assert DEFS["rule"]["properties"]["fault"] == {"enum": list(FAULTS)}
    assert len(DEFS["rule"]["allOf"]) == len(FAULTS)
    for (kind, fault), branch in zip(FAULTS.items(), DEFS["rule"]["allOf"], strict=True):
        assert branch["if"]["properties"]["fault"] == {"const": kind}
        assert branch["then"]["properties"]["with"] == {"$ref": f"#/$defs/with-{kind}"}
        assert set(DEFS[f"with-{kind}"]["properties"]) == set(fault.settings())


NO_MODEL = {"model": False, "streamed": False, "tool_use": False}
NO_MESSAGE = {"flow": False, "message": False}
NO_CALL = {"server": False, "tool": False, "resource": False, "prompt": False}


@pytest.mark.parametrize(
    ("kind", "barred"),
    [
        (
            "latency",
            {
                "method": False,
                "path": False,
                "headers": False,
                "status": False,
                **NO_MESSAGE,
                **NO_CALL,
                **NO_MODEL,
            },
        ),
        (
            "http_error",
            {
                "status": False,
                "side": {"const": "server"},
                "direction": {"const": "ingress"},
                **NO_MESSAGE,
                **NO_CALL,
                **NO_MODEL,
            },
        ),
        (
            "http_cut",
            {
                "side": {"const": "server"},
                "direction": {"const": "ingress"},
                **NO_MESSAGE,
                **NO_CALL,
                **NO_MODEL,
            },
        ),
        (
            "ws_drop",
            {
                "status": False,
                "side": {"const": "server"},
                "direction": {"const": "ingress"},
                **NO_CALL,
                **NO_MODEL,
            },
        ),
        (
            "ws_ping_silence",
            {
                "status": False,
                "side": {"const": "server"},
                "direction": {"const": "ingress"},
                "message": False,
                **NO_CALL,
                **NO_MODEL,
            },
        ),
        (
            "hang",
            {
                "proxy": {"const": "*"},
                "path": False,
                "headers": False,
                "status": False,
                "side": {"const": "server"},
                "direction": {"const": "ingress"},
                **NO_MESSAGE,
                **NO_MODEL,
            },
        ),
        (
            "clean_end",
            {
                "status": False,
                "side": {"const": "server"},
                "direction": {"const": "ingress"},
                **NO_MESSAGE,
                **NO_CALL,
            },
        ),
        (
            "refuse",
            {
                "method": False,
                "path": False,
                "headers": False,
                "status": False,
                "side": {"const": "server"},
                "direction": {"const": "ingress"},
                **NO_MESSAGE,
                **NO_CALL,
                **NO_MODEL,
            },
        ),
    ],
)
def test_conditions_that_a_level_cannot_mind_are_barred(kind: str, barred: dict[str, object]) -> None:
    branch = DEFS["rule"]["allOf"][list(FAULTS).index(kind)]
    assert branch["then"]["properties"]["match"] == {"properties": barred}


def test_only_faults_of_calls_may_come_in_bursts() -> None:
    branches = dict(zip(FAULTS, DEFS["rule"]["allOf"], strict=True))
    assert branches["latency"]["then"]["properties"]["trigger"] == {"properties": {"burst": {"const": 1}}}
    assert "trigger" not in branches["hang"]["then"]["properties"]


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for child in node.values():
            yield from references(child)
    elif isinstance(node, list):
        for child in node:
            yield from references(child)


def test_every_reference_leads_somewhere() -> None:
    found = set(references(SCHEMA))
    assert found == {f"#/$defs/{name}" for name in DEFS}
