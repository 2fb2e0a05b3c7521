"""What a suite tests: which tools meet which faults, in which phase of a call, and what meets none. Pure.

A call has two phases that matter to whoever makes it: on the way there nothing is done yet, on the way back
it has been done, and only the answer suffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias, get_args

from faultkit.agents.model import AgentTest, MockServer, Suite, SuiteFault, ToolTest
from faultkit.agents.select import tests_of
from faultkit.base.rng import Rng
from faultkit.faults.call.call import Call, CallFault, Circumstances
from faultkit.plan import Rule

Phase: TypeAlias = Literal["request", "reply"]
"""request: the server does not do it, or later. reply: it does, and the answer suffers."""
PHASES: tuple[Phase, ...] = get_args(Phase)
_CALLS = 3
"""Some faults spare the first calls."""


@dataclass(frozen=True, slots=True)
class Covered:
    """A tool that meets a kind of fault in these tests."""

    server: str
    tool: str
    phase: Phase
    fault: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    covered: tuple[Covered, ...]
    untested: tuple[tuple[str, str, Phase], ...]
    """Server, tool and phase without any fault."""

    @property
    def share(self) -> float | None:
        """Of tools and phases that meet a fault."""
        tested = {(each.server, each.tool, each.phase) for each in self.covered}
        total = len(tested) + len(self.untested)
        return len(tested) / total if total else None


def coverage_of(suites: Sequence[Suite]) -> Coverage:
    """Of a server that is no mock, those tools are known that faults and tests name."""
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
    covered = tuple(Covered(*key, tuple(names)) for key, names in met.items())
    tested = {(each.server, each.tool, each.phase) for each in covered}
    left = tuple((*tool, phase) for tool in tools for phase in PHASES if (*tool, phase) not in tested)
    return Coverage(tuple(sorted(covered, key=_order)), left)


def phase_of(rule: Rule) -> Phase:
    """What the fault makes of a call, if it is asked."""
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


def _order(each: Covered) -> tuple[str, str, str, str]:
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
