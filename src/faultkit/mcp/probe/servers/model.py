"""What a run of probes says: verdicts with their reasons and evidence. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.faults.call.call import Era, Transport

Level: TypeAlias = Literal["MUST", "SHOULD"]
Verdict: TypeAlias = Literal["passed", "failed", "not applicable", "inconclusive"]
VERDICTS: tuple[Verdict, ...] = ("passed", "failed", "not applicable", "inconclusive")


@dataclass(frozen=True, slots=True)
class Finding:
    """What a judgement comes to."""

    verdict: Verdict
    why: str


def passed(why: str) -> Finding:
    return Finding("passed", why)


def failed(why: str) -> Finding:
    return Finding("failed", why)


def not_applicable(why: str) -> Finding:
    return Finding("not applicable", why)


def inconclusive(why: str) -> Finding:
    return Finding("inconclusive", why)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that was sent and what came for it, both shortened."""

    sent: str
    came: str


@dataclass(frozen=True, slots=True)
class Result:
    """One probe, done."""

    id: str
    title: str
    level: Level
    finding: Finding
    evidence: tuple[Evidence, ...] = ()
    called: tuple[str, ...] = ()
    """The tools that it called, once for each call."""

    @property
    def verdict(self) -> Verdict:
        return self.finding.verdict


@dataclass(frozen=True, slots=True)
class EdgeReport:
    target: str
    transport: Transport
    era: Era
    server: str
    """Its name and version, as it says."""
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()
    restarts: int = 0
    """How often the server had to be begun anew because a probe had ended it."""

    def failures(self, *levels: Level) -> list[Result]:
        return [each for each in self.results if each.verdict == "failed" and each.level in levels]

    def is_met(self, *, strict: bool) -> bool:
        """No MUST has failed; if strict, no SHOULD either."""
        return not (self.failures("MUST", "SHOULD") if strict else self.failures("MUST"))

    @property
    def called(self) -> Mapping[str, int]:
        """How often each tool was called."""
        names = [name for each in self.results for name in each.called]
        return {name: names.count(name) for name in sorted(set(names))}


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user wants of a run."""

    only: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """Those that may be called; by default those that are declared harmless."""
    slow: tuple[str, Mapping[str, object] | None] | None = None
    """A tool that takes longer than the server's own limit, and its arguments."""
    wait_s: float = 10.0
    """For each answer."""
