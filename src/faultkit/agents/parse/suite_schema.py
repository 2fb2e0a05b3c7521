"""JSON Schema (draft 2020-12) of a suite file, for editors: the tables of keys put together.

The schema accepts everything that the parser accepts, except variables in place of a list or mapping.
Mistakes that only other parts of a suite or its servers show (a name that is not declared, a missing tool)
are left to the parser.
"""

from __future__ import annotations

from typing import Any

from faultkit.agents.matchers.matcher_table import MATCHERS
from faultkit.agents.parse.suite_agents import PLANNED_CALL, agent_schema
from faultkit.agents.parse.suite_contents import SUITE
from faultkit.agents.parse.suite_faults import FAULT_SPEC, TARGET, fault_table
from faultkit.agents.parse.suite_servers import PROVIDER, SERVER
from faultkit.agents.parse.suite_tests import AGENT_TEST, TOOL_TEST, one_matcher_schema
from faultkit.base.documents.key_tables import Schema, chosen_by, schema_of
from faultkit.base.documents.values import TEXT_SCHEMA
from faultkit.base.documents.variables import NAME
from faultkit.faults import CALL_FAULTS
from faultkit.mcp.fault_specs import ALIASES, FORM
from faultkit.plan import plan_schema

_VARIABLE: Schema = {"type": "string", "pattern": rf"^\$\{{{NAME}(:-[^}}]*)?\}}$"}
_SCALARS = {"integer", "number", "boolean"}
_AS_THEY_ARE = ("if", "not", "enum", "const", "default", "required", "examples")


def suite_schema() -> Schema:
    """Return the JSON Schema of suite files."""
    schema: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Faultkit suite",
        **schema_of(SUITE),
        "$defs": _definitions(),
    }
    filled: Schema = _with_variables(schema)
    return filled


def _definitions() -> Schema:
    shared: Any = plan_schema()["$defs"]
    kinds = {word: f"fault-{kind}" for kind in CALL_FAULTS for word in (kind, kind.replace("_", "-"))}
    kinds |= {word: f"fault-{kind}" for word, kind in ALIASES.items()}
    return {
        "server": schema_of(SERVER),
        "provider": schema_of(PROVIDER),
        "fault": {
            "anyOf": [
                {**TEXT_SCHEMA, "description": FORM},
                schema_of(FAULT_SPEC),
                chosen_by("kind", kinds),
            ]
        },
        **{f"fault-{kind}": schema_of(fault_table(kind)) for kind in CALL_FAULTS},
        **{f"with-{kind}": shared[f"with-{kind}"] for kind in CALL_FAULTS},
        "target": schema_of(TARGET),
        "trigger": shared["trigger"],
        "schedule": shared["schedule"],
        "period": shared["period"],
        "agent": agent_schema(),
        "errand": schema_of(PLANNED_CALL),
        "agent-test": schema_of(AGENT_TEST),
        "tool-test": schema_of(TOOL_TEST),
        "matcher": one_matcher_schema(
            {name: each.schema for name, each in MATCHERS.items() if name != "snapshot"}
        ),
    }


def _with_variables(schema: Any) -> Any:
    """Return the schema in which a variable may stand for each number, boolean and word."""
    if isinstance(schema, list):
        return [_with_variables(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: each if key in _AS_THEY_ARE else _with_variables(each) for key, each in schema.items()}
    types = schema.get("type")
    named = {types} if isinstance(types, str) else set(types) if isinstance(types, list) else set()
    if "string" not in named and (named & _SCALARS or isinstance(schema.get("enum"), list)):
        described = {key: inner.pop(key) for key in ("description", "default") if key in inner}
        return {**described, "anyOf": [inner, _VARIABLE]}
    return inner
