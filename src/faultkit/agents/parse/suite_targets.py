"""Whether a test can meet the faults that it injects: their targets, checked against the servers. Pure.

The tools of a mock are known when a suite is read. Those of other servers are known once the servers have
listed them: the runner then calls `missed_targets` again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from faultkit.agents.suite.definition import (
    AgentTest,
    MockServer,
    ScriptAgent,
    ShippedAgent,
    Suite,
    SuiteExpectation,
    SuiteFault,
    SuiteServer,
    ToolTest,
)
from faultkit.base.documents.checks import advice, shown
from faultkit.base.errors import InputError
from faultkit.mcp.targets import Inventory, Target, targets_of

_UNKNOWN = Inventory()
_OF_THE_ANSWER = ("result", "error")


def missed_targets(suite: Suite, listed: Mapping[str, Inventory]) -> list[InputError]:
    """Return an error for each call of a missing tool and each injected fault that its test cannot meet.

    `listed` is what running servers have."""
    has = {**inventories(suite.servers), **listed}
    faults = {fault.name: fault for fault in suite.faults}
    tests: list[AgentTest | ToolTest] = [*suite.agents, *suite.tools]
    found: list[InputError] = []
    for test in tests:
        if test.skip:
            continue
        missed = [f"{path}: {problem}" for path, problem in missing_tools(test, has)]
        for name in () if missed or test.allow_unhit else test.inject:
            problem = missed_by(faults[name], test, has)
            if problem is not None:
                missed.append(f"inject {name}: {problem}")
        place = f"{test.place.file}: line {test.place.line}: {test.name}"
        found += [InputError(place, problem) for problem in missed]
    return found


def missing_tools(test: AgentTest | ToolTest, has: Mapping[str, Inventory]) -> list[tuple[str, str]]:
    """Return the path and the problem of each call in the test whose tool none of its servers has.

    Nothing is reported while the tools of one of its servers are unknown."""
    own = test.servers if isinstance(test, AgentTest) else (test.server,)
    listed = [has[name].tools for name in own if name in has]
    if not listed or None in listed:
        return []
    tools = [tool for names in listed if names is not None for tool in names]
    known = "no server of this test has a tool"
    return [
        (path, f"no tool is named {shown(tool)}; {advice(tool, tools) if tools else known}")
        for path, tool in _calls_of(test)
        if tool and tool not in tools
    ]


def is_of_the_answer(expectation: SuiteExpectation) -> bool:
    """Return whether it is about the answer of a call, not about its duration."""
    return expectation.target.startswith(_OF_THE_ANSWER)


def _calls_of(test: AgentTest | ToolTest) -> list[tuple[str, str]]:
    if isinstance(test, ToolTest):
        # A test that expects an error may call a missing tool on purpose.
        is_refused = any(each.target.startswith("error") for each in test.expect)
        return [] if is_refused else [("tool", test.tool)]
    agent = test.agent
    if isinstance(agent, ShippedAgent) and agent.goal is not None:
        goal = agent.goal
        calls = (goal.call, goal.fallback, goal.verify)
        return [("agent.goal", call.tool) for call in calls if call is not None]
    if isinstance(agent, ScriptAgent):
        return [
            (f"agent.script[{index}]{key}", call.tool)
            for index, step in enumerate(agent.script.steps)
            for key, call in (("", step.call), (".verify", step.verify), (".fallback", step.fallback))
            if call is not None
        ]
    return []


def inventories(servers: Sequence[SuiteServer]) -> dict[str, Inventory]:
    """Return what each server is known to have, by its name."""
    return {server.name: _inventory(server) for server in servers}


def _inventory(server: SuiteServer) -> Inventory:
    serving = server.serving
    if isinstance(serving, MockServer) and serving.source is not None:
        return serving.source.inventory
    return _UNKNOWN


def problems_of(fault: SuiteFault, has: Mapping[str, Inventory]) -> Iterator[InputError]:
    """Yield an error for each target of a fault that no server of the suite has, with paths of a rule."""
    wanted = fault.rule.match.server
    servers = _covered(fault, has)
    if not servers:
        if wanted is not None and has:
            yield InputError("match.server", Target("match.server", "server", wanted).missed(has))
        elif wanted is not None:
            yield InputError("match.server", f'no server is named "{wanted}": the suite has none')
        return
    for target in targets_of(fault.rule):
        names = _names(target, [has[name] for name in servers])
        if names is not None and not target.is_among(names):
            yield InputError(target.path, target.missed(names))


def missed_by(fault: SuiteFault, test: AgentTest | ToolTest, has: Mapping[str, Inventory]) -> str | None:
    """Return why no call of the test can meet the fault; None if one can."""
    own = test.servers if isinstance(test, AgentTest) else (test.server,)
    known = {name: has[name] for name in own if name in has}
    if not known:
        return None
    servers = _covered(fault, known)
    if not servers:
        wanted = fault.rule.match.server
        return f'it is aimed at the server "{wanted}", and this test has {", ".join(own)}'
    for target in targets_of(fault.rule):
        names = _names(target, [known[name] for name in servers])
        if names is not None and not target.is_among(names):
            return f"none of the servers of this test can meet it: {target.missed(names)}"
    match = fault.rule.match
    if isinstance(test, ToolTest) and match.tool is not None and not fnmatchcase(test.tool, match.tool):
        return f'it is aimed at the tool "{match.tool}", and this test calls "{test.tool}"'
    return None


def _covered(fault: SuiteFault, has: Mapping[str, Inventory]) -> list[str]:
    glob = fault.rule.match.server
    return [name for name in has if glob is None or fnmatchcase(name, glob)]


def _names(target: Target, servers: Sequence[Inventory]) -> list[str] | None:
    """Return the names of all these servers; None if those of one of them are unknown."""
    found: list[str] = []
    for server in servers:
        names = server.names(target.noun)
        if names is None:
            return None
        found += names
    return found
