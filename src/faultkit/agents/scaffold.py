"""Writes a first suite for a server: each of its tools meets a few faults, with shipped agents. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from faultkit.agents.suite.agent_interface import ToolInfo
from faultkit.agents.suite.definition import CommandServer, MockServer, Serving, UrlServer
from faultkit.agents.suite.gate import Requirement
from faultkit.base.documents.schema_example import smallest_value

DETECTION_MS, RECOVERY_MS = 3000, 20_000
_HEAD = """\
# A first suite, made of what the server lists. Run it with: fault test {file}
#
# Each tool meets a fault that stays, one that goes away, and, if it changes something, a lost answer. The
# agents are scripts that ship with Faultkit. Where the fault goes away, the call must succeed in the end: if
# the tool refuses its arguments (`args`), give it valid ones. Tests with `skip` call nothing
# until you remove that line. Put your own agents in their place: `model: claude-sonnet-4-5` with a
# `prompt`, or `agent: {{ command: [python, my_agent.py] }}`.
servers:
  {name}:
    {serving}
"""


def scaffold_suite(
    file: str, name: str, serving: Serving, tools: Sequence[ToolInfo], *, writes: bool = False
) -> str:
    """Return a suite file as YAML with comments.

    Tests of a live server that may write, or whose arguments are not known, are skipped with the reason.
    `writes`: tools that are not declared read-only are called as well.
    """
    faults, agents = [], []
    is_mock = isinstance(serving, MockServer)
    reads = [tool for tool in tools if tool.read_only and (is_mock or not unknown_arguments(tool))]
    for tool in tools:
        target = f"target: {{ tool: {_quote(tool.name)} }}"
        hangs, comes_back = _quote(f"{tool.name} hangs"), _quote(f"{tool.name} comes back")
        faults += [
            f"  - {{ name: {hangs}, {target}, kind: hang }}",
            f"  - {{ name: {comes_back}, {target}, kind: recover_after, failures: 1 }}",
        ]
        other = next((read for read in reads if read.name != tool.name), None)
        skip = "" if is_mock else skip_reason(tool, writes=writes)
        agents += [
            # The agent may fail here, and must say so.
            *_test(tool, "hangs", "falling_back" if other else "retrying", "honest", skip, other),
            *_test(tool, "comes back", "backing_off", "success", skip),
        ]
        if not tool.read_only:
            lost = "kind: lost_reply, trigger: { first: 1 }"
            faults.append(f"  - {{ name: {_quote(f'{tool.name} loses its answer')}, {target}, {lost} }}")
            # An agent that only retries does it twice: the report counts duplicate effects.
            agents += _test(tool, "loses its answer", "retrying", "success", skip)
    head = _HEAD.format(file=file, name=_quote(name), serving=_serving(serving))
    return "\n".join([head + "faults:", *faults, "agents:", *agents]) + "\n"


def skip_reason(tool: ToolInfo, *, writes: bool) -> str:
    """Return why a test must not call a tool of a live server as it is; empty if it may."""
    if not tool.read_only and not writes:
        return "it is not declared read-only (readOnlyHint): remove this line if it may be called"
    if unknown := unknown_arguments(tool):
        return f"TODO: give valid arguments ({', '.join(unknown)}), then remove this line"
    return ""


def unknown_arguments(tool: ToolInfo) -> list[str]:
    """Return the required arguments for which the schema names no value."""
    return [name for name, schema in _required(tool).items() if not _names_value(schema)]


def _names_value(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    return schema.get("type") == "boolean" or any(
        key in schema for key in ("const", "default", "enum", "examples")
    )


def _required(tool: ToolInfo) -> dict[str, Any]:
    """Return the schemas of the required arguments: an optional one that is made up may be refused."""
    properties, required = tool.input_schema.get("properties"), tool.input_schema.get("required")
    known = properties if isinstance(properties, Mapping) else {}
    return {name: known.get(name) for name in required} if isinstance(required, list) else {}


def _test(
    tool: ToolInfo, what: str, kind: str, require: Requirement, skip: str, other: ToolInfo | None = None
) -> list[str]:
    goal = _goal_call(tool)
    if other is not None:
        goal["fallback"] = _goal_call(other)
    name = f"{tool.name} {what}"
    limits = f"max_detection_ms: {DETECTION_MS}, max_recovery_ms: {RECOVERY_MS}"
    return [
        f"  - name: {_quote(f'{name}, and the agent copes')}",
        f"    agent: {{ kind: {kind}, goal: {json.dumps(goal, ensure_ascii=False)} }}",
        f"    inject: [{_quote(name)}]",
        f"    recovery: {{ {limits}, require: [{require}] }}",
        *([f"    skip: {_quote(skip)}"] if skip else []),
    ]


def _goal_call(tool: ToolInfo) -> dict[str, Any]:
    schema = {**tool.input_schema, "type": "object", "properties": _required(tool)}
    sample = smallest_value(schema)
    return {"tool": tool.name, "args": dict(sample) if isinstance(sample, Mapping) else {}}


def _serving(serving: Serving) -> str:
    if isinstance(serving, CommandServer):
        return f"command: {json.dumps(list(serving.argv), ensure_ascii=False)}"
    if isinstance(serving, UrlServer):
        return f"url: {_quote(serving.url)}"
    assert isinstance(serving, MockServer)
    return f"mock: {_quote(serving.tools_from)}"


def _quote(text: str) -> str:
    """Quote a text for any place in YAML, with `${` escaped."""
    return json.dumps(text.replace("${", "$${"), ensure_ascii=False)
