"""Which agent stands for what a test names."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from faultkit.agents.execute.options import Options
from faultkit.agents.kinds.agent import Agent, ToolInfo
from faultkit.agents.kinds.choose import Chosen, ModelOptions, model_agent
from faultkit.agents.kinds.scripted import ScriptedAgent
from faultkit.agents.kinds.shipped import SHIPPED, Goal
from faultkit.agents.kinds.step import Errand
from faultkit.agents.model import AgentTest, CommandAgent, ModelAgent, ScriptAgent, ShippedAgent, Suite
from faultkit.base.errors import InputError
from faultkit.mcp.mock.sample import sample_of


def agent_of(suite: Suite, test: AgentTest, tools: Sequence[ToolInfo], options: Options) -> Chosen:
    """For one run. InputError: there is no key, no cassette, or nothing that a shipped agent could call."""
    spec = test.agent
    assert not isinstance(spec, CommandAgent), "a program is no agent of ours"
    if isinstance(spec, ModelAgent):
        return model_agent(suite, test, options.env, ModelOptions(options.record, options.allow_stub))
    return Chosen(_scripted(suite, test, spec, tools), "script")


def _scripted(
    suite: Suite, test: AgentTest, spec: ShippedAgent | ScriptAgent, tools: Sequence[ToolInfo]
) -> Agent:
    if isinstance(spec, ScriptAgent):
        return ScriptedAgent(spec.script)
    return ScriptedAgent(SHIPPED[spec.kind](spec.goal or usual_goal(suite, test, tools)))


def usual_goal(suite: Suite, test: AgentTest, tools: Sequence[ToolInfo]) -> Goal:
    """The first tool that an injected fault is aimed at, and another one to fall back on."""
    rules = [fault.rule for fault in suite.faults if fault.name in test.inject]
    aimed = [tool for tool in tools if any(fnmatchcase(tool.name, rule.match.tool or "*") for rule in rules)]
    if not tools:
        raise InputError(test.name, "expected a server with tools, got none that an agent could call")
    first = (aimed or list(tools))[0]
    others = [tool for tool in tools if tool.name != first.name and tool not in aimed]
    return Goal(_errand(first), fallback=_errand(others[0]) if others else None)


def _errand(tool: ToolInfo) -> Errand:
    sample = sample_of(tool.input_schema)
    return Errand(tool.name, sample if isinstance(sample, dict) else {})
