"""Coverage of suites: which tools meet which faults, in which phase of a call, and which meet none. Pure.

A call has two phases. A fault in the request phase acts before the server does anything. A fault in the
reply phase acts on the reply of a call that has already taken effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias, get_args

from faultkit.agents.suite.definition import MockServer, Suite, SuiteFault, SuiteTest, ToolTest
from faultkit.base.rng import Rng
from faultkit.faults.call_fault import Call, CallFault, Circumstances
from faultkit.plan import Rule

Phase: TypeAlias = Literal["request", "reply"]
"""request: the call is delayed or not run. reply: the call is run, and its reply is changed or lost."""
PHASES: tuple[Phase, ...] = get_args(Phase)
_TRIED_CALLS = 3
"""Calls on which a fault is tried, because some faults do not act on the first ones."""


@dataclass(frozen=True, slots=True)
class CoveredTool:
    """A tool, and a kind of fault that it meets in some tests."""

    server: str
    tool: str
    phase: Phase
    fault: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """The tools and phases that are tested, and those that are not."""

    covered: tuple[CoveredTool, ...]
    untested: tuple[tuple[str, str, Phase], ...]
    """Server, tool and phase that no fault meets."""

    @property
    def share(self) -> float | None:
        """Share of pairs of tool and phase that meet a fault; None without tools."""
        tested = {(each.server, each.tool, each.phase) for each in self.covered}
        total = len(tested) + len(self.untested)
        return len(tested) / total if total else None


def coverage_of(suites: Sequence[Suite]) -> Coverage:
    """Return the coverage of suites. A live server has the tools that faults or tests name."""
    tools: dict[tuple[str, str], None] = {}
    met: dict[tuple[str, str, Phase, str], dict[str, None]] = {}
    for suite in suites:
        known = list(_tools(suite))
        tools.update(dict.fromkeys(known))
        faults = {fault.name: fault for fault in suite.faults}
        for test in suite.tests:
            if test.skip:
                continue
            for fault in (faults[name] for name in test.inject):
                for server, tool in known:
                    if _meets(test, fault, server, tool):
                        key = (server, tool, phase_of(fault.rule), fault.rule.fault.kind)
                        met.setdefault(key, {})[test.name] = None
    covered = tuple(CoveredTool(*key, tuple(names)) for key, names in met.items())
    tested = {(each.server, each.tool, each.phase) for each in covered}
    untested = tuple((*tool, phase) for tool in tools for phase in PHASES if (*tool, phase) not in tested)
    in_order = sorted(covered, key=lambda each: (each.server, each.tool, each.phase, each.fault))
    return Coverage(tuple(in_order), untested)


def phase_of(rule: Rule) -> Phase:
    """Return the phase in which a rule's fault acts, by trying it on a call."""
    fault = rule.fault
    assert isinstance(fault, CallFault)
    memory: dict[str, object] = {}
    for number in range(_TRIED_CALLS):
        params = {"name": "tool", "arguments": {}}
        call = Call("tools/call", "tool", params, id=number, nth=number, ordinal=number)
        verdict = fault.judge(call, Circumstances(Rng.keyed("coverage", number), memory))
        if not verdict.idle:
            return "reply" if verdict.ask and verdict.frames is not None else "request"
    return "request"


def _tools(suite: Suite) -> Iterator[tuple[str, str]]:
    """Yield the server and the name of each tool that is known without starting a server."""
    for server in suite.servers:
        if isinstance(server.serving, MockServer) and server.serving.source is not None:
            yield from ((server.name, str(tool["name"])) for tool in server.serving.source.listed)
            continue
        yield from ((test.server, test.tool) for test in suite.tools if test.server == server.name)
        for fault in suite.faults:
            match = fault.rule.match
            if match.tool and "*" not in match.tool and fnmatchcase(server.name, match.server or "*"):
                yield server.name, match.tool


def _meets(test: SuiteTest, fault: SuiteFault, server: str, tool: str) -> bool:
    match = fault.rule.match
    if isinstance(test, ToolTest) and tool != test.tool:
        return False
    return (
        server in test.server_names
        and fnmatchcase(server, match.server or "*")
        and fnmatchcase(tool, match.tool or "*")
        and match.method in (None, "tools/call")
    )
