"""The list of tools is small, and its output schemas accept what the declared ones accept."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import pytest
from jsonschema import Draft202012Validator
from mcp.client.client import Client

from faultkit.agent_tools.listed_schemas import listed_output
from faultkit.agent_tools.mcp_server import make_server
from faultkit.agent_tools.tool import Services
from faultkit.agent_tools.tool_catalog import AGENT_TOOLS
from faultkit.agent_tools.tool_runner import ToolRunner
from faultkit.llm.model_settings import llm_settings

MOST_BYTES = 40_000
"""Of the whole list, which takes part of every conversation of a model that has the tools."""
MOST_BYTES_OF_ONE = 3_600


def sizes() -> dict[str, int]:
    """Return the bytes of each tool in the list, with a model, as the server sends it."""

    async def listed() -> list[types.Tool]:
        services = Services(llm_settings({"OPENAI_API_KEY": "sk-1"}))
        async with Client(make_server(ToolRunner(services), AGENT_TOOLS), mode="legacy") as client:
            return (await client.list_tools()).tools

    return {
        each.name: len(each.model_dump_json(by_alias=True, exclude_none=True).encode())
        for each in anyio.run(listed)
    }


def test_the_list_of_all_tools_is_at_most_40_kb() -> None:
    found = sizes()
    total = sum(found.values()) + len(found)
    largest = sorted(found.items(), key=lambda each: -each[1])
    too_large = [f"{name} has {size}" for name, size in largest if size > MOST_BYTES_OF_ONE]
    assert not too_large, f"expected at most {MOST_BYTES_OF_ONE} bytes a tool: {', '.join(too_large)}"
    assert total <= MOST_BYTES, (
        f"tools/list has {total} bytes, {total - MOST_BYTES} too many; the largest are "
        f"{', '.join(f'{name} ({size})' for name, size in largest[:6])}"
    )


@pytest.mark.parametrize("tool", AGENT_TOOLS.values(), ids=lambda tool: tool.name)
def test_a_listed_schema_names_every_member_of_a_result(tool: Any) -> None:
    listed = listed_output(tool.output)
    Draft202012Validator.check_schema(listed)
    assert list(listed["properties"]) == list(tool.output["properties"])
    for name, each in listed["properties"].items():
        full = tool.output["properties"][name]
        assert each.get("type") == full.get("type")
        assert len(each.get("anyOf", ())) == len(full.get("anyOf", ()))


def test_a_listed_schema_has_types_and_nothing_else() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    full = {
        "type": "object",
        "properties": {
            "word": {"type": "string", "enum": ["x", "y"], "description": "One of them."},
            "share": {"type": "number", "minimum": 0, "maximum": 1},
            "inner": {"anyOf": [inner, {"type": "null"}], "description": "Or none."},
            "list": {"type": "array", "items": inner},
            "words": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["word", "share"],
        "additionalProperties": False,
    }
    assert listed_output(full) == {
        "type": "object",
        "properties": {
            "word": {"type": "string"},
            "share": {"type": "number"},
            "inner": {"anyOf": [{"type": "object"}, {"type": "null"}]},
            "list": {"type": "array"},
            "words": {"type": "array"},
        },
    }
