"""What became of the tests of a suite. Values only: reporters are made of these, and of nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from faultkit.agents.gate import Clock, GateResult, RecoveryGate, Verdict
from faultkit.agents.model import Place
from faultkit.agents.recovery.metrics import RecoveryMetrics
from faultkit.agents.recovery.repeats import Share
from faultkit.agents.recovery.tool_misuse import ToolMisuse
from faultkit.agents.recovery.trace import Trace

EDGE_RULE = "EDGE-006"
"""The rule of the compliance families that a recovery row belongs to: a server that does not answer."""
FAILING: tuple[Verdict, ...] = ("failed", "not_exercised", "inconclusive", "error")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an agent."""

    trace: Trace
    metrics: RecoveryMetrics
    misuse: ToolMisuse
    gate: GateResult | None
    error_recovery: int | None
    """Percent of the errored calls that recovered later; None if none errored."""
    clock: Clock
    seed: int | str
    wanted: RecoveryGate | None = None
    """The limits that its gate was set to."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a report says of one thing that was tested."""

    name: str
    verdict: Verdict
    message: str
    place: Place
    duration_ms: float
    """Of wall time: the one figure that two runs with the same seed do not share."""
    tags: tuple[str, ...] = ()
    rule: str = ""
    limit: str = ""
    """The setting that was not met."""
    runs: tuple[Run, ...] = ()
    passed_share: Share | None = None
    diff: str = ""
    skipped: str = ""
    """Why it was left out; the verdict says nothing then."""
    stub: bool = False
    details: tuple[tuple[str, Any], ...] = ()

    @property
    def fails(self) -> bool:
        return not self.skipped and self.verdict in FAILING


@dataclass(frozen=True, slots=True)
class SuiteResult:
    file: str
    rows: tuple[Row, ...]
    problem: str = ""
    """Why the suite could not be run at all: a server that cannot be had."""


@dataclass(frozen=True, slots=True)
class Results:
    suites: tuple[SuiteResult, ...]
    seed: int | str
    clock: Clock
    interrupted: bool = False
    started_at: str = ""
    """ISO 8601; empty if nobody looked."""
    duration_ms: float | None = None
    """Of wall time, all suites together."""
    bailed: bool = False
    """It was to stop at the first failure, and there was one: tests behind that may lack their rows."""

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for suite in self.suites for row in suite.rows)

    def count(self, verdict: Verdict) -> int:
        return sum(row.verdict == verdict and not row.skipped for row in self.rows)

    @property
    def skipped(self) -> int:
        return sum(bool(row.skipped) for row in self.rows)

    @property
    def ok(self) -> bool:
        return not self.interrupted and not any(
            suite.problem or any(row.fails for row in suite.rows) for suite in self.suites
        )
