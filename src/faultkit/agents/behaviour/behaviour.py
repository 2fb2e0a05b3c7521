"""The judgement of a recording: findings, the faults that were met, and how the agent got past each. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from faultkit.agents.behaviour.checks import CHECKS, CheckName, Finding, findings_of, has_occasion
from faultkit.agents.behaviour.met_faults import MetFault, met_faults
from faultkit.agents.behaviour.recorded_run import RecordedCall, RecordedRun
from faultkit.agents.suite.gate import NOT_EXERCISED
from faultkit.base.text import and_list, counted, untrusted_line
from faultkit.mcp.targets import Target

CheckVerdict: TypeAlias = Literal["found", "unknown", "none"]
Verdict: TypeAlias = Literal["findings", "not_exercised", "unknown", "clean"]

EXIT_CODES = {"passed": 0, "failed": 1, "not_exercised": 6}
"""As elsewhere: 6 if nothing failed, but something was not exercised or cannot be known."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What an agent did, judged."""

    run: RecordedRun
    findings: tuple[Finding, ...]
    faults: tuple[MetFault, ...]

    @property
    def unmet(self) -> tuple[str, ...]:
        """Declared rules that acted on no request."""
        return tuple(name for name in self.run.rules if name not in self.run.met)

    def of(self, check: CheckName) -> tuple[Finding, ...]:
        """Return the findings of a check."""
        return tuple(finding for finding in self.findings if finding.check == check)

    def verdict_of(self, check: CheckName) -> CheckVerdict:
        """Return the result of a check. `unknown`: the recording does not show enough."""
        found = self.of(check)
        if any(finding.is_certain for finding in found):
            return "found"
        return "unknown" if found else "none"

    def is_exercised(self, check: CheckName) -> bool:
        """Return whether a fault was met, and the calls have what a check is about."""
        return bool(self.run.met) and has_occasion(check, self.run.calls)

    @property
    def not_exercised(self) -> str:
        """Why the agent was not put to the test, or not to all of it; empty if it was."""
        if not self.run.met:
            return NOT_EXERCISED
        return f"not exercised: no call met {and_list(self.unmet)}" if self.unmet else ""

    @property
    def verdict(self) -> Verdict:
        """The result of the recording as a whole. Without findings, it is clean only if it was exercised."""
        if any(finding.is_certain for finding in self.findings):
            return "findings"
        if self.not_exercised:
            return "not_exercised"
        return "unknown" if self.findings else "clean"

    @property
    def headline(self) -> str:
        """The result in a few words."""
        certain = sum(finding.is_certain for finding in self.findings)
        if certain:
            return counted(certain, "finding")
        if self.not_exercised:
            return self.not_exercised
        unknown = f"{counted(len(self.findings), 'question')} that the recording leaves open"
        return unknown if self.findings else "no findings"

    def exit_code(self, fail_on: Collection[CheckName]) -> int:
        """Return the exit code: 1 if one of these checks found something, 6 if that, or whether the agent was
        put to the test, is unknown."""
        verdicts = [self.verdict_of(check) for check in fail_on]
        if "found" in verdicts:
            return EXIT_CODES["failed"]
        if self.not_exercised or "unknown" in verdicts:
            return EXIT_CODES["not_exercised"]
        return EXIT_CODES["passed"]


ALL_CHECKS: tuple[CheckName, ...] = tuple(CHECKS)


def judge(run: RecordedRun, reads: Collection[str] = (), writes: Collection[str] = ()) -> Behaviour:
    """Judge a recording. `reads` and `writes` are globs of tools, and go before the tools' annotations.

    A glob that matches no tool of the recording adds a warning."""
    if reads or writes:
        run = replace(
            run,
            calls=tuple(_declared(call, reads, writes) for call in run.calls),
            warnings=(*run.warnings, *_misses("--reads", reads, run), *_misses("--writes", writes, run)),
        )
    return Behaviour(run, tuple(findings_of(run.calls)), tuple(met_faults(run)))


def _misses(flag: str, globs: Collection[str], run: RecordedRun) -> Iterator[str]:
    for glob in globs:
        target = Target(flag, "tool", glob)
        if not target.is_among(run.tools):
            yield f"{flag}: {untrusted_line(target.missed(run.tools))}"


def _declared(call: RecordedCall, reads: Collection[str], writes: Collection[str]) -> RecordedCall:
    tool = call.facts.tool
    for globs, repeatable in ((writes, False), (reads, True)):
        if any(fnmatchcase(tool.name, glob) for glob in globs):
            declared = replace(tool, repeatable=repeatable, read_only=repeatable)
            return replace(call, facts=replace(call.facts, tool=declared))
    return call
