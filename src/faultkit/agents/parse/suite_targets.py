"""Whether a test can meet the faults that it injects: their targets, checked against the servers. Pure.

The tools of a mock are known when a suite is read. Those of other servers are known once the servers have
listed them: the runner then calls `missed_targets` again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from faultkit.agents.kinds.script_model import SCRIPT_MODEL
from faultkit.agents.suite.definition import (
    CommandAgent,
    MockServer,
    ModelAgent,
    ScriptAgent,
    ShippedAgent,
    Suite,
    SuiteFault,
    SuiteServer,
    SuiteTest,
    ToolTest,
)
from faultkit.base.documents.checks import advice, shown
from faultkit.base.errors import InputError
from faultkit.mcp.targets import Inventory, Target, targets_of

_UNKNOWN = Inventory()


def missed_targets(suite: Suite, listed: Mapping[str, Inventory]) -> list[InputError]:
    """Return an error for each call of a missing tool and each injected fault that its test cannot meet.

    `listed` are the inventories of running servers.
    """
    has = {**inventories(suite.servers), **listed}
    faults = {fault.name: fault for fault in suite.faults}
    tests: list[SuiteTest] = [*suite.agents, *suite.tools]
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


def missing_tools(test: SuiteTest, has: Mapping[str, Inventory]) -> list[tuple[str, str]]:
    """Return the path and the problem of each call in the test whose tool none of its servers has.

    Nothing is reported while the tools of one of its servers are unknown.
    """
    listed = [has[name].tools for name in test.server_names if name in has]
    if not listed or None in listed:
        return []
    tools = [tool for names in listed if names is not None for tool in names]
    no_tools = "no server of this test has a tool"
    return [
        (path, f"no tool is named {shown(tool)}; {advice(tool, tools) if tools else no_tools}")
        for path, tool in _calls_of(test)
        if tool and tool not in tools
    ]


def _calls_of(test: SuiteTest) -> list[tuple[str, str]]:
    """Return the path and the tool of each call that a test is known to make."""
    if isinstance(test, ToolTest):
        # A test that expects an error may call a missing tool on purpose.
        expects_error = any(each.target.startswith("error") for each in test.expect)
        return [] if expects_error or test.method else [("tool", test.tool)]
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
    """Return the known inventory of each server, by its name."""
    found: dict[str, Inventory] = {}
    for server in servers:
        source = server.serving.source if isinstance(server.serving, MockServer) else None
        found[server.name] = _UNKNOWN if source is None else source.inventory
    return found


def target_problems(fault: SuiteFault, has: Mapping[str, Inventory]) -> Iterator[InputError]:
    """Yield an error for each target of a fault that no server of the suite has, with paths of a rule."""
    if fault.is_of_model:
        return
    wanted = fault.rule.match.server
    servers = _servers_hit_by(fault, has)
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


def missed_by(fault: SuiteFault, test: SuiteTest, has: Mapping[str, Inventory]) -> str | None:
    """Return why no call of the test can meet the fault; None if one can."""
    if fault.is_of_model:
        return _missed_by_model(fault, test)
    known = {name: has[name] for name in test.server_names if name in has}
    if not known:
        return None
    servers = _servers_hit_by(fault, known)
    if not servers:
        wanted = fault.rule.match.server
        return f'it is aimed at the server "{wanted}", and this test has {", ".join(test.server_names)}'
    for target in targets_of(fault.rule):
        names = _names(target, [known[name] for name in servers])
        if names is not None and not target.is_among(names):
            return f"none of the servers of this test can meet it: {target.missed(names)}"
    match = fault.rule.match
    if isinstance(test, ToolTest) and match.tool is not None and not fnmatchcase(test.tool, match.tool):
        return f'it is aimed at the tool "{match.tool}", and this test calls "{test.tool}"'
    return None


def _missed_by_model(fault: SuiteFault, test: SuiteTest) -> str | None:
    """Return why no request to the model of a test can meet a fault; None if one can."""
    if isinstance(test, ToolTest):
        return "it is aimed at a model, and a test of a tool has none"
    match, agent = fault.rule.match, test.agent
    if isinstance(agent, CommandAgent):
        needed = "expected `mock_model` beside it: the model of a program is broken only if it is a mock"
        return None if test.mock_model else needed
    model = agent.model if isinstance(agent, ModelAgent) else SCRIPT_MODEL
    if not fnmatchcase(model, match.model or "*"):
        return f'it is aimed at the model "{match.model}", and the model of this test is "{model}"'
    return "the answers in this test are streamed" if match.streamed is False else None


def _servers_hit_by(fault: SuiteFault, has: Mapping[str, Inventory]) -> list[str]:
    """Return the servers that the match of a fault names."""
    glob = fault.rule.match.server
    return [name for name in has if glob is None or fnmatchcase(name, glob)]


def _names(target: Target, servers: Sequence[Inventory]) -> list[str] | None:
    """Return the names that these servers have for a target; None if one server's are unknown."""
    found: list[str] = []
    for server in servers:
        names = server.names(target.noun)
        if names is None:
            return None
        found += names
    return found
