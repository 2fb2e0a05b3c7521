"""One run of one agent: its toolbox, the faults in front of it, and what it left as a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from faultkit.agents.execute.real import RealToolbox, real_toolbox
from faultkit.agents.execute.virtual import USUAL_PATIENCE_MS, Server, VirtualToolbox
from faultkit.agents.kinds.agent import Agent, BudgetUsedUp, LastWord, Task, ToolInfo
from faultkit.agents.model import AgentTest, Suite, SuiteServer
from faultkit.agents.recovery.trace import CallMark, Ending, Reply, Trace
from faultkit.mcp.injector import Injector
from faultkit.plan import Plan

Seed: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class AgentRun:
    """What one run left."""

    trace: Trace
    tokens: int
    """That the agent has used; 0 if it is none that thinks in tokens."""


async def run_virtually(
    suite: Suite, test: AgentTest, agent: Agent, servers: Sequence[Server], seed: Seed
) -> AgentRun:
    """In virtual time: a hang of minutes takes no time at all."""
    plan = plan_of(suite, test, seed)
    injectors = {server.name: Injector(plan, server.name) for server in servers}
    for server in servers:
        injectors[server.name].learn_tools([{"name": tool.name} for tool in server.tools])
    box = VirtualToolbox(servers, injectors, test.budget, patience_ms(test))
    return await _run(test, agent, box, seed)


async def run_really(
    suite: Suite, test: AgentTest, agent: Agent, tools: Sequence[ToolInfo], seed: Seed, scale: float
) -> AgentRun:
    """Against live servers, with everything waiting as long as it says; `scale` times as fast."""
    plan, servers = plan_of(suite, test, seed), servers_of(suite, test)
    async with real_toolbox(servers, tools, plan, test.budget, patience_ms(test), scale) as box:
        return await _run(test, agent, box, seed)


async def _run(test: AgentTest, agent: Agent, box: VirtualToolbox | RealToolbox, seed: Seed) -> AgentRun:
    word: LastWord | None = None
    ending: Ending = "reply"
    try:
        word = await agent.run(task_of(test, seed), box)
    except BudgetUsedUp as used_up:
        ending = used_up.ending
    reply = None if word is None else Reply(word.text, box.now_ms(), word.claims_success)
    calls = tuple(box.marks)
    trace = Trace(calls, reply, ending, _succeeded(calls, word), tuple(box.spent.overruns))
    return AgentRun(trace, box.spent.tokens)


def task_of(test: AgentTest, seed: Seed) -> Task:
    return Task(test.prompt, test.system_prompt, f"{seed}/{test.name}")


def servers_of(suite: Suite, test: AgentTest) -> list[SuiteServer]:
    return [server for server in suite.servers if server.name in test.servers]


def patience_ms(test: AgentTest) -> float:
    return USUAL_PATIENCE_MS if test.recovery is None else float(test.recovery.max_detection_ms)


def plan_of(suite: Suite, test: AgentTest, seed: Seed) -> Plan:
    """The faults that this test injects, as rules of one plan."""
    known = {fault.name: fault.rule for fault in suite.faults}
    return Plan(tuple(known[name] for name in test.inject), seed)


def _succeeded(calls: Sequence[CallMark], word: LastWord | None) -> bool | None:
    """What the ledger says goes before what the agent was told: an answer may be lost behind the deed."""
    if word is None or word.done is None:
        return None
    return word.done or any(call.effect and call.failed for call in calls)
