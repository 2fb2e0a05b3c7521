"""Coverage of suites: which tools have which faults, in which phase of a call, and which were met. Pure.

What is declared follows from the suites. What was met, only the report of a run can say: an agent may not
call the tool, and a fault with a probability may not act.

A call has two phases. A fault in the request phase acts before the server does anything. A fault in the
reply phase acts on the reply of a call that has already taken effect.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from os.path import normpath
from typing import Any, Literal, TypeAlias, get_args

from faultkit.agents.suite.definition import MockServer, Suite, SuiteFault, SuiteTest, ToolTest
from faultkit.agents.suite.results import RECOVERY_SUFFIX
from faultkit.base.rng import Rng
from faultkit.faults.call_fault import Call, CallFault, Circumstances
from faultkit.plan import Rule, dump_rule

Phase: TypeAlias = Literal["request", "reply"]
"""request: the call is delayed or not run. reply: the call is run, and its reply is changed or lost."""
PHASES: tuple[Phase, ...] = get_args(Phase)
_TRIED_CALLS = 3
"""Calls on which a fault is tried, because some faults do not act on the first ones."""


@dataclass(frozen=True, slots=True)
class KnownRun:
    """What the last run of a test injected and met."""

    injected: Mapping[str, Any]
    """The rules of its faults by their names, as they were then."""
    met: frozenset[tuple[str, str, str]]
    """Server, tool and name of the faults that its calls met. In a test of a tool, server and tool are empty,
    because it makes one call."""


MetFaults: TypeAlias = dict[tuple[str, str], KnownRun]
"""The last run of each test that was run, by the file and the name of the test."""


@dataclass(frozen=True, slots=True)
class CoveredTool:
    """A tool, and a kind of fault that some tests declare for it."""

    server: str
    tool: str
    phase: Phase
    fault: str
    tests: tuple[str, ...]
    """Tests that declare it."""
    met: tuple[str, ...] | None = None
    """Tests in which a call met it; None if no run of any of its tests is known."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The tools and phases that are tested, and those that are not."""

    covered: tuple[CoveredTool, ...]
    untested: tuple[tuple[str, str, Phase], ...]
    """Server, tool and phase for which no test declares a fault."""

    @property
    def share(self) -> float | None:
        """Share of pairs of tool and phase that have a declared fault; None without tools."""
        return self._share(self.covered)

    @property
    def met_share(self) -> float | None:
        """Share of pairs of tool and phase that are known to have met a fault; None if no run is known."""
        if self.covered and self.unknown == len(self.covered):
            return None
        return self._share([each for each in self.covered if each.met])

    @property
    def unknown(self) -> int:
        """Number of covered rows of which no test is known to have been run."""
        return sum(each.met is None for each in self.covered)

    def _share(self, counted: Sequence[CoveredTool]) -> float | None:
        declared, wanted = (
            {(each.server, each.tool, each.phase) for each in some} for some in (self.covered, counted)
        )
        total = len(declared) + len(self.untested)
        return len(wanted) / total if total else None


def coverage_of(suites: Sequence[Suite], met: MetFaults | None = None) -> Coverage:
    """Return the coverage of suites. A live server has the tools that faults or tests name.

    `met`: what calls met in runs of the suites; None if no run is known.
    """
    tools: dict[tuple[str, str], None] = {}
    declared: dict[tuple[str, str, Phase, str], dict[str, None]] = {}
    found: dict[tuple[str, str, Phase, str], dict[str, None]] = {}
    ran: set[tuple[str, str, Phase, str]] = set()
    for suite in suites:
        known = list(_tools(suite))
        tools.update(dict.fromkeys(known))
        faults = {fault.name: fault for fault in suite.faults}
        for test in suite.tests:
            if test.skip:
                continue
            for fault in (faults[name] for name in test.inject if not faults[name].is_of_model):
                for server, tool in known:
                    if _meets(test, fault, server, tool):
                        key = (server, tool, phase_of(fault.rule), fault.rule.fault.kind)
                        declared.setdefault(key, {})[test.name] = None
                        run = None if met is None else met.get(_key(test))
                        if run is None or not _is_same(run.injected.get(fault.name), fault.rule):
                            continue
                        ran.add(key)
                        if _was_met(test, server, tool, fault.name, run):
                            found.setdefault(key, {})[test.name] = None
    covered = tuple(
        CoveredTool(*key, tuple(names), tuple(found.get(key, ())) if key in ran else None)
        for key, names in declared.items()
    )
    tested = {(each.server, each.tool, each.phase) for each in covered}
    untested = tuple((*tool, phase) for tool in tools for phase in PHASES if (*tool, phase) not in tested)
    in_order = sorted(covered, key=lambda each: (each.server, each.tool, each.phase, each.fault))
    return Coverage(tuple(in_order), untested)


def met_faults(report: Mapping[str, Any]) -> MetFaults:
    """Return what calls met, by the JSON report of a run.

    Raises KeyError, TypeError or AttributeError if it is no such report.
    """
    found: MetFaults = {}
    for test in report["tests"]:
        if test.get("unrun"):
            continue
        name = test["name"].removesuffix(RECOVERY_SUFFIX) if test["rule_id"] else test["name"]
        where = (normpath(test["file"]), name)
        own = [("", "", test["details"]["fault"])] if test["details"].get("fault") else []
        calls = [call for run in test["runs"] for call in run["calls"] if call.get("fault")]
        own += [(call["server"], call["tool"], call["fault"]) for call in calls]
        before = found[where].met if where in found else frozenset()
        found[where] = KnownRun(dict(test.get("injected", {})), before | frozenset(own))
    return found


def _is_same(injected: object, rule: Rule) -> bool:
    """Return whether the rule that was injected is still the rule of the suite, with all its settings."""
    return bool(injected == json.loads(json.dumps(dump_rule(rule))))


def _was_met(test: SuiteTest, server: str, tool: str, fault: str, run: KnownRun) -> bool:
    place = ("", "") if isinstance(test, ToolTest) else (server, tool)
    return (*place, fault) in run.met


def _key(test: SuiteTest) -> tuple[str, str]:
    return normpath(test.place.file), test.name


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
        yield from (
            (test.server, test.tool) for test in suite.tools if test.server == server.name and not test.method
        )
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
