"""Coverage of suites: which tools meet which faults, in which phase of a call, and which meet none. Pure.

A call has two phases. A fault in the request phase acts before the server does anything; a fault in the
reply phase acts when the call has taken effect, and only the reply suffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias, get_args

from faultkit.agents.selection import tests_of
from faultkit.agents.suite.definition import AgentTest, MockServer, Suite, SuiteFault, ToolTest
from faultkit.base.rng import Rng
from faultkit.faults.call.call import Call, CallFault, Circumstances
from faultkit.plan import Rule

Phase: TypeAlias = Literal["request", "reply"]
"""request: the server does not run the call, or later. reply: it does, and the reply suffers."""
PHASES: tuple[Phase, ...] = get_args(Phase)
_CALLS = 3
"""Calls to try, because some faults spare the first ones."""


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
    """What is tested, and what is not."""

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
        for test in tests_of(suite):
            if test.skip:
                continue
            for fault in (faults[name] for name in test.inject):
                for server, tool in known:
                    if _meets(test, fault, server, tool):
                        key = (server, tool, phase_of(fault.rule), fault.rule.fault.kind)
                        met.setdefault(key, {})[test.name] = None
    covered = tuple(CoveredTool(*key, tuple(names)) for key, names in met.items())
    tested = {(each.server, each.tool, each.phase) for each in covered}
    left = tuple((*tool, phase) for tool in tools for phase in PHASES if (*tool, phase) not in tested)
    return Coverage(tuple(sorted(covered, key=_order)), left)


def phase_of(rule: Rule) -> Phase:
    """Return the phase in which a rule's fault acts, by trying it on a call."""
    fault = rule.fault
    assert isinstance(fault, CallFault)
    memory: dict[str, object] = {}
    for number in range(_CALLS):
        params = {"name": "tool", "arguments": {}}
        call = Call("tools/call", "tool", params, id=number, nth=number, ordinal=number)
        verdict = fault.judge(call, Circumstances(Rng.keyed("coverage", number), memory))
        if not verdict.idle:
            return "reply" if verdict.ask and verdict.frames is not None else "request"
    return "request"


def _order(each: CoveredTool) -> tuple[str, str, str, str]:
    return each.server, each.tool, each.phase, each.fault


def _tools(suite: Suite) -> Iterator[tuple[str, str]]:
    for server in suite.servers:
        if isinstance(server.serving, MockServer) and server.serving.source is not None:
            yield from ((server.name, str(tool["name"])) for tool in server.serving.source.listed)
            continue
        yield from ((test.server, test.tool) for test in suite.tools if test.server == server.name)
        for fault in suite.faults:
            match = fault.rule.match
            if match.tool and "*" not in match.tool and fnmatchcase(server.name, match.server or "*"):
                yield server.name, match.tool


def _meets(test: AgentTest | ToolTest, fault: SuiteFault, server: str, tool: str) -> bool:
    match = fault.rule.match
    own = test.servers if isinstance(test, AgentTest) else (test.server,)
    if isinstance(test, ToolTest) and tool != test.tool:
        return False
    return (
        server in own
        and fnmatchcase(server, match.server or "*")
        and fnmatchcase(tool, match.tool or "*")
        and match.method in (None, "tools/call")
    )
