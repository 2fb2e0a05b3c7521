"""Writes a first suite for a server: each of its tools meets a few faults, with shipped agents. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from faultkit.agents.suite.agent_interface import ToolInfo
from faultkit.agents.suite.definition import CommandServer, MockServer, Serving, UrlServer
from faultkit.base.documents.schema_example import smallest_value

DETECTION_MS, RECOVERY_MS = 3000, 20_000
_HEAD = """\
# A first suite, made of what the server lists. Run it with: fault test {file}
#
# Each tool meets a fault that stays, one that goes away, and, if it changes something, a lost answer. The
# agents are scripts that ship with Faultkit. Put your own in their place: `model: claude-sonnet-4-5` with a
# `prompt`, or `agent: {{ command: [python, my_agent.py] }}`.
servers:
  {name}:
    {serving}
"""


def scaffold_suite(file: str, name: str, serving: Serving, tools: Sequence[ToolInfo]) -> str:
    """Return a suite file as YAML with comments."""
    faults, agents = [], []
    reads = [tool for tool in tools if tool.read_only]
    for tool in tools:
        target = f"target: {{ tool: {_quote(tool.name)} }}"
        hangs, comes_back = _quote(f"{tool.name} hangs"), _quote(f"{tool.name} comes back")
        faults += [
            f"  - {{ name: {hangs}, {target}, kind: hang }}",
            f"  - {{ name: {comes_back}, {target}, kind: recover_after, failures: 1 }}",
        ]
        other = next((read for read in reads if read.name != tool.name), None)
        agents += [
            *_test(tool, "hangs", "falling_back" if other else "retrying", other),
            *_test(tool, "comes back", "backing_off"),
        ]
        if not tool.read_only:
            lost = "kind: lost_reply, trigger: { first: 1 }"
            faults.append(f"  - {{ name: {_quote(f'{tool.name} loses its answer')}, {target}, {lost} }}")
            # An agent that only retries does it twice: `fault test --json` counts duplicate_effects.
            agents += _test(tool, "loses its answer", "retrying")
    head = _HEAD.format(file=file, name=_quote(name), serving=_serving(serving))
    return "\n".join([head + "faults:", *faults, "agents:", *agents]) + "\n"


def _test(tool: ToolInfo, what: str, kind: str, other: ToolInfo | None = None) -> list[str]:
    goal = _goal_call(tool)
    if other is not None:
        goal["fallback"] = _goal_call(other)
    name = f"{tool.name} {what}"
    return [
        f"  - name: {_quote(f'{name}, and the agent copes')}",
        f"    agent: {{ kind: {kind}, goal: {json.dumps(goal, ensure_ascii=False)} }}",
        f"    inject: [{_quote(name)}]",
        f"    recovery: {{ max_detection_ms: {DETECTION_MS}, max_recovery_ms: {RECOVERY_MS} }}",
    ]


def _goal_call(tool: ToolInfo) -> dict[str, Any]:
    sample = smallest_value(tool.input_schema)
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
