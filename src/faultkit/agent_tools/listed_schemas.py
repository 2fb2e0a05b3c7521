"""The schemas of arguments and results that `tools/list` contains. Pure.

A host puts the list of tools into its model's context, so that each byte of it costs every conversation. The
declarations describe results in full, and tests validate results against them. The list has the names and
types of a result's members: a client can validate with it, and a result explains itself when it comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.agent_tools.tool import REQUIRED, Tool

_KEPT = ("type", "const")
"""Keywords of a result's member that are listed as they are."""


def input_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments."""
    return {
        "type": "object",
        "properties": {each.name: dict(each.schema) for each in tool.arguments},
        "required": [each.name for each in tool.arguments if each.default is REQUIRED],
        "additionalProperties": False,
        **tool.rules,
    }


def listed_output(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a result for the list. It accepts everything that `schema` accepts."""
    properties = {name: _listed_member(each) for name, each in schema.get("properties", {}).items()}
    return {"type": "object", "properties": properties}


def _listed_member(schema: Mapping[str, Any]) -> dict[str, Any]:
    listed = {keyword: schema[keyword] for keyword in _KEPT if keyword in schema}
    if "anyOf" in schema:
        listed["anyOf"] = [_listed_member(each) for each in schema["anyOf"]]
    return listed
