"""Injected faults that no run of a test met, and why: the message of a test that is not exercised. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from faultkit.agents.execute.virtual_toolbox import METHOD
from faultkit.agents.recovery.trace import Trace
from faultkit.agents.suite.definition import AgentTest, CommandAgent, Suite, UrlServer
from faultkit.agents.suite.gate import NOT_EXERCISED
from faultkit.base.errors import InputError
from faultkit.base.text import and_list
from faultkit.faults.call_fault import CallFault, Transport
from faultkit.faults.llm_fault import LlmFault
from faultkit.mcp.injector import check_plan
from faultkit.plan import Plan, Rule

_PROGRAM = "a test whose agent is a program (`agent: {command: …}`) can meet it"


def unmet_message(suite: Suite, test: AgentTest, traces: Iterable[Trace]) -> str:
    """Return which injected faults acted in none of these runs, and why they could not; empty if all did."""
    met = frozenset(name for trace in traces for name in trace.met_faults)
    unmet = [name for name in test.inject if name not in met]
    if not unmet:
        return ""
    message = f"not exercised: no call met {and_list(unmet)}" if met else NOT_EXERCISED
    rules = {fault.name: fault.rule for fault in suite.faults}
    reasons = [f"{name}: {reason}" for name in unmet if (reason := _reason(rules[name], suite, test))]
    return "; ".join([message, *reasons])


def _reason(rule: Rule, suite: Suite, test: AgentTest) -> str:
    """Return why a fault cannot act on the calls of a test; empty if it could have."""
    fault = rule.fault
    if isinstance(fault, LlmFault):
        return f"no request to the model met it, or none in which {fault.kind} has something to change"
    assert isinstance(fault, CallFault)
    if isinstance(test.agent, CommandAgent):
        return ""
    only = fault.fitting_methods()
    globs = rule.match.call_methods(only or fault.methods)
    if not any(fnmatchcase(METHOD, glob) for glob in globs) or (only and METHOD not in only):
        return f"{fault.kind} does not act on {METHOD}, and scripts and models only call tools; {_PROGRAM}"
    servers = [server for server in suite.servers if server.name in test.servers]
    for server in servers:
        transport: Transport = "http" if isinstance(server.serving, UrlServer) else "stdio"
        try:
            check_plan(Plan((rule,)), transport, ("legacy",))
            return ""
        except InputError as error:
            problem = error.problem
    return f"{problem}; {_PROGRAM}" if servers else ""
