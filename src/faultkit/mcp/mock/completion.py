"""Completion of prompt arguments and of template variables from the values that a manifest lists. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.base.documents.checks import shown
from faultkit.mcp.mock.mock_model import JsonRpcError, MockPrompt, MockTemplate
from faultkit.mcp.wire.message import INVALID_PARAMS

_MOST_VALUES = 100
"""Values in one result (MCP 2025-11-25, Completion, Completion Results)."""


def complete(
    params: Mapping[str, Any], prompts: Mapping[str, MockPrompt], templates: Mapping[str, MockTemplate]
) -> dict[str, Any] | JsonRpcError:
    """Return the result of `completion/complete`: the listed values that begin with the given one.

    `prompts` are keyed by name, `templates` by URI template."""
    ref, argument = _mapping(params.get("ref")), _mapping(params.get("argument"))
    owner: MockPrompt | MockTemplate | None = None
    if ref.get("type") == "ref/prompt":
        owner = prompts.get(str(ref.get("name")))
    elif ref.get("type") == "ref/resource":
        owner = templates.get(str(ref.get("uri")))
    else:
        return _refusal(f"ref.type: expected ref/prompt or ref/resource, got {shown(ref.get('type'))}")
    if owner is None:
        what, key = ("prompt", "name") if ref["type"] == "ref/prompt" else ("template", "uri")
        return _refusal(f"ref.{key}: expected a {what} of the mock, got {shown(ref.get(key))}")
    name, begun = argument.get("name"), argument.get("value")
    if name not in owner.argument_names:
        known = ", ".join(owner.argument_names) or "none"
        return _refusal(f"argument.name: expected one of {known}, got {shown(name)}")
    if not isinstance(begun, str):
        return _refusal(f"argument.value: expected a text, got {shown(begun)}")
    fitting = [value for value in owner.completions.get(str(name), ()) if value.startswith(begun)]
    values = fitting[:_MOST_VALUES]
    return {"completion": {"values": values, "total": len(fitting), "hasMore": len(fitting) > len(values)}}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _refusal(problem: str) -> JsonRpcError:
    return JsonRpcError(INVALID_PARAMS, f"Invalid params: {problem}")
