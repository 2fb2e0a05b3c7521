"""One run of one agent: its toolbox, the faults in front of it, and what it left as a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from faultkit.mcp.injector import Injector
from faultkit.plan import Plan
from faultkit.recovery.trace import CallMark, Ending, Reply, Trace
from faultkit.suites.agents.agent import Agent, BudgetUsedUp, LastWord, Task
from faultkit.suites.execute.virtual import USUAL_PATIENCE_MS, Server, VirtualToolbox
from faultkit.suites.model import AgentTest, Suite

Seed: TypeAlias = int | str


async def run_virtually(
    suite: Suite, test: AgentTest, agent: Agent, servers: Sequence[Server], seed: Seed
) -> Trace:
    """In virtual time: a hang of minutes takes no time at all."""
    patience_ms = USUAL_PATIENCE_MS if test.recovery is None else float(test.recovery.max_detection_ms)
    plan = plan_of(suite, test, seed)
    injectors = {server.name: Injector(plan, server.name) for server in servers}
    for server in servers:
        injectors[server.name].learn_tools([{"name": tool.name} for tool in server.tools])
    box = VirtualToolbox(servers, injectors, test.budget, patience_ms)
    task = Task(test.prompt, test.system_prompt, f"{seed}/{test.name}")
    word: LastWord | None = None
    ending: Ending = "reply"
    try:
        word = await agent.run(task, box)
    except BudgetUsedUp as used_up:
        ending = used_up.ending
    reply = None if word is None else Reply(word.text, box.now_ms(), word.claims_success)
    calls = tuple(box.marks)
    return Trace(calls, reply, ending, _succeeded(calls, word), tuple(box.spent.overruns))


def plan_of(suite: Suite, test: AgentTest, seed: Seed) -> Plan:
    """The faults that this test injects, as rules of one plan."""
    known = {fault.name: fault.rule for fault in suite.faults}
    return Plan(tuple(known[name] for name in test.inject), seed)


def _succeeded(calls: Sequence[CallMark], word: LastWord | None) -> bool | None:
    """What the ledger says goes before what the agent was told: an answer may be lost behind the deed."""
    if word is None or word.done is None:
        return None
    return word.done or any(call.effect and call.failed for call in calls)
